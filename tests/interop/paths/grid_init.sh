#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# shellcheck shell=dash
#
# The first process of the guest of path_grid.sh: for each name in /paths makes two hosts with this
# path between them, runs each program on an rnicd at each end, and powers the guest off. What it
# prints is what path_grid.py reads:
#
#     @@ PATH PROGRAM           before what the program prints
#     @@ end STATUS             after that
#
#     namespace n1                                    namespace n2
#     rnicd 10.9.2.1 on DEVICE ... u, v ====== u, v ... DEVICE rnicd 10.9.2.2
#                                10.8.0.1      10.8.0.2
# shellcheck source=tests/interop/rxe/guest_mounts.sh
. /guest_mounts.sh
ln -s /bin/busybox /sbin/modprobe # the kernel asks for modules by this name
while read -r module; do modprobe -q "$module"; done </modules
LIMIT_S=60
PORT=18517
IS_LISTENING=':4855 .*:0000 0A'

# busybox prefers its own ip and tc, which know neither veth, namespaces nor qdiscs.
ip() {
	/bin/ip "$@"
}

# in_ns END COMMAND...
in_ns() {
	namespace=n$1
	shift
	nsenter --net=/run/netns/"$namespace" "$@"
}

# exec_in END COMMAND...: in the background, where the command replaces the shell and is $!.
exec_in() {
	namespace=n$1
	shift
	exec nsenter --net=/run/netns/"$namespace" "$@"
}

# on_both COMMAND...: `end` and `peer` in the words are 1 and 2, or 2 and 1.
on_both() {
	for end in 1 2; do
		peer=$((3 - end))
		"$@" || return
	done
}

add() {
	ip -n n$end link add path0 "$@"
}

# --- the paths: each makes the device path0, or names another; 1: not with this kernel -----------

make_veth() { device=u; }
make_bridge() { ip -n n$end link add path0 type bridge && ip -n n$end link set u master path0; }
make_macvlan() { add link u type macvlan mode bridge; }
make_vlan() { add link u type vlan id 5; }
make_ipvlan_l2() { add link u type ipvlan mode l2; }
# ipvlan l3 answers no ARP, so u needs a route, as towards a router. u asks for that neighbour from
# its own address: an answer to the address of path0 would go to path0, which drops ARP.
make_ipvlan_l3() {
	add link u type ipvlan mode l3 && in_ns $end sysctl -q -w net.ipv4.conf.u.arp_announce=2 &&
		ip -n n$end route add 10.9.2.0/24 via 10.8.0.$peer dev u metric 100
}
make_vxlan() {
	add type vxlan id 7 dstport 4789 local 10.8.0.$end remote 10.8.0.$peer dev u
}
make_geneve() { add type geneve id 7 remote 10.8.0.$peer; }
make_gre() { add type gre local 10.8.0.$end remote 10.8.0.$peer; }
make_ip6gre() { add type ip6gre local fd08::$end remote fd08::$peer; }

# wireguard ADDRESS: of the other end, without its last number
wireguard() {
	[ -s /tmp/key$peer ] || wg genkey >/tmp/key$peer
	[ -s /tmp/key$end ] || wg genkey >/tmp/key$end
	add type wireguard && in_ns $end wg set path0 private-key /tmp/key$end listen-port 7000 \
		peer "$(wg pubkey </tmp/key$peer)" allowed-ips 10.9.2.0/24 endpoint "$1$2:7000"
}
make_wireguard() { wireguard 10.8.0. $peer; }
make_wireguard6() { wireguard "[fd08::" "$peer]"; }

make_esp() {
	device=u
	key=0x00112233445566778899aabbccddeeff01020304
	for from in 1 2; do
		ip -n n$end xfrm state add src 10.9.2.$from dst 10.9.2.$((3 - from)) proto esp \
			spi 0x10$from mode transport aead "rfc4106(gcm(aes))" $key 128 || return
	done
	ip -n n$end xfrm policy add src 10.9.2.$end dst 10.9.2.$peer dir out tmpl proto esp \
		mode transport
	ip -n n$end xfrm policy add src 10.9.2.$peer dst 10.9.2.$end dir in tmpl proto esp \
		mode transport
}

make_bond() {
	add type bond mode active-backup miimon 50 || return
	for port in u v; do
		ip -n n$end link set $port down
		ip -n n$end link set $port master path0
	done
	meanwhile="ip -n n1 link set u down"
}

shape() {
	device=u
	in_ns $end /bin/tc qdisc add dev u root "$@"
}
make_delay() { shape netem delay 10ms limit 100000; }
make_loss() { shape netem loss 1%; }
make_duplicate() { shape netem duplicate 1%; }
make_corrupt() { shape netem corrupt 0.5%; }
make_reorder() { shape netem delay 2ms reorder 25% 50%; }
make_tbf() { shape tbf rate 200mbit burst 64k limit 500000; }
make_fq_codel() {
	options="--ecn on"
	shape handle 1: tbf rate 200mbit burst 64k limit 1000000 &&
		in_ns $end /bin/tc qdisc add dev u parent 1: fq_codel ecn
}

# --- the hosts ---------------------------------------------------------------------------------

daemon1="" daemon2=""

make_hosts() {
	ip netns add n1
	ip netns add n2
	for wire in u v; do
		ip link add $wire netns n1 mtu 4500 type veth peer name $wire netns n2 mtu 4500
	done
	for end in 1 2; do
		echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
		ip -n n$end link set lo up
		in_ns $end sysctl -q -w net.ipv6.conf.u.accept_dad=0
		ip -n n$end address add 10.8.0.$end/24 dev u
		ip -n n$end address add fd08::$end/64 dev u nodad
		ip -n n$end link set u up
		ip -n n$end link set v up
	done
}

start_daemon() {
	ip -n n$end link set $device up
	ip -n n$end address add 10.9.2.$end/24 dev $device
	# shellcheck disable=SC2086 # words
	exec_in $end rnicd --netdev $device --socket /run/n$end.sock $options >/run/n$end.log 2>&1 &
	eval "daemon$end=$!"
	for tries in $(seq 100); do
		gid_of $end | grep -q . && return
		sleep 0.1 # between two polls
	done
	echo "@@ no rnicd after $tries tries: $(cat /run/n$end.log)"
	return 1
}

end_daemons() {
	for daemon in $daemon1 $daemon2; do
		kill "$daemon"
		wait "$daemon" # a child of this process
	done
	daemon1="" daemon2=""
	[ ! -e /run/n1.sock ] && [ ! -e /run/n2.sock ] || echo "@@ a daemon is left"
}

gid_of() {
	rnicctl show device --socket /run/n"$1".sock 2>/dev/null |
		awk -v address=10.9.2."$1" '$1 == "GID" && $3 == address { print $2 }'
}

# run_on END COMMAND...: in the background.
run_on() {
	side=$1
	shift
	exec_in "$side" timeout $LIMIT_S rnic-run --no-daemon --socket /run/n"$side".sock "$@"
}

# --- the programs --------------------------------------------------------------------------------

is_ready() {
	case $1 in
	rping*) rnicctl show cm --socket /run/n1.sock | grep -q listening ;;
	*) in_ns 1 cat /proc/net/tcp /proc/net/tcp6 | grep -q "$IS_LISTENING" ;;
	esac
}

# run_pair SERVER CLIENT: two commands as text. Prints what both print if one fails.
run_pair() {
	# shellcheck disable=SC2086 # words
	run_on 1 $1 >/tmp/server 2>&1 </dev/null &
	server=$!
	for tries in $(seq 200); do
		is_ready "$1" && break
		sleep 0.05 # between two polls
	done
	# shellcheck disable=SC2086 # words
	run_on 2 $2 >/tmp/client 2>&1 </dev/null &
	client=$!
	[ -z "$3" ] || { sleep 1; $3; } # in the middle of the transfer
	wait $client
	status=$?
	[ $status -eq 0 ] || kill $server 2>/dev/null
	wait $server
	[ $status -eq 0 ] || tail -n 5 /tmp/server /tmp/client
	return $status
}

# run_program NAME
run_program() {
	to=10.9.2.1
	more=""
	case $1 in
	pingpong) words="ibv_rc_pingpong -c -n 100 -p $PORT -g" ;;
	write) words="ib_write_bw -F -s 65536 -n 100 -p $PORT -x" ;;
	read) words="ib_read_bw -F -s 65536 -n 100 -p $PORT -x" ;;
	ud) words="ib_send_lat -F -c UD -s 512 -n 100 -p $PORT -x" ;;
	rping)
		run_pair "rping -s -a $to -C 10" "rping -c -a $to -C 10 -V"
		return
		;;
	failover)
		words="ib_write_bw -F -s 65536 -D 6 -p $PORT -x"
		more=$meanwhile
		;;
	esac
	run_pair "$words $(gid_of 1)" "$words $(gid_of 2) $to" "$more"
}

# The last acknowledgement of a ping-pong may be lost with its program: see faults.sh.
run_cell() {
	echo "@@ $path $1"
	for attempt in 1 2 3; do
		run_program "$1"
		status=$?
		[ $status -ne 0 ] && [ "$1" = pingpong ] || break
	done
	echo "@@ end $status"
}

while read -r path programs; do
	device=path0 meanwhile="" options=""
	make_hosts
	if on_both "make_$path" && on_both start_daemon; then
		for program in $programs; do run_cell "$program"; done
	else
		echo "@@ $path cannot be made"
	fi
	end_daemons
	ip netns delete n1
	ip netns delete n2
	echo "@@ $path took until $(cut -d' ' -f1 /proc/uptime) s"
done </paths
echo "@@ done"
poweroff -f
