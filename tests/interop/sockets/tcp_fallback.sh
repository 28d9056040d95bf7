#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# TCP programs under librspreload as clients of servers that know no rsocket: tcp_fallback.sh
# TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

preload=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so
[ -e $preload ] || skip_test "no $preload here"
topology_start "$@"
server=${side_address[0]}
url_host=$server
[ "$3" = 4 ] || url_host="[$server]"
port=$next_port
text="hello from an ordinary server"

# serve COMMAND...: an ordinary TCP server on side 0, which listens on $port. COMMAND names it.
serve() {
	port=$((port + 1))
	exec_on 0 "${@//@PORT/$port}" >"$WORK/tcp.out" 2>&1 &
	tcp_pid=$!
	own $!
	wait_for 10 server_listens_or_ended $tcp_pid $port ||
		fail "$1 listens" "$WORK/tcp.out"
}

unserve() {
	end_process "$tcp_pid"
	wait "$tcp_pid" 2>/dev/null
}

# client PATTERN COMMAND...: under librspreload on side 1. It ends with 0 and prints PATTERN.
client() {
	local pattern=$1 status
	shift
	(exec_program 1 env RDMAV_FORK_SAFE=0 \
		sh -c "LD_PRELOAD=$preload:\$LD_PRELOAD exec timeout 60 \"\$@\"" sh \
		"${@//@PORT/$port}") <"$client_input" >"$WORK/client.out" 2>&1
	status=$?
	if [ $status -eq 0 ] && grep -q -- "$pattern" "$WORK/client.out"; then
		pass "$1 got its answer"
	else
		fail "$1 ends with $status" "$WORK/client.out"
	fi
}

http() {
	mkdir "$WORK/www"
	echo "$text" >"$WORK/www/hello"
	serve python3 -m http.server --bind "$server" --directory "$WORK/www" @PORT
	client "$text" python3 -c "
import urllib.request
print(urllib.request.urlopen('http://$url_host:$port/hello').read().decode())"
	client "$text" curl --silent --show-error "http://$url_host:@PORT/hello"
	unserve
}

netcat() {
	serve sh -c "echo '$text' | nc -N -l $server @PORT"
	client "$text" nc -d "$server" @PORT
	unserve
}

iperf() {
	serve iperf3 -s -B "$server" -p @PORT
	client 'iperf Done' iperf3 -c "$server" -p @PORT -n 1M
	unserve
}

redis() {
	command -v redis-server >/dev/null || {
		skip_part "redis-cli: no redis-server here"
		return
	}
	serve redis-server --bind "$server" --port @PORT --protected-mode no --save '' \
		--dir "$WORK"
	client PONG redis-cli -h "$server" -p @PORT ping
	unserve
}

http
netcat
iperf
redis
topology_finish
