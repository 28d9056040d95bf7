#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# GIDs from the first moment on: first_gids.sh PORT
#
# The kernel probes a new IPv6 address for duplicates for some seconds, and gives an interface its
# link-local address only once the link is up. The GIDs are at their places before, and what
# programs send meanwhile is repeated.
. "$(dirname "$0")/../lib.sh"

dad_probes=1000
make_namespaces netns 1500
for side in 0 1; do
	daemon_start $side --netdev veth$side --port "$1"
done

is_probed() {
	on "$1" ip -6 address show dev "veth$1" scope link tentative | grep -q fe80:
}
# A MAC address with the byte 0x80 puts "fe80" into the address a second time.
link_local_of() {
	on "$1" ip -6 -brief address show dev "veth$1" scope link | sed 's/.* \(fe80::[^/]*\).*/\1/'
}
has_link_local() {
	[ -n "$(link_local_of "$1")" ]
}
gid_is() {
	holds "$1" device "any(g['index'] == $2 and g['gid'] == '$3' for g in rows['gids'])"
}
# gids_are WHEN: both sides have the same addresses at the same places.
for side in 0 1; do wait_for 20 has_link_local $side; done
link_local=("$(link_local_of 0)" "$(link_local_of 1)")
gids_are() {
	local side
	for side in 0 1; do
		check "side $side: GID 0 is the link-local address $1" \
			gid_is $side 0 "${link_local[side]}"
		check "side $side: GID 1 is the IPv4 address" gid_is $side 1 10.77.0.$((side + 1))
	done
}

echo "# while the kernel probes the link-local addresses"
pair_start ib_send_bw -F -c RC -s 1024 -n 100 -u 20
wait_for 20 holds 0 qps "rows != []"
gids_are "while the kernel probes this address"
rnic 0 ibv_devinfo -v >"$WORK/devinfo"
check "ibv_devinfo -v lists it" grep -q "GID\[ *0\].*${link_local[0]}" "$WORK/devinfo"
check "ucx_info finds the port" grep -q "rnic0:1" <(rnic 0 ucx_info -d)
check "it does so all the time, on both sides" eval "is_probed 0 && is_probed 1"
for side in 0 1; do
	on $side sysctl -q -w net.ipv6.conf.veth$side.accept_dad=0
	on $side ip link set veth$side down
	on $side ip link set veth$side up
done
pair_wait $((PAIR_SECONDS * 2))
pair_judge "ib_send_bw -x 0 began meanwhile, and ends well once the kernel is ready"
check "nothing was refused" holds 0 troubles \
	"all('refused' not in row['subject'] for row in rows)"

echo "# a link that is down at the other end"
for side in 0 1; do
	on $side ip link set veth$side down
done
on 0 ip link set veth0 up
check "the kernel has no link-local address there" test -z "$(link_local_of 0)"
check "GID 0 is the link-local address" gid_is 0 0 "${link_local[0]}"
end_process "${side_pid[0]}"
wait "${side_pid[0]}"
daemon_start 0 --netdev veth0 --port "$1"
check "a daemon that starts then knows it too" gid_is 0 0 "${link_local[0]}"
check "and the IPv4 address has its index" gid_is 0 1 10.77.0.1
on 1 ip link set veth1 up
wait_for 20 has_link_local 0
for side in 0 1; do
	check "side $side: the port is active" wait_for 20 holds $side device \
		"rows['state'] == 'active'"
done
gids_are "with the link up"
side_gid=(0 0)
pair_run ib_send_bw -F -c RC -s 1024 -n 100

echo "# IPv6 is off"
for side in 0 1; do
	on $side sysctl -q -w net.ipv6.conf.veth$side.disable_ipv6=1
done
check "the IPv4 address is alone" wait_for 20 holds 0 device \
	"[(g['index'], g['gid']) for g in rows['gids']] == [(1, '10.77.0.1')]"

topology_finish
