#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that fail, and whether the cause can be found afterwards: causes.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

topology_start "$@"

# blames SIDE PROGRAM WHAT WHY: among the troubles there is one of this program that says this.
blames() {
	control "$1" troubles >"$WORK/troubles"
	if holds "$1" troubles "any(r['program'] == '$2' and '$3' in r['subject'] and
			'$4' in r['reason'] for r in rows)"; then
		pass "side $1 blames $2: $3: $4"
	else
		fail "side $1 blames $2: $3: $4" "$WORK/troubles"
	fi
	check "side $1: its log says so, too" grep -q -- "$4" "$WORK/daemon$1.log"
}

sends_packets() {
	holds 1 qps "any(row['sent_packets'] > 100 for row in rows)"
}

# Of two options -g the program takes the second.
pair_start ibv_rc_pingpong -g 9
pair_wait 30
check "a GID index that there is not: both fail" \
	test "$client_status" -ne 0 -a "$server_status" -ne 0
blames 0 ibv_rc_pingpong "MODIFY_QP refused" "no GID"

# The same index need not mean the same on both hosts.
if [[ $1 == netns-* ]]; then
	find_gid 1 fd77::2
	pair_start ibv_rc_pingpong
	pair_wait 30
	check "addresses of IPv4 and of IPv6: both fail" \
		test "$client_status" -ne 0 -a "$server_status" -ne 0
	blames 0 ibv_rc_pingpong "MODIFY_QP refused" "an IPv6 address, and that with index"
	find_gid 1 "${side_address[1]}"
fi

pair_start ib_write_bw -F -c RC -D 600
wait_for 20 sends_packets
check "each side says what the other is" test "$(query 0 qps "[r['peer_kind'] for r in rows]")$(
	query 1 qps "[r['peer_kind'] for r in rows]")" = "['rnicd']['rnicd']"
signal_process KILL "$server_pid"
pair_wait 30
check "a peer that is killed: both fail" \
	test "$client_status" -ne 0 -a "$server_status" -ne 0
blames 1 ib_write_bw "queue pair 0x" "The peer"

rnic 1 timeout 30 rping -c -a "${side_address[0]}" -C 1 >"$WORK/client.out" 2>&1
check "rping where nobody listens fails" test $? -ne 124
blames 1 rping "connection to ${side_address[0]} port 7174" "nobody listens at that port"

# calls_in_vain ADDRESS WHY: what the network says of a connection request there.
calls_in_vain() {
	exec_on 1 "$BIN/rnic-run" --no-daemon --socket "${side_socket[1]}" \
		rping -c -a "$1" -C 1 >"$WORK/client.out" 2>&1 &
	client_pid=$!
	own "$client_pid"
	wait_for 20 holds 1 troubles "any('packets to $1' == r['subject'] for r in rows)"
	check "the request to $1 goes on" is_running "$client_pid"
	end_process "$client_pid"
	blames 1 rnicd "packets to $1" "$2"
}

# An address that is there, and no daemon on it.
if [[ $1 == netns-* ]]; then
	nobody=10.78.0.9
	on 0 ip addr add $nobody/32 dev lo
	on 1 ip route add $nobody/32 via "${side_address[0]}"
else
	nobody=$loopback.99
fi
calls_in_vain "$nobody" "the host answers that nothing listens on UDP port 4791"

# An address that nobody has, and one whose host leaves the network later.
if [[ $1 == netns-* ]]; then
	unanswered="nobody on the network answers for"
	rnic 1 timeout 30 rping -c -a 10.77.0.99 -C 1 >"$WORK/client.out" 2>&1
	check "rping to an address that nobody has fails" test $? -ne 124
	blames 1 rping "connection to 10.77.0.99 port 7174" "$unanswered 10.77.0.99"

	pair_start ib_write_bw -F -c RC -D 600 -u 17
	wait_for 20 sends_packets
	on 0 ip link set veth0 arp off
	on 1 ip neigh flush dev veth1
	wait_for 30 has_ended "$client_pid"
	end_process "$server_pid"
	pair_wait 10
	on 0 ip link set veth0 arp on
	check "a host that leaves the network: the client fails" test "$client_status" -ne 0
	blames 1 rnicd "packets to ${side_address[0]}" "$unanswered that address"
fi

# Addresses that change on the way, which the ICRC covers: those of connection messages, which the
# daemon takes, and those of a queue pair.
if [[ $1 == netns-* ]] && ! command -v nft >/dev/null; then
	skip_part "a rule that changes addresses: nft is not installed"
elif [[ $1 == netns-* ]]; then
	check "nft takes a rule that changes addresses" on 1 nft "table ip nat { chain out {
		type nat hook postrouting priority 100; udp dport 4791 snat to 10.77.0.55; }; }"
	rnic 1 timeout 10 rping -c -a "${side_address[0]}" -C 1 >"$WORK/client.out" 2>&1 &
	connector=$!
	own $connector
	pair_start ibv_rc_pingpong
	check "whose addresses change on the way is named, by the control plane and the device" \
		wait_for 20 holds 0 troubles "len({r['pid'] for r in rows
			if r['subject'] == 'packets from 10.77.0.55' and
			'something on the way changes addresses' in r['reason']}) == 2"
	check "and its log says so, too" grep -q "from 10.77.0.55: the ICRC of" "$WORK/daemon0.log"
	end_process "$connector"
	end_process "$server_pid"
	end_process "$client_pid"
	on 1 nft delete table ip nat
fi

# Packets that nobody repeats, and that found no room while the device did not run.
if [[ $1 == netns-* ]]; then
	pair_start ib_send_bw -F -c UC -s 65536 -D 20
	wait_for 20 sends_packets
	device=$(devices_of "${side_pid[0]}")
	signal_process STOP "$device"
	sent=$(query 1 counters "rows['udp_sent_bytes']")
	wait_for 10 holds 1 counters "rows['udp_sent_bytes'] > $sent + 100000000"
	signal_process CONT "$device"
	check "what the kernel dropped is counted" \
		wait_for 10 holds 0 counters "rows['udp_receive_dropped'] > 0"
	control 0 >"$WORK/shown"
	check "and shown among the losses" grep -q udp_receive_dropped "$WORK/shown"
	end_process "$client_pid"
	end_process "$server_pid"
fi

# A route, and so anybody's ICMP message, may say that the path carries less than the interface
# does: rnicd sends as the interface permits. A rule that forbids packets is another matter.
if [[ $1 == netns-* ]]; then
	on 1 ip route add "${side_address[0]}/32" dev veth1 mtu 600
	pair_run ib_write_bw -F -c RC -n 100
	on 1 ip rule add to "${side_address[0]}" ipproto 17 dport 4791 prohibit
	pair_start ib_write_bw -F -c RC -n 100
	wait_for 30 has_ended "$client_pid"
	end_process "$server_pid"
	pair_wait 10
	check "a rule that forbids packets: the client fails" test "$client_status" -ne 0
	blames 1 rnicd "packets to ${side_address[0]}" "Permission denied"
fi

topology_finish
