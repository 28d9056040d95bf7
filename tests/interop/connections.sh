#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The distribution's programs over librdmacm: connections.sh TOPOLOGY PORT FAMILY [FAULTS]
. "$(dirname "$0")/lib.sh"

options=()
[ -z "${4:-}" ] || options=(--fault "$4")
family=$3
topology_start "$1" "$2" "$family" "${options[@]}"

server=${side_address[0]}
count=1000
[ -z "$SLOW${4:-}" ] || count=100
[ -z "$LONG" ] || count=10000
connections=100
[ -z "$SLOW" ] || connections=10

# Two programs of side 0 receive what one of side 1 sends.
multicast() {
	local receivers=() group=239.9.8.7 program
	[ "$family" = 4 ] || group=ff15::7
	for program in 1 2; do
		exec_on 0 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" \
			mckey -m $group -b "$server" >"$WORK/receiver$program.out" 2>&1 &
		receivers+=($!)
		processes+=($!)
		wait_for 20 grep -q "joined dgid" "$WORK/receiver$program.out"
	done
	check "mckey -s $group" \
		rnic 1 timeout 20 mckey -s -m $group -b "${side_address[1]:-$server}"
	for program in 1 2; do
		wait_for 20 has_ended "${receivers[program - 1]}"
		end_process "${receivers[program - 1]}"
		if wait "${receivers[program - 1]}"; then
			pass "mckey -m $group, receiver $program"
		else
			fail "mckey -m $group, receiver $program" "$WORK/receiver$program.out"
		fi
	done
}

for size in 23 64 1000 65535; do
	cm_run rping -s -a "$server" -C 100 -S $size -V -- rping -c -a "$server" -C 100 -S $size -V
done
cm_run rping -s -a "$server" -C $count -- rping -c -a "$server" -C $count
cm_run rping -s -a "$server" -C 100 -q -- rping -c -a "$server" -C 100 -q

cm_run ucmatose -b "$server" -- ucmatose -s "$server"
cm_run ucmatose -b "$server" -c $connections -C 2 -- ucmatose -s "$server" -c $connections -C 2
cm_run ucmatose -b "$server" -m -- ucmatose -s "$server" -m
cm_serve cmtime -b "$server" -c $count -- cmtime -s "$server" -c $count

cm_run rdma_server -s "$server" -p 7471 -- rdma_client -s "$server" -p 7471
# It listens on all IPv4 addresses, and on them only.
if [ "$family" = 4 ]; then
	cm_run rdma_xserver -p 7472 -- rdma_xclient -s "$server" -p 7472
	cm_run rdma_xserver -p 7473 -c x -- rdma_xclient -s "$server" -p 7473 -c x
fi

# This perftest resolves IPv4 addresses only.
if [ "$family" = 4 ]; then
	for program in ib_write_bw ib_read_lat ib_send_bw; do
		cm_run $program -F -R -n 100 -p 7474 -- $program -F -R -n 100 -p 7474 "$server"
	done
fi

# Datagrams that are lost stay lost, and these programs wait for them.
if [ -z "${4:-}" ]; then
	cm_run udaddy -b "$server" -c 10 -- udaddy -s "$server" -c 10
	multicast
fi

topology_finish
