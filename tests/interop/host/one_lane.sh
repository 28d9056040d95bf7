#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A kernel that takes no steering program for a UDP port: one_lane.sh TOPOLOGY PORT FAMILY
#
# Each daemon then has one socket at an address. The control plane reads it while there is no device
# process, else the device process does, which passes the packets of QP 1 on.
here=$(dirname "$0")
. "$here/../lib.sh"
. "$here/../family/user_programs.sh"

topology=$1
daemon_prefix=(python3 "$here/refuse_calls.py" steering)
topology_start "$@"
server=${side_address[0]}
port=7950
reason="the kernel refuses the steering program"
sides="0 1"
[ "$topology" != one ] || sides=0

for side in $sides; do
	check "side $side: one line of the log says so" \
		test "$(grep -c "$reason" "$WORK/daemon$side.log")" = 1
	check "side $side: rnicctl shows one lane" \
		grep -Eq "^ *lanes +one, $reason\$" <(control "$side" device)
	check "side $side: so does its JSON" \
		holds "$side" device "rows['lanes'] == 'one, $reason' and rows['lane_count'] == 1"
done

all_services() {
	port=$((port + 10))
	pair_run ib_send_bw -F -c RC -s 65536 -n 500
	pair_run ib_send_bw -F -c UD -s 1024 -n 500
	pair_run ib_write_bw -F -c RC -s 65536 -n 500
	pair_run ibv_uc_pingpong -n 100
	cm_run rping -s -a "$server" -p $port -C 100 -- rping -c -a "$server" -p $port -C 100 -V
	cm_run udaddy -b "$server" -C 20 -- udaddy -s "$server" -C 20
	cm_run rstream -T v -I 100 -C 1 -S 4096 -b "$server" -p $((port + 3)) -- \
		rstream -T v -I 100 -C 1 -S 4096 -s "$server" -p $((port + 3))
}

# is_rejected: nobody listens there, and the control plane of side 0 says so at once.
is_rejected() {
	(exec_program 1 timeout 5 rping -c -a "$server" -p $((port + 9)) -C 1) \
		>"$WORK/rejected.out" 2>&1
	grep -q REJECTED "$WORK/rejected.out"
}

echo "# no device process on side 0"
check "there is none" has_no_device 0
check "a connection request is answered" is_rejected

echo "# a device process on each side"
all_services
mckey_run "$topology" "$3"
[ "$topology" = one ] || check "the device process passes packets on" \
	holds 0 counters "rows['misrouted_pkts'] > 0"
check "one device process serves all" test "$(devices_of "${side_pid[0]}" | wc -l)" = 1
check "a connection request is answered" is_rejected

echo "# the device process dies"
device_signal KILL 0
wait_for 5 has_no_device 0
check "a connection request is answered" is_rejected
all_services

if [ "$(id -u)" -eq 0 ] && as $user_a test -x "$BIN/rnic-run"; then
	echo "# other users"
	check "another user is refused" new_program_fails $user_a
	check "for there is one lane" grep -q "serves root alone.*one lane" "$WORK/refused.out"
	check "but sees the device" as $user_a "$BIN/rnicctl" show \
		--socket "${side_socket[0]}" device
fi
topology_finish
