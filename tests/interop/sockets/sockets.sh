#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The distribution's programs over rsockets: sockets.sh TOPOLOGY PORT FAMILY [FAULTS]
. "$(dirname "$0")/../lib.sh"

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
	# How long these take is the machine's affair; sockets_direct counts what riowrite() does.
	stream_run 1 riostream -S 64 -C 1 -I 500
	[ -n "$LONG" ] || return 0
	# Up to 100,000 round trips of one size; under loss many wait for a retransmission.
	[ -n "${1:-}" ] || PAIR_SECONDS=600 stream_run 66 rstream -S all -T v
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

# datagram_run UDP|RDMA OPTION...: udpong, whose server never ends.
datagram_run() {
	local over=$1 before
	shift
	port=$((port + 1))
	before=$(counted rcvd_send_requests)
	cm_serve udpong "$@" -b "$server" -p $port -- udpong "$@" -s "$server" -p $port
	check "and printed a result" grep -q "^custom" "$WORK/client.out"
	[ "$over" = UDP ] || check "and over RDMA" test \
		"$(counted rcvd_send_requests)" -gt $((before + 20))
}

# When an answer takes more than a millisecond, its client repeats the question with the number of
# the answer that it took last, not with its own: on a busy machine it may never get what it waits
# for. That is not ours to judge: it may try again, three times in all.
echo_run() {
	local attempt
	for attempt in 1 2 3; do
		port=$((port + 1))
		cm_start listening udpong -T e "$@" -b "$server" -p $port -- \
			udpong -T e "$@" -s "$server" -p $port
		wait_for 10 has_ended "$client_pid"
		end_process "$client_pid"
		end_process "$server_pid"
		wait "$client_pid" "$server_pid"
		! grep -q "^custom" "$WORK/client.out" || break
	done
	check "udpong -T e $*, try $attempt" grep "^custom" "$WORK/client.out"
}

datagrams() {
	local variant
	for variant in "-T b" "-T a" "-T n"; do
		# shellcheck disable=SC2086 # words
		datagram_run RDMA -S 900 -C 1000 $variant
	done
	datagram_run UDP -S 900 -C 1000 -T s
	# Who loses an answer for good waits for it for good.
	[ -z "${1:-}" ] || return 0
	for variant in "-T b" "-T a" "-T n"; do
		# shellcheck disable=SC2086 # words
		echo_run -S 16 -C 100 $variant
		# shellcheck disable=SC2086 # words
		echo_run -S 1500 -C 100 $variant
	done
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
		"${preloaded[@]}" iperf3 -c "$server" -p $port -n 64M
	set -- rstream -T v -I 50 -C 10 -S 65536
	over_rdma stream_run 1 "${preloaded[@]}" "$@" -T s -T b
	over_rdma stream_run 1 "${preloaded[@]}" "$@" -T s -T a -T n
	over_rdma stream_run 1 "${forking[@]}" "$@" -T f -T b
	port=$((port + 1))
	over_rdma own_client
}

# A thread that connects to its own listener, and accepts only then. Interpreters call accept4(),
# which librspreload does not know; this one calls the functions of the C library by their names.
own_client() {
	check "a client before its accept" rnic 0 timeout 20 "${preloaded[@]}" python3 -c '
import ctypes, socket, struct, sys
c = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    result = getattr(c, name)(*arguments)
    if result < 0:
        sys.exit(f"{name}: errno {ctypes.get_errno()}")
    return result
host, port = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ":" in host else socket.AF_INET
address = struct.pack("=H", family) + struct.pack("!H", port)
address += (bytes(4) if ":" in host else b"") + socket.inet_pton(family, host)
address = address.ljust(28 if ":" in host else 16, bytes(1))
listener = call("socket", family, socket.SOCK_STREAM, 0)
call("bind", listener, address, len(address))
call("listen", listener, 1)
client = call("socket", family, socket.SOCK_STREAM, 0)
call("connect", client, address, len(address))
for _ in range(100):
    call("send", client, b"x", 1, 0)
server = call("accept", listener, None, None)
text = ctypes.create_string_buffer(100)
if call("recv", server, text, 100, socket.MSG_WAITALL) != 100 or text.raw != b"x" * 100:
    sys.exit("other bytes")
for one in client, server, listener:
    call("close", one)' "$server" $port
}

streams "${4:-}"
copies
datagrams "${4:-}"
ordinary_programs

topology_finish
