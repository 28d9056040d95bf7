#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
#
# The first process of the guest: makes two rdma_rxe devices on the ends of one veth, two rnicd on
# the ends of another, runs each row of /rows on them in turn, and powers the guest off. What it
# prints is what rxe_beside.py reads:
#
#     @@ MTU STACK ROW ROUND        before the output of the row's client
#     @@ end STATUS                 after that
#
# A row with a round trip is ROW@RTTms.
#
# Both devices of rxe are in the first network namespace, where alone rxe works on older kernels:
# rules of routing send what goes from one to the other over the wire. The devices of rnicd are in a
# namespace each.
# shellcheck source=tests/interop/rxe/guest_mounts.sh
. /guest_mounts.sh
for module in veth crc32_generic ib_uverbs rdma_rxe sch_netem; do modprobe $module; done
# shellcheck source=/dev/null # rxe_beside.sh writes MTUS, RTTS, ROUNDS, STACKS and LIMIT_S
. /settings

# The shell of busybox prefers its own ip, which knows neither veth nor network namespaces, and its
# own tc, which does not know netem.
ip() {
	/bin/ip "$@"
}

tc() {
	/bin/tc "$@"
}

link_up() {
	ip link set lo up
	for setting in all default; do
		echo 0 >/proc/sys/net/ipv4/conf/$setting/rp_filter
		echo 1 >/proc/sys/net/ipv4/conf/$setting/accept_local
	done
	ip link add va0 type veth peer name va1
	ip address add 10.9.1.1/32 dev va0
	ip address add 10.9.1.2/32 dev va1
	ip link set va0 up
	ip link set va1 up
	ip rule add pref 5 iif lo to 10.9.1.2 lookup 101
	ip rule add pref 5 iif lo to 10.9.1.1 lookup 102
	ip rule add pref 100 lookup local
	ip rule del pref 0
	ip neigh add 10.9.1.2 dev va0 lladdr "$(cat /sys/class/net/va1/address)" nud permanent
	ip neigh add 10.9.1.1 dev va1 lladdr "$(cat /sys/class/net/va0/address)" nud permanent
	ip route add 10.9.1.2/32 dev va0 src 10.9.1.1 table 101
	ip route add 10.9.1.1/32 dev va1 src 10.9.1.2 table 102
	rdma link add rxe0 type rxe netdev va0
	rdma link add rxe1 type rxe netdev va1
	ip link add vb0 type veth peer name vb1
	for end in 0 1; do
		ip netns add n$end
		ip link set vb$end netns n$end
		ip -n n$end link set lo up
		ip -n n$end address add 10.9.2.$((end + 1))/24 dev vb$end
		ip -n n$end link set vb$end up
	done
}

set_mtu() {
	for end in 0 1; do
		ip link set va$end mtu "$1"
		ip -n n$end link set vb$end mtu "$1"
	done
}

# set_rtt MS: a queue that holds what is on the way with it.
set_rtt() {
	for end in 0 1; do
		for device in "-n n$end|vb$end" "|va$end"; do
			# shellcheck disable=SC2086 # words
			tc ${device%|*} qdisc del dev ${device#*|} root 2>/dev/null
			[ "$1" = 0 ] || tc ${device%|*} qdisc add dev ${device#*|} root \
				netem delay $(($1 * 500))us limit 100000 || echo "@@ no netem"
		done
	done
}

start_daemons() {
	for end in 0 1; do
		nsenter --net=/run/netns/n$end rnicd --netdev vb$end --socket /run/n$end.sock \
			>/run/n$end.log 2>&1 &
		eval "daemon$end=$!"
	done
	for tries in $(seq 50); do
		[ -S /run/n0.sock ] && [ -S /run/n1.sock ] && return
		sleep 0.1 # between two polls
	done
	echo "@@ no rnicd after $tries tries: $(cat /run/n0.log /run/n1.log)"
}

# end_daemons: they are children of this process, which must wait for them.
end_daemons() {
	# shellcheck disable=SC2154 # start_daemons sets them
	kill "$daemon0" "$daemon1"
	wait "$daemon0" "$daemon1"
}

# at STACK END COMMAND...
at() {
	stack=$1 end=$2
	shift 2
	case $stack in
	rxe) "$@" ;;
	rnicd)
		nsenter --net=/run/netns/n"$end" rnic-run --no-daemon \
			--socket /run/n"$end".sock "$@"
		;;
	rnicd-direct)
		nsenter --net=/run/netns/n"$end" rnic-run --direct --no-daemon \
			--socket /run/n"$end".sock "$@"
		;;
	esac
}

# gid_index DEVICE COMMAND...: of the IPv4 address. COMMAND runs a program that sees the device, if
# the program is linked dynamically: grep of busybox is not.
gid_index() {
	device=$1
	shift
	"$@" /bin/grep -l 0000:0000:0000:0000:0000:ffff: -r \
		/sys/class/infiniband/"$device"/ports/1/gids/ | sed 's,.*/,,' | sort -n | head -n 1
}

# is_listening STACK: the server of perftest.
is_listening() {
	case $1 in
	rxe) cat /proc/net/tcp /proc/net/tcp6 ;;
	*) nsenter --net=/run/netns/n0 cat /proc/net/tcp /proc/net/tcp6 ;;
	esac | grep -q ':4855 .*:0000 0A'
}

# run_row STACK PROGRAM ARGUMENT...: prints what the client prints, and its status.
run_row() {
	row_stack=$1 program=$2
	shift 2
	case $row_stack in
	rxe) server_device=rxe0 client_device=rxe1 peer=127.0.0.1 ;;
	*) server_device=rnic0 client_device=rnic0 peer=10.9.2.1 ;;
	esac
	server_gid=$(gid_index $server_device at "$row_stack" 0)
	client_gid=$(gid_index $client_device at "$row_stack" 1)
	at "$row_stack" 0 timeout "$LIMIT_S" "$program" -d $server_device -x "$server_gid" -F \
		-p 18517 "$@" >/tmp/server 2>&1 </dev/null &
	server=$!
	for tries in $(seq 100); do
		is_listening "$row_stack" && break
		sleep 0.05 # between two polls
	done
	at "$row_stack" 1 timeout "$LIMIT_S" "$program" -d $client_device -x "$client_gid" -F \
		-p 18517 "$@" $peer 2>&1 </dev/null
	status=$?
	[ $status -eq 0 ] || kill $server 2>/dev/null
	wait $server # which has an end of its own
	echo "@@ end $status after $tries tries"
}

# run_rounds: all rows, as often as wanted, on the MTU and the round trip that are set.
run_rounds() {
	path=@${rtt}ms
	[ "$rtt" != 0 ] || path=""
	for round in $(seq "$ROUNDS"); do
		while read -r row command; do
			for stack in $STACKS; do
				echo "@@ $mtu $stack $row$path $round"
				# shellcheck disable=SC2086 # words
				run_row "$stack" $command
			done
		done </rows
	done
}

link_up
for mtu in $MTUS; do
	set_mtu "$mtu"
	start_daemons
	for rtt in $RTTS; do
		set_rtt "$rtt"
		run_rounds
	done
	end_daemons
done
echo "@@ done"
poweroff -f
