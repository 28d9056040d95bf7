#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The samples, as their user builds and runs them: samples.sh TOPOLOGY PORT FAMILY [FAULTS]
#
# Their Makefile knows the distribution's headers and libraries only; rnic-run puts ours first.
. "$(dirname "$0")/../lib.sh"

samples=$(cd "$INTEROP/../../tools/examples/modular-samples" && pwd)
scripts=$samples/scripts
export RDMA_BIN=$WORK/native

build_alone() {
	mkdir "$RDMA_BIN" && make -C "$RDMA_BIN" -f "$samples/Makefile" \
		CFLAGS="-O2 -Wall -Wextra -Werror"
}

uses_the_distribution() {
	ldd "$RDMA_BIN"/rdma_{server,client}{,_imm} |
		grep -E 'librdmacm|libibverbs' >"$WORK/libraries"
	[ "$(wc -l <"$WORK/libraries")" -eq 8 ] && ! grep -q "$BUILD" "$WORK/libraries"
}

check "make, with the distribution's packages" build_alone
check "they are linked with the distribution's libraries" uses_the_distribution

options=()
[ -z "${4:-}" ] || options=(--fault "$4")
topology_start "$1" "$2" "$3" "${options[@]}"
server=${side_address[0]}
port=7471
patience=30 # seconds that a program is to wait: lost messages are repeated after seconds

# says SIDE WHAT: server or client.
says() {
	check "the $1 says: $2" grep -q "$2" "$WORK/$1.out"
}

# example SUFFIX BYTES COUNT: a server for one client.
example() {
	port=$((port + 1))
	cm_run "$scripts/run_server$1.sh" -n 1 -t $patience -s 1048576 $port -- \
		"$scripts/run_client$1.sh" -t $patience -s "$2" -c "$3" "$server" $port
	says server "its data is verified"
	says client verified
}

for bytes in 1 4096 65537 1048576; do
	example "" $bytes 4
	example _imm $bytes 20
done

# start EXAMPLE OPTION...: a server for all that follows, once it listens.
start() {
	local suffix=$1
	shift
	port=$((port + 1))
	wait_for 10 holds 0 cm "rows == []"
	exec_on 0 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" \
		"$scripts/run_server$suffix.sh" -t $patience "$@" $port >"$WORK/server.out" 2>&1 &
	server_pid=$!
	own $!
	wait_for 20 cm_is_ready_or_ended listening
}

client() {
	rnic 1 timeout 60 "$scripts/run_client$1.sh" -t $patience "${@:2}" >"$WORK/client.out" 2>&1
}

# refused WHAT SAYS CLIENT-ARGUMENT...
refused() {
	client "${@:3}"
	check "$1: status 1" test $? -eq 1
	says client "$2"
}

# ends_with STATUS PID WHAT
ends_with() {
	wait_for 20 has_ended "$2"
	end_process "$2"
	wait "$2"
	check "$3: status $1" test $? -eq "$1"
}

start "" -a "$server" -v
says server "listens at port $port, with 65536 bytes"
refused "a port where nobody listens" "nobody listens at that port" "" "$server" 7470
refused "the other sample" "it has sample 1" _imm "$server" $port
refused "more than there is" "and 65536 bytes" "" -s 65537 "$server" $port
refused "a name that is none" "host.invalid" "" host.invalid $port
for number in 65536 65537 70000 4294967297 0; do
	client "" "$server" $number
	check "port $number: status 2" test $? -eq 2
	says client "no number from 1 to 65535"
	check "a server at port $number" test 2 -eq \
		"$(rnic 0 timeout 60 "$RDMA_BIN/rdma_server" -- $number >/dev/null 2>&1; echo $?)"
done
for number in 1 2 3; do
	client "" "$server" $port &
	clients[number]=$!
done
for number in 1 2 3; do check "client $number of three at once" wait "${clients[number]}"; done
with_environment() {
	RDMA_RUN="$BIN/rnic-run --no-daemon --socket ${side_socket[1]}" RDMA_LOG=$WORK/log \
		on 1 "$scripts/run_client.sh" "$server" $port
}

check "a client by RDMA_RUN" with_environment
check "and RDMA_LOG" wait_for 10 grep -q "4 times: verified" "$WORK/log"
says server "queue pair .*: INIT, 8 sends, 8 receives"
signal_process TERM "$server_pid"
ends_with 0 "$server_pid" "a server on SIGTERM"
says server "clients served: 4"

# By name, of which there are addresses of both families.
if [ -n "${side_namespace[0]}" ] && [ "$3" = 4 ]; then
	start ""
	side_socket[2]=${side_socket[0]} side_namespace[2]=${side_namespace[0]}
	check "a client of localhost" rnic 2 timeout 60 "$scripts/run_client.sh" localhost $port
	end_process "$server_pid"
	wait "$server_pid"
fi

topology_finish
