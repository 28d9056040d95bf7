#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Programs that take libibverbs by a path in their environment, without rnic-run, and what they lack
# then: by_path.sh PORT
. "$(dirname "$0")/../lib.sh"

topology_start one "$1" 4
library=$BUILD/lib/verbs/libibverbs.so.1
device=$("$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" ls /sys/class/infiniband)

# by_path VARIABLE FUNCTION: an environment that rnic-run has not touched, but for the socket.
by_path() {
	on 0 env -u LD_LIBRARY_PATH -u LD_PRELOAD RNIC_SOCKET="${side_socket[0]}" "$1=$library" \
		"$BUILD/tests/verbs_by_path" "$1" "$2" >"$WORK/device" 2>&1
	check "$1: the program has its device" cmp "$WORK/device" <<<"$device"
}

by_path NCCL_LIBIBVERBS_SO dlvsym
by_path NCCL_IBVERBS_LIB dlvsym
by_path MSCCLPP_IBV_SO dlsym
# The path view is rnic-run's. NCCL reads the types of GIDs there, unless told which GID to take.
check "there is no /sys/class/infiniband/$device" test ! -e "/sys/class/infiniband/$device"
check "but rnic-run has one" "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" \
	cat "/sys/class/infiniband/$device/ports/1/gid_attrs/types/0"
topology_finish
