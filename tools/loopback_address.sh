# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Scripts that start daemons on loopback source this file: each daemon takes the first address from
# FIRST_LOOPBACK on that is free.
#
#   address=$FIRST_LOOPBACK
#   until start_a_daemon_at "$address"; do
#           may_move "$address" "$log" || fail
#           address=$(next_address "$address")
#   done

# shellcheck disable=SC2034 # for the scripts that source this file
FIRST_LOOPBACK=127.0.0.2
LAST_LOOPBACK=127.0.0.250

# Adds 1 to an IPv4 address.
next_address() {
	local a b c d n
	IFS=. read -r a b c d <<<"$1"
	n=$(((10#$a << 24 | 10#$b << 16 | 10#$c << 8 | 10#$d) + 1))
	echo "$((n >> 24 & 255)).$((n >> 16 & 255)).$((n >> 8 & 255)).$((n & 255))"
}

# may_move ADDRESS LOG: the daemon with this log did not start, since another program has the
# address; the next address will do.
may_move() {
	[ "$1" != "$LAST_LOOPBACK" ] && grep -q 'taken by' "$2"
}
