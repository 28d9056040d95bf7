#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs with connections that die: connection_death.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

topology_start "$@"

# Nobody is there: the address is not resolved, and the neighbour's late answer is heard.
neighbours() {
	rnic 1 timeout 30 "$BUILD/tests/cm_neighbours" "$@"
}

neighbour_is_asked() {
	on 1 ip neighbour show 10.77.0.98 | grep -q INCOMPLETE
}

appear_late() {
	wait_for 5 neighbour_is_asked
	on 0 ip address add 10.77.0.98/24 dev veth0
}

if [ -n "${side_namespace[0]}" ]; then
	on 1 sysctl -q -w net.ipv4.neigh.veth1.retrans_time_ms=100
	on 1 sysctl -q -w net.ipv4.neigh.veth1.mcast_solicit=30
	on 1 ip route add 10.78.0.0/24 via 10.77.0.97
	check "who is there is resolved" neighbours answers 1000 10.77.0.1 fd77::1
	check "who is not there, or whose router, is not" \
		neighbours silent 1000 10.77.0.99 fd77::99 10.78.0.1
	appear_late &
	check "who comes late is" neighbours answers 2000 10.77.0.98
	wait $!
	on 0 ip address del 10.77.0.98/24 dev veth0
fi

load=$BUILD/tests/connection_load
server=${side_address[0]}
times=20
[ -z "$LONG" ] || times=200
port=7600
count=50
mkfifo "$WORK/hold"
exec 3<>"$WORK/hold"
client_input=$WORK/hold

# load_start COUNT AT_ONCE [hold]: a pair on a port of its own. The client's input never ends.
load_start() {
	port=$((port + 1))
	cm_start listening "$load" serve "$server" $port "$1" -- \
		"$load" connect "$server" $port "$@"
}

load_stands() {
	load_start $count 10 hold
	check "$count connections stand" wait_for 20 grep -q standing "$WORK/client.out"
}

# ended_within SECONDS PID WHAT: and well.
ended_within() {
	check "$3" wait_for "$1" has_ended "$2"
}

# ended_well STATUS server|client
ended_well() {
	if [ "$1" -eq 0 ]; then
		pass "and ends well"
	else
		fail "and ends well, not with $1" "$WORK/$2.out"
	fi
}

# Nobody waits for a timeout: the daemon says goodbye for who died.
load_stands
signal_process KILL "$client_pid"
ended_within 10 "$server_pid" "the client is killed: the server hears of all ends at once"
pair_wait 20
ended_well "$server_status" server

load_stands
signal_process KILL "$server_pid"
ended_within 10 "$client_pid" "the server is killed: the client hears of all ends at once"
pair_wait 20
ended_well "$client_status" client

is_refused_at_once() {
	rnic 1 timeout 10 "$load" connect "$server" $port 1 1 >"$WORK/refused.out" 2>&1
	[ $? -eq 1 ] && grep -q "REJECTED, status 8" "$WORK/refused.out"
}

check "where it listened, whoever comes is refused at once" is_refused_at_once

# The other side's daemon dies with its connections: what is left ends when it is back.
load_stands
side=1
[ -n "${side_pid[1]}" ] || side=0
daemon_kill $side
ended_within 5 "$client_pid" "the daemon is killed: its program ends"
daemon_restart $side
end_process "$server_pid"
pair_wait 20

# kill_at_random: one of them or both, some time between the first call and many connections: after
# so many looks at the daemon.
kill_at_random() {
	local victims=("$server_pid" "$client_pid") who=$((RANDOM % 3)) looks=$((RANDOM % 10))
	for (( ; looks > 0; looks--)); do control 0 cm >/dev/null; done
	[ $who -eq 2 ] || victims=("${victims[$who]}")
	signal_process KILL "${victims[@]}"
	# A server waits for more clients; a client must notice.
	if [ $who -ne 0 ]; then end_process "$server_pid"; fi
	pair_wait 10
	[ "$client_status" -ne 124 ]
}

hung=0
RANDOM=$RUN_ID
for ((i = 0; i < times; i++)); do
	load_start 100000 20
	kill_at_random || hung=$((hung + 1))
done
check "$times times killed at random (RANDOM=$RUN_ID): nobody hangs" test $hung -eq 0
for side in 0 1; do
	[ -n "${side_pid[$side]}" ] || continue
	check "side $side: nothing is left" wait_for 10 is_empty $side
done
exec 3>&-

topology_finish
