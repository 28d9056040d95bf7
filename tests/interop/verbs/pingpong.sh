#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ibv_devices, ibv_devinfo and ibv_rc_pingpong of the distribution:
#
#     pingpong.sh TOPOLOGY PORT FAMILY [options|sizes]
#
# With a fourth word: the options of ibv_rc_pingpong or sizes and MTUs alone. The long variants and
# those under sanitizers, which have fewer entries, have both.
. "$(dirname "$0")/../lib.sh"

part=${4:-}
[ -z "$LONG$SLOW" ] || part=""
set -- "${@:1:3}"

exchange_options() {
	pair_run ibv_rc_pingpong -n 10000
	pair_run ibv_rc_pingpong -r 1 -n 200
	pair_run ibv_rc_pingpong -r 16
	pair_run ibv_rc_pingpong -c -N # ibv_wr_*
	pair_run ibv_rc_pingpong -c -N -e
	pair_run ibv_rc_pingpong -c -t # the extended CQ with timestamps
	pair_run ibv_rc_pingpong -c -o -P # memory on demand, prefetched
	pair_run ibv_rc_pingpong -c -O
	pair_run ibv_rc_pingpong -c -j # device memory
}

exchange_sizes() {
	local size mtu active
	for size in 1 2 3 7 64 255 1023 1024 1025 4095 4097 65536 1048575 4194304; do
		pair_run ibv_rc_pingpong -c -n 20 -s $size
	done

	# The path may carry less than the program asks for: such an MTU must be refused, not tried.
	active=$(rnic 0 ibv_devinfo | awk '/active_mtu/ { print $2 }')
	for mtu in 256 512 1024 2048 4096; do
		if [ $mtu -le "$active" ]; then
			pair_run ibv_rc_pingpong -c -m $mtu -s 9000 -n 100
		else
			echo "#     -m $mtu: the path carries $active"
		fi
	done
}

topology_start "$@"

check "ibv_devices shows rnic0" grep -q rnic0 <(rnic 0 ibv_devices)
rnic 0 ibv_devinfo -v >"$WORK/devinfo" 2>&1
check "ibv_devinfo -v succeeds" rnic 0 ibv_devinfo -v
check "the port is active" grep -q 'PORT_ACTIVE' "$WORK/devinfo"
check "the GID is a RoCE v2 one" grep -Eq "GID\[ *${side_gid[0]}\]:.*RoCE v2" "$WORK/devinfo"

pair_run ibv_rc_pingpong
pair_run ibv_rc_pingpong -e
pair_run ibv_rc_pingpong -c
[ "$part" = sizes ] || exchange_options
[ "$part" = options ] || exchange_sizes

topology_finish
