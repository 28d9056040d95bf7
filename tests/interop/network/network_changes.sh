#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Addresses and links that change while the device is in use: network_changes.sh PORT
. "$(dirname "$0")/../lib.sh"

topology_start netns-1500 "$1" 4

link_local_is_there() {
	query "$1" device "[g['gid'] for g in rows['gids'] if g['index'] == 0]" |
		grep -q "fe80:"
}
for side in 0 1; do
	check "side $side: the link-local address becomes GID 0" \
		wait_for 20 link_local_is_there $side
done

echo "# an address between the two halves of a connection"
link_local=$(on 0 ip -6 -brief address show dev veth0 scope link | awk '{ print $3 }')
on 0 ip address del 10.77.0.1/24 dev veth0
on 0 ip -6 address del "$link_local" dev veth0
check "GID 0 is empty again" wait_for 20 holds 0 device \
	"[g['gid'] for g in rows['gids']] == ['fd77::1']"
bring_back="ip -6 address add $link_local dev veth0 nodad &&
	until $BIN/rnicctl show device --socket ${side_socket[0]} | grep -q fe80
	do sleep 0.1; done"
handles_meet() {
	on 0 env RNIC_SOCKET="${side_socket[0]}" timeout 60 \
		"$BUILD/tests/handle_late_address" "$1"
}
check "handles of two processes meet, though GID 0 came meanwhile" handles_meet "$bring_back"
check "and though an IPv4 address came" handles_meet "ip address add 10.77.0.1/24 dev veth0 &&
	until $BIN/rnicctl show device --socket ${side_socket[0]} | grep -qF 10.77.0.1
	do sleep 0.1; done"
on 0 ip -6 address del fd77::1/64 dev veth0
check "their address goes" wait_for 20 holds 0 device \
	"all(g['gid'] != 'fd77::1' for g in rows['gids'])"
check "handles of two processes meet at another" handles_meet true
on 0 ip -6 address add fd77::1/64 dev veth0 nodad

exec_on 0 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" stdbuf -oL \
	ibv_asyncwatch -d rnic0 \
	>"$WORK/events" 2>&1 &
watcher=$!
own $!
check "ibv_asyncwatch runs" wait_for 20 holds 0 clients "len(rows) == 1"

events() {
	grep -c "$1" "$WORK/events"
}
more_events() {
	[ "$(events "$1")" -gt "$2" ]
}
# event_is_seen WHAT PATTERN COMMAND...: one more such event comes when the command ran.
event_is_seen() {
	local what=$1 pattern=$2 before
	shift 2
	before=$(events "$pattern")
	check "$what" on 0 "$@"
	check "$what: ibv_asyncwatch prints it" wait_for 20 more_events "$pattern" "$before"
}

echo "# addresses"
event_is_seen "an IPv4 address is added" GID_CHANGE \
	ip address add 10.77.1.1/24 dev veth0
rnic 0 ibv_devinfo -v >"$WORK/devinfo"
check "ibv_devinfo -v shows it" grep -Eq "GID\[.*::ffff:10\.77\.1\.1, RoCE v2" "$WORK/devinfo"
on 1 ip address add 10.77.1.2/24 dev veth1
wait_for 20 holds 1 device "any(g['gid'] == '10.77.1.2' for g in rows['gids'])"
find_gid 0 10.77.1.1
find_gid 1 10.77.1.2
new_index=${side_gid[0]}
pair_run ibv_rc_pingpong -c -n 100
pair_run ibv_ud_pingpong -n 100

old_index=$(query 0 device "next(g['index'] for g in rows['gids'] if g['gid'] == '10.77.0.1')")
event_is_seen "the first IPv4 address is removed" GID_CHANGE \
	ip address del 10.77.0.1/24 dev veth0
check "its index is empty" holds 0 device \
	"all(g['index'] != $old_index for g in rows['gids'])"
check "the other's index has not changed" holds 0 device \
	"any(g['index'] == $new_index and g['gid'] == '10.77.1.1' for g in rows['gids'])"
server_address=10.77.1.1
pair_run ibv_rc_pingpong -c -n 100
event_is_seen "an IPv6 address is added" GID_CHANGE \
	ip -6 address add fd78::1/64 dev veth0 nodad
check "it takes the empty index" holds 0 device \
	"any(g['index'] == $old_index and g['gid'] == 'fd78::1' for g in rows['gids'])"
event_is_seen "it is removed" GID_CHANGE ip -6 address del fd78::1/64 dev veth0

echo "# an address that is in use"
pair_start ibv_rc_pingpong -n 100000000
wait_for 20 holds 0 qps "any(row['sent_packets'] > 100 for row in rows)"
event_is_seen "it is removed" GID_CHANGE ip address del 10.77.1.1/24 dev veth0
on 0 ip address add 10.77.9.9/24 dev veth0
wait_for 20 holds 0 device "any(g['gid'] == '10.77.9.9' for g in rows['gids'])"
check "its index is not given to another" holds 0 device \
	"all(g['index'] != $new_index for g in rows['gids'])"
event_is_seen "it comes back" GID_CHANGE ip address add 10.77.1.1/24 dev veth0
check "with its index" holds 0 device \
	"any(g['index'] == $new_index and g['gid'] == '10.77.1.1' for g in rows['gids'])"
end_process "$client_pid"
end_process "$server_pid"
wait "$client_pid" "$server_pid" 2>/dev/null
find_gid 0 10.77.1.1
pair_run ibv_rc_pingpong -c -n 100

echo "# the link"
event_is_seen "the link goes down" PORT_ERR ip link set veth0 down
check "the port is down" grep -q PORT_DOWN <(rnic 0 ibv_devinfo)
event_is_seen "the link comes up" PORT_ACTIVE ip link set veth0 up
check "the port is active" grep -q PORT_ACTIVE <(rnic 0 ibv_devinfo)
for side in 0 1; do
	check "side $side: the link-local address is back" wait_for 20 link_local_is_there $side
done
pair_run ibv_rc_pingpong -c -n 100

echo "# the MTU"
active_mtu_is() {
	[ "$(rnic 0 ibv_devinfo | awk '/active_mtu/ { print $2 }')" = "$1" ]
}
check "it was 1024" active_mtu_is 1024
for side in 0 1; do on $side ip link set veth$side mtu 9000; done
check "it becomes 4096" wait_for 20 active_mtu_is 4096
wait_for 20 holds 1 device "True"
pair_run ibv_rc_pingpong -c -m 4096 -s 65536 -n 100

echo "# the end of the interface"
event_is_seen "the interface is removed" PORT_ERR ip link delete veth0
check "all GIDs are gone" holds 0 device "rows['gids'] == []"
check "the port is down" grep -q PORT_DOWN <(rnic 0 ibv_devinfo)
check "the log says so" grep -q "veth0 is gone" "$WORK/daemon0.log"

# ends_come_back: the interfaces of both sides are made anew. Their MAC addresses, and so their
# link-local ones, are the same each time.
ends_come_back() {
	local side
	ip link add veth0 netns "${side_namespace[0]}" address 02:00:00:00:77:01 type veth \
		peer name veth1 netns "${side_namespace[1]}" address 02:00:00:00:77:02
	for side in 0 1; do
		on $side sysctl -q -w net.ipv6.conf.veth$side.accept_dad=0
		on $side ip address add "10.77.0.$((side + 1))/24" dev veth$side
		on $side ip link set veth$side up
	done
	for side in 0 1; do
		check "side $side has its GIDs" wait_for 20 has_both_gids $side
		find_gid $side "10.77.0.$((side + 1))"
	done
}
has_both_gids() {
	holds "$1" device "[g['gid'][:5] for g in rows['gids']] == ['fe80:', '10.77']"
}
shows_index() {
	rnic 0 rdma -j link >"$WORK/link.json" &&
		grep -qE "\"netdev_index\": ?$1\b" "$WORK/link.json"
}
# By GID 0, which is at one interface only.
link_local_pingpong() {
	side_gid=(0 0)
	pair_run ibv_rc_pingpong -c -n 100
}

echo "# its return"
server_address=10.77.0.1
active_before=$(events PORT_ACTIVE)
ends_come_back
check "ibv_asyncwatch prints it" wait_for 20 more_events PORT_ACTIVE "$active_before"
pair_run ibv_rc_pingpong -c -n 100
link_local_pingpong

echo "# programs that go on meanwhile, one of them with the device inside"
group=239.9.$multicast_number
exec_program 0 stdbuf -oL mckey -m "$group" -b 10.77.0.1 >"$WORK/shared.out" 2>&1 &
receivers=($!)
direct=(--direct)
exec_program 0 stdbuf -oL mckey -m "$group" -b 10.77.0.1 >"$WORK/direct.out" 2>&1 &
receivers+=($!)
direct=()
own "${receivers[@]}"
for receiver in shared direct; do
	check "$receiver: it has joined" wait_for 20 grep -q "joined dgid" "$WORK/$receiver.out"
done
exec_program 0 rping -s -P -a 10.77.0.1 >"$WORK/rping.out" 2>&1 &
server=$!
own $server
check "rping listens" wait_for 20 cm_is_ready
old=$(on 0 cat /sys/class/net/veth0/ifindex)
on 0 ip link delete veth0
check "the GIDs go" wait_for 20 holds 0 device "rows['gids'] == []"
ends_come_back
new=$(on 0 cat /sys/class/net/veth0/ifindex)
check "the index is another one" test "$old" != "$new"
check "programs see it" shows_index "$new"
check "rping is reached" rnic 1 timeout 20 rping -c -a 10.77.0.1 -C 10
check "a message to the group is sent" \
	rnic 1 timeout 20 mckey -s -m "$group" -b 10.77.0.2
for receiver in shared direct; do
	check "$receiver: it receives the messages" \
		wait_for 20 grep -q "return status 0" "$WORK/$receiver.out"
done
link_local_pingpong
end_process $server
wait $server "${receivers[@]}" 2>/dev/null
end_process $watcher
wait $watcher 2>/dev/null

topology_finish
