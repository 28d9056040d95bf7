#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The distribution's programs over librdmacm: connections.sh TOPOLOGY PORT FAMILY [FAULTS]
. "$(dirname "$0")/../lib.sh"

options=()
[ -z "${4:-}" ] || options=(--fault "$4")
topology=$1
family=$3
topology_start "$topology" "$2" "$family" "${options[@]}"

server=${side_address[0]}
count=1000
[ -z "$SLOW${4:-}" ] || count=100
[ -z "$LONG" ] || count=10000
connections=100
[ -z "$SLOW" ] || connections=10

# Two programs of side 0 receive what one of side 1 sends.
multicast() {
	local receivers=() group=239.9.$multicast_number program
	[ "$family" = 4 ] || group=$(printf "ff15::%x:%x" $((RUN_ID >> 16)) $((RUN_ID & 65535)))
	for program in 1 2; do
		exec_on 0 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" \
			stdbuf -oL mckey -m $group -b "$server" >"$WORK/receiver$program.out" 2>&1 &
		receivers+=($!)
		own $!
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

# What the client of cmtime has measured: milliseconds of each step, for all connections together.
cmtime_rate() {
	cat "$WORK/client.out"
	awk -v count="$count" '/^[a-z ]+:( +[0-9.]+)+$/ { ms += $(NF - 3) }
		END { if (ms > 0) printf "# %.0f connections per second\n", count / ms * 1000 }' \
		"$WORK/client.out"
}

# The server of rdma-core 44 stays when its client has ended, that of 56 ends with it.
cmtime_run() {
	local runs=cm_serve usage
	usage=$(cmtime -h 2>&1)
	case $usage in
	*'-C controller_address'*)
		skip_part "cmtime of rdma-core 65, whose sides meet by TCP"
		return
		;;
	*mimic_qp_delay*) runs=cm_run ;;
	esac
	$runs cmtime -b "$server" -c $count -- cmtime -s "$server" -c $count
	cmtime_rate
}

# went_well FILE: a client of rping ends with status 0 also when its server has hung up on it.
went_well() {
	! grep "wait for" "$1"
}

rping_run() {
	cm_run "$@"
	check "its client came to the end" went_well "$WORK/client.out"
}

rping_beside() {
	rnic 1 timeout 60 rping -c -a "$server" -p 7180 -C 10 -S 1000 -V >"$WORK/beside.out" 2>&1
	local status=$?
	if [ $status -ne 0 ]; then
		echo "its status is $status"
		cat "$WORK/beside.out"
		return 1
	fi
	went_well "$WORK/beside.out"
}

serves_first() {
	has_ended "$first" || cm_is_ready connected
}

# One server, and clients that come and go, two of them at a time: the first one stays for longer
# than the others take.
persistent() {
	local first pings=20000
	[ $count -ge 1000 ] || pings=2000
	cm_start listening rping -P -s -a "$server" -p 7180 -S 1000 -- \
		rping -c -a "$server" -p 7180 -C $pings -S 1000
	first=$client_pid
	# Its server knows of one new client at a time only.
	check "rping -P: it serves one" wait_for 20 serves_first
	for ((client = 1; client <= 5; client++)); do
		check "rping -P: client $client beside another one" rping_beside
	done
	wait_for 60 has_ended "$first"
	end_process "$first"
	check "rping -P: the one beside them" wait "$first"
	check "rping -P: and it came to its end" went_well "$WORK/client.out"
	check "rping -P still serves" is_running "$server_pid"
	end_process "$server_pid"
	wait "$server_pid"
}

# perftest_run PROGRAM OPTION...: over a first connection its server says that it is about to listen
# for the second one, which the client asks for without waiting for that.
perftest_run() {
	cm_run "$@" -F -R -n 100 -p 7474 -- "$@" -F -R -n 100 -p 7474 "$server"
}

# rping's smallest size is 23, its largest 65535.
for size in 23 4096 65535; do
	rping_run rping -s -a "$server" -C 100 -S $size -V -- \
		rping -c -a "$server" -C 100 -S $size -V
done
rping_run rping -s -a "$server" -C $count -- rping -c -a "$server" -C $count
rping_run rping -s -a "$server" -C 100 -q -- rping -c -a "$server" -C 100 -q

cm_run ucmatose -b "$server" -- ucmatose -s "$server"
cm_run ucmatose -b "$server" -c $connections -C 2 -- ucmatose -s "$server" -c $connections -C 2
cm_run ucmatose -b "$server" -m -- ucmatose -s "$server" -m
cmtime_run
persistent

cm_run rdma_server -s "$server" -p 7471 -- rdma_client -s "$server" -p 7471
# It listens on all IPv4 addresses, and on them only.
if [ "$family" = 4 ]; then
	cm_run rdma_xserver -p 7472 -- rdma_xclient -s "$server" -p 7472
	cm_run rdma_xserver -p 7473 -c x -- rdma_xclient -s "$server" -p 7473 -c x
fi

# perftest resolves IPv4 only when it connects by address.
if [ "$family" = 4 ]; then
	perftest_run ib_write_bw
	perftest_run ib_read_lat
	perftest_run ib_send_bw -c RC -q 4
	[ -n "${4:-}" ] || perftest_run ib_send_lat -c UD
fi

# Somebody asks a host that is on the link and does not answer: rnicctl says what that program waits
# for. On the loopback device the kernel asks no neighbour.
hanging() {
	local hanging mute="${server%.*}.77"
	[ "$topology" = one ] || [ "$topology" = pair ] ||
		on 1 ip neighbour replace "$mute" lladdr 02:00:00:00:00:77 dev veth1 nud permanent
	exec_on 1 "$BIN/rnic-run" --no-daemon --socket "${side_socket[1]}" \
		rping -c -a "$mute" -C 1 >"$WORK/hanging.out" 2>&1 &
	hanging=$!
	own $hanging
	check "rnicctl says what who hangs waits for" wait_for 10 holds 1 cm \
		"any('answer to the request (try' in r['waiting_for'] for r in rows)"
	end_process $hanging
	wait $hanging 2>/dev/null
}

# Both ends on one host by the address of loopback, which is not the device's: it is what everybody
# tries first.
to_oneself() {
	local socket=${side_socket[1]} namespace=${side_namespace[1]}
	side_socket[1]=${side_socket[0]}
	side_namespace[1]=${side_namespace[0]}
	rping_run rping -s -a 127.0.0.1 -C 10 -- rping -c -a 127.0.0.1 -C 10
	rping_run rping -s -C 10 -- rping -c -a 127.0.0.1 -C 10
	side_socket[1]=$socket
	side_namespace[1]=$namespace
}

if [ "$family" = 4 ] && [ -n "${side_namespace[0]}" ]; then to_oneself; fi

if [ "$family" = 4 ]; then hanging; fi

# Datagrams that are lost stay lost, and these programs wait for them.
if [ -z "${4:-}" ]; then
	cm_run udaddy -b "$server" -c 10 -- udaddy -s "$server" -c 10
	if [ "$server" = ::1 ]; then
		echo "# no mckey: the kernel routes no IPv6 multicast over loopback"
	else
		multicast
	fi
fi

topology_finish
