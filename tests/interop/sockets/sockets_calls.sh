#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The calls of rsocket.h on one RNIC: sockets_calls.sh one PORT FAMILY
. "$(dirname "$0")/../lib.sh"

topology_start "$@"

check "sockets_calls" rnic 0 timeout 100 "$BUILD/tests/sockets_calls" "${side_address[0]}"
cat "$WORK/check.out"
check "sockets_reset" rnic 0 timeout 30 "$BUILD/tests/sockets_reset" "${side_address[0]}"
cat "$WORK/check.out"
check "sockets_stranger" rnic 0 timeout 100 "$BUILD/tests/sockets_stranger" "${side_address[0]}"
cat "$WORK/check.out"
if [ "$3" = 4 ]; then
	check "sockets_signals" \
		rnic 0 timeout 100 "$BUILD/tests/sockets_signals" "${side_address[0]}"
	cat "$WORK/check.out"
fi

direct=(--direct)
check "sockets_direct" rnic 0 timeout 100 "$BUILD/tests/sockets_direct" "${side_address[0]}"
cat "$WORK/check.out"
topology_finish
