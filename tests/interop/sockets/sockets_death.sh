#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs with rsockets that die: sockets_death.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

topology_start "$@"

server=${side_address[0]}
port=7800

# Not that of a program before this one, which the daemon may not have cleared away yet.
cm_is_ready() {
	holds 0 cm "any(r['state'] == 'listening' and r['local_port'] == $port for r in rows)"
}

counted_writes() {
	query 0 counters "rows['rcvd_write_requests']"
}

has_transferred() {
	[ "$(counted_writes)" -gt $(($1 + 20)) ]
}

# transfer_start OPTION...: one that would go on for minutes, and is under way. A queue pair in RTS
# does not say so: a client that is killed then may leave the server without a connection, and a
# server waits for the next client for as long as it takes.
transfer_start() {
	local before
	before=$(counted_writes)
	port=$((port + 1))
	cm_start listening rstream "$@" -I 10000000 -C 1 -S 65536 -b "$server" -p $port -- \
		rstream "$@" -I 10000000 -C 1 -S 65536 -s "$server" -p $port
	wait_for 20 has_transferred "$before" || fail "rstream $* transfers" "$WORK/client.out"
}

# ends_in_error PID WHAT: soon, and not as if all had been well.
ends_in_error() {
	check "$2 ends" wait_for 5 has_ended "$1"
	end_process "$1"
	wait "$1"
	check "and with an error" test $? -ne 0
}

for variant in "-T b" "-T a" "-T n" "-T a -T n"; do
	# shellcheck disable=SC2086 # words
	transfer_start $variant
	signal_process KILL "$client_pid"
	ends_in_error "$server_pid" "the client is killed: the server ($variant)"
	wait "$client_pid"
	# shellcheck disable=SC2086 # words
	transfer_start $variant
	signal_process KILL "$server_pid"
	ends_in_error "$client_pid" "the server is killed: the client ($variant)"
	wait "$server_pid"
done

# is_refused SAYS OPTION...: by what the client says.
is_refused() {
	local says=$1
	shift
	rnic 1 timeout 5 rstream -s "$server" -p $port -S 64 -I 1 "$@" >"$WORK/refused.out" 2>&1
	[ $? -ne 124 ] && grep -q "$says" "$WORK/refused.out"
}

check "where it listened, whoever comes is refused" \
	is_refused "rconnect: Connection refused" -T b
# It prints no more of POLLERR than that there was something.
check "and who does not wait is told" is_refused "rpoll: " -T n

# A daemon that dies takes its connections along.
side=1
[ -n "${side_pid[1]}" ] || side=0
transfer_start -T b
daemon_kill $side
ends_in_error "$client_pid" "the client's daemon is killed: the client"
daemon_restart $side
end_process "$server_pid"
wait "$server_pid"

topology_finish
