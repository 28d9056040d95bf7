#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The distribution's programs over rsockets: sockets.sh TOPOLOGY PORT FAMILY [FAULTS]
. "$(dirname "$0")/lib.sh"

options=()
[ -z "${4:-}" ] || options=(--fault "$4")
family=$3
topology_start "$1" "$2" "$family" "${options[@]}"

server=${side_address[0]}
rounds=200
[ -z "$SLOW${4:-}" ] || rounds=50
copy_bytes=$((32 << 20))
[ -z "$SLOW${4:-}" ] || copy_bytes=$((4 << 20))
[ -z "$LONG" ] || copy_bytes=$((1 << 30))
port=7700
preload=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so
preloaded=(env RDMAV_FORK_SAFE=0 sh -c "LD_PRELOAD=$preload:\$LD_PRELOAD exec \"\$@\"" sh)
forking=(env RDMAV_FORK_SAFE=1 "${preloaded[@]:2}")

# A server of a socket of the kernel's is ready too: datagrams have one to be found by.
cm_is_ready() {
	[ -n "$(on 0 ss -Hlntu "sport = :$port")" ] ||
		holds 0 cm "any(r['state'] == 'listening' for r in rows)"
}

# Both printed so many results: these programs end with status 0 also when a transfer failed.
printed_results() {
	local side
	for side in server client; do
		[ "$(grep -cE '^([0-9]+[km]?_(lat|bw)|custom)' "$WORK/$side.out")" -eq "$1" ] ||
			return 1
	done
}

# counted NAME: what side 0 counts of it.
counted() {
	query 0 counters "rows['$1']"
}

# stream_run RESULTS PROGRAM OPTION...: the program on both sides.
stream_run() {
	local results=$1
	shift
	port=$((port + 1))
	cm_run "$@" -b "$server" -p $port -- "$@" -s "$server" -p $port
	check "and printed $results results" printed_results "$results"
}

streams() {
	local variant size
	# Blocking, asynchronous, non-blocking, resolved by librdmacm, kept alive, not ours.
	for variant in "-T b" "-T a" "-T n" "-T r" "-k 1 -T b" "-T a -T b" "-T a -T n" "-T s"; do
		# shellcheck disable=SC2086 # words
		stream_run 1 rstream -T v -I $rounds -C 1 -S 4096 $variant
	done
	stream_run 1 rstream -T v -I $rounds -C 10 -S 1000 -B 8192
	stream_run 1 rstream -T v -I $rounds -C 10 -S 1000 -i 0
	# Sizes up to more than any buffer, with what is between two powers.
	for size in 1 63 65 1000 4097 65535 262144 1048577 6291456; do
		stream_run 1 rstream -T v -T b -I 5 -C 2 -S $size
		stream_run 1 riostream -T v -T b -I 5 -C 2 -S $size
	done
	stream_run 1 riostream -I 20 -C 1 -S 65536 -T a
	stream_run 1 riostream -I 20 -C 1 -S 65536 -T n
	[ -n "$LONG" ] || return 0
	# Up to 100,000 round trips of one size; under loss many wait for a retransmission.
	[ -n "${1:-}" ] || PAIR_SECONDS=600 stream_run 54 rstream -S all -T v
}

copies() {
	local source=$WORK/source destination=$WORK/destination
	head -c $((copy_bytes - 1)) /dev/urandom >"$source"
	# Its server is on IPv4 only.
	[ "$family" = 4 ] || return 0
	port=$((port + 1))
	cm_serve rcopy -p $port -- rcopy "$source" "$server:$destination" -p $port
	grep "Gb/sec" "$WORK/client.out"
	check "rcopy of $((copy_bytes - 1)) bytes: all are the same" cmp "$source" "$destination"
	rm -f "$source" "$destination"
}

# datagram_run RESULTS UDP|RDMA OPTION...: udpong, whose server never ends.
datagram_run() {
	local results=$1 over=$2 before
	shift 2
	port=$((port + 1))
	before=$(counted rcvd_send_requests)
	cm_serve udpong "$@" -b "$server" -p $port -- udpong "$@" -s "$server" -p $port
	check "and printed $results results" test \
		"$(grep -cE '^([0-9]+k?_(lat|bw)|custom)' "$WORK/client.out")" -eq "$results"
	[ "$over" = UDP ] || check "and over RDMA" test \
		"$(counted rcvd_send_requests)" -gt $((before + 20))
}

# Who waits for an answer asks again after a millisecond, and takes every answer for the one to its
# last question: on a busy machine questions pile up as far as there is room for them.
datagrams() {
	local variant size
	for variant in "-T b" "-T a" "-T n" "-T e" "-T e -T b" "-T e -T a"; do
		# shellcheck disable=SC2086 # words
		datagram_run 1 RDMA -B 8192 -S 900 -C $rounds $variant
	done
	for size in 16 64 999 1500; do
		datagram_run 1 UDP -B 8192 -S $size -C 100 -T e
	done
	datagram_run 1 UDP -B 8192 -S 900 -C 100 -T s
	[ -z "$LONG" ] || datagram_run 18 RDMA -B 8192
}

# over_rdma RUN...: and the bytes went that way.
over_rdma() {
	local before
	before=$(counted rcvd_write_requests)
	"$@"
	check "and over RDMA" test "$(counted rcvd_write_requests)" -gt $((before + 50))
}

# Programs that know nothing of RDMA, and their bytes verified by rstream as it is for TCP.
ordinary_programs() {
	[ -e $preload ] || {
		echo "# no $preload here"
		return
	}
	port=$((port + 1))
	over_rdma cm_run "${preloaded[@]}" iperf3 -s -1 -B "$server" -p $port -- \
		"${preloaded[@]}" iperf3 -c "$server" -p $port -t 1
	set -- rstream -T v -I 50 -C 10 -S 65536
	over_rdma stream_run 1 "${preloaded[@]}" "$@" -T s -T b
	over_rdma stream_run 1 "${preloaded[@]}" "$@" -T s -T a -T n
	over_rdma stream_run 1 "${forking[@]}" "$@" -T f -T b
}

streams "${4:-}"
copies
datagrams
ordinary_programs

topology_finish
