#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rnicctl serve: what it shows, and to whom not: serve.sh TOPOLOGY PORT FAMILY
#
# The page itself is driven in headless Chromium where that is installed (package chromium), with
# more packets in the long variant (tests/run.sh --long=views). RNIC_TEST_PICTURES names a folder
# that keeps its pictures.
. "$(dirname "$0")/../lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
[ -x "$BUILD/libexec/rnic/rnicctl-serve" ] || skip_test "built without -DRNIC_SERVE"
QPS=1000
messages=500 # of four packets
within=1     # seconds for an answer, on a machine that has other work
if [ -n "$LONG" ]; then messages=3000 within=0.2; fi
pictures=${RNIC_TEST_PICTURES:-$WORK/pictures}
mkdir -p "$pictures"

# status CURL-ARGUMENT...: prints the HTTP status; 000 when the connection was closed.
status() { on 0 curl -s -o "$WORK/body" -m 20 -w '%{http_code}' "$@"; }
status_of_nobody() {
	on 0 setpriv --reuid 65534 --regid 65534 --clear-groups \
		curl -s -o /dev/null -m 20 -w '%{http_code}' "$1"
}

# refuses WHAT STATUS CURL-ARGUMENT...
refuses() {
	local what=$1 wanted=$2 got
	shift 2
	got=$(status "$@")
	check "$what is refused ($got)" test "$got" = "$wanted"
	check "and tells nothing" test "$(wc -c <"$WORK/body")" -lt 100
	: >"$WORK/body"
}
serve_start() {
	rm -f "$WORK/url" # of the one before, which the shell in the background empties later
	exec_on 0 "$BIN/rnicctl" serve "$@" >"$WORK/url" 2>"$WORK/serve.log" &
	serve=$!
	own $serve
	wait_for 20 grep -q http "$WORK/url"
	url=$(cat "$WORK/url")
	origin=${url%/*/}
	port=${origin##*:}
}
header() { grep -qiE "^$1" "$WORK/headers"; }
descriptors() { find "/proc/$serve/fd" -mindepth 1 | wc -l; }

# rows KIND EXPRESSION: whether the expression over the rows of the served state is true.
rows() {
	on 0 curl -s -m 20 "${url}state" | python3 -c "
import json, sys
rows = json.load(sys.stdin)['devices'][0].get('$1')
sys.exit(rows is None or not ($2))"
}

# in_seconds MOST TIME
in_seconds() { awk -v most="$1" -v time="$2" 'BEGIN { exit !(time > 0 && time < most) }'; }

# keep_records FOLDER: saves the records of both sides, and what rnicctl explain says of the last
# failure, which must name an entry as the first cause at once.
keep_records() {
	local side
	for side in 0 1; do
		on $side "$BIN/rnicctl" record --socket "${side_socket[$side]}" save \
			"$1/$side.record" || return 1
	done
	on 1 "$BIN/rnicctl" explain --json --socket "${side_socket[1]}" --peer "$1/0.record" \
		--last >"$1/explained" 2>&1
	grep -q '"first_cause":true' "$1/explained"
}

live_record_explains() {
	test "$(status "${url}record/0")" = 200 &&
		on 1 "$BIN/rnicctl" explain --json --socket "${side_socket[1]}" \
			--peer "$WORK/body" --last | grep -q '"first_cause":true'
}

# mistake NAME: two programs, one with this mistake. What keep_records saves stays in $WORK/NAME.
mistake() {
	local folder=$WORK/$1 side roles=(server client) pids=()
	local program=$BUILD/tests/mistaken_program
	mkdir "$folder"
	rm -f "$WORK/meeting"
	for side in 0 1; do
		exec_program $side "$program" "$WORK/meeting" "${roles[side]}" \
			"${side_gid[$side]}" "$1" <"$WORK/hold" {hold}>&- >"$folder/$side" 2>&1 &
		pids[side]=$!
		own $!
		[ $side = 1 ] || wait_for 20 grep -q listens "$folder/0"
	done
	if [ "$1" = link_down ]; then
		wait_for 20 grep -q 'both are connected' "$folder/1"
		on 0 "$BIN/rnicctl" link --socket "${side_socket[0]}" down >/dev/null
	fi
	wait_for 20 grep -q '^done' "$folder/1"
	check "$1 is recorded, and explained" keep_records "$folder"
	[ "$1" != link_down ] || on 0 "$BIN/rnicctl" link --socket "${side_socket[0]}" up >/dev/null
	end_process "${pids[0]}"
	end_process "${pids[1]}"
}

topology_start "$@" --capture "$WORK/side@SIDE.pcapng"
mkfifo "$WORK/hold"
exec_program 0 /usr/bin/python3 "$here/hold_qps.py" $QPS <"$WORK/hold" >"$WORK/holder" 2>&1 &
holder=$!
own $holder
exec {hold}>"$WORK/hold"
# Every twentieth packet, or batch of packets, of the client is lost on the way.
on 0 nft -f - <<-'END'
	table ip loss {
		chain in {
			type filter hook prerouting priority -300
			udp dport 4791 numgen inc mod 20 12 drop
		}
	}
END
check "there is a loss on the way" test $? -eq 0
pair_run ib_send_bw -s 4096 -n $messages
on 0 nft delete table ip loss
wait_for 60 grep -q ready "$WORK/holder"
mistakes=(peer_destroyed region_deregistered link_down wrong_rkey)
for name in "${mistakes[@]}"; do mistake "$name"; done

echo "# what it shows"
serve_start --socket "${side_socket[0]}"
check "the page" test "$(status -D "$WORK/headers" "$url")" = 200
check "is the file" cmp "$WORK/body" "$here/../../../tools/serve/page/index.html"
check "nothing of other places runs in it" header "content-security-policy: default-src 'none'"
check "its address goes nowhere" header "referrer-policy: no-referrer"
check "no page frames it" header "x-frame-options: deny"
check "the state has all queue pairs" rows qps "len(rows) == $QPS"
check "and the program" rows clients "'python3' in rows[0]['program']"
check "the record of the device is as rnicctl explain takes it" live_record_explains
check "HEAD is answered, too" test "$(status -I "$url")" = 200
check "it listens on 127.0.0.1 alone" \
	test "$(on 0 ss -Hltn "sport = :$port" | awk '{ print $4 }')" = "127.0.0.1:$port"

echo "# who gets nothing"
refuses "a wrong token" 404 "$origin/00000000000000000000000000000000/state"
refuses "no token" 404 "$origin/state"
refuses "another name of this host (DNS rebinding)" 403 -H "Host: evil.example:80" "${url}state"
refuses "no name" 403 -H "Host:" "${url}state"
refuses "a request of another page" 403 -H "Origin: http://evil.example" "${url}state"
refuses "and of a page without an origin" 403 -H "Origin: null" "${url}state"
refuses "an image in another page" 403 -H "Sec-Fetch-Site: cross-site" "${url}state"
refuses "POST" 405 -d command=1 "${url}state"
refuses "DELETE" 405 -X DELETE "${url}state"
refuses "a path that climbs" 404 --path-as-is "${url}../../../../etc/passwd"
refuses "and one in disguise" 404 --path-as-is "${url}capture/..%2f..%2fetc%2fpasswd"
refuses "a capture that nobody named" 404 "${url}capture/0"
refuses "the record of a device that is not there" 404 "${url}record/1"
check "another user is refused, with the token" \
	test "$(status_of_nobody "$url")" = 000

echo "# 1,000 connections that say nothing"
on 0 /usr/bin/python3 -c "
import socket, sys
slow = []
for _ in range(1000):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(('127.0.0.1', $port))
    slow.append(one)
print('ready', flush=True)
sys.stdin.read()" <"$WORK/hold" >"$WORK/slow" 2>&1 &
slow=$!
own $slow
wait_for 20 grep -q ready "$WORK/slow"
check "few have a place ($(descriptors) descriptors)" test "$(descriptors)" -lt 64
check "the page comes once they are timed out" wait_for 30 eval 'test "$(status "$url")" = 200'
check "it takes no more than 16 MiB" \
	test "$(resident_kib $serve)" -lt $((16 * 1024 * (${SLOW:-0} * 7 + 1)))
end_process $slow
signal_process TERM $serve
expect_end 10 $serve 0 "rnicctl serve, at SIGTERM" "$WORK/serve.log"

echo "# a daemon that does not answer"
signal_process STOP "${side_pid[1]}"
serve_start --socket "${side_socket[0]}" --socket "${side_socket[1]}"
on 0 curl -s -m 20 -o "$WORK/late" -w '%{time_total}' "${url}state" >"$WORK/late_s" &
late=$!
own $late
check "the page comes while a state is waited for" \
	in_seconds 0.8 "$(on 0 curl -s -m 20 -o /dev/null -w '%{time_total}' "$url")"
wait $late
check "that state comes soon ($(cat "$WORK/late_s") s)" in_seconds 3 "$(cat "$WORK/late_s")"
check "it says which daemon is silent" grep -q 'rnicd has not answered for' "$WORK/late"
taken=$(on 0 curl -s -m 20 -o "$WORK/late" -w '%{time_total}' "${url}state")
check "the next state does not wait ($taken s)" in_seconds 0.8 "$taken"
check "and has the queue pairs of the other device" grep -q '"qps":\[{' "$WORK/late"
refuses "its record" 503 "${url}record/1"
signal_process TERM $serve
expect_end 5 $serve 0 "rnicctl serve, at SIGTERM, with a silent daemon" "$WORK/serve.log"
serve_start --socket "${side_socket[1]}"
signal_process CONT "${side_pid[1]}"
check "a daemon that goes on is shown" wait_for 20 rows qps "len(rows) >= 0"
signal_process TERM $serve
expect_end 10 $serve 0 "rnicctl serve, at SIGTERM" "$WORK/serve.log"

echo "# captures"
serve_start "$WORK/side0.pcapng" "$WORK/side1.pcapng"
check "it serves the files of the command line" test "$(status "${url}capture/1")" = 200
check "whole" cmp "$WORK/body" "$WORK/side1.pcapng"
refuses "another number" 404 "${url}capture/2"
signal_process TERM $serve
expect_end 10 $serve 0 "rnicctl serve, at SIGTERM" "$WORK/serve.log"

if command -v chromium >/dev/null; then
	echo "# in a browser"
	serve_start --socket "${side_socket[0]}" --socket "${side_socket[1]}" \
		"$WORK"/peer_destroyed/?.record
	captures=("$WORK/kept0.pcapng" "$WORK/kept1.pcapng") # without those of the next program
	for side in 0 1; do cp "$WORK/side$side.pcapng" "${captures[side]}"; done
	pair_start ibv_rc_pingpong -s 64 -e -n 100000000
	on 0 /usr/bin/python3 "$here/page_browser.py" "$url" "$pictures" --is-open \
		--peer "${side_address[1]}" --qps $QPS --captures "${captures[@]}" \
		--packets $((messages * 4)) --within $within >"$WORK/browser" 2>&1 &
	browser=$!
	own $browser
	wait_for 90 eval 'has_ended $browser || grep -q "with its rates" "$WORK/browser"'
	end_process $client_pid
	end_process $server_pid
	wait $browser
	check "the page works, by mouse and by keyboard" test $? -eq 0
	cat "$WORK/browser"
	signal_process TERM $serve
	expect_end 10 $serve 0 "rnicctl serve, at SIGTERM" "$WORK/serve.log"
	/usr/bin/python3 "$here/page_browser.py" \
		"file://$(realpath "$here/../../../tools/serve/page/index.html")" "$pictures" \
		--records "${mistakes[@]/#/$WORK/}" \
		--captures "${captures[@]}" \
		--packets $((messages * 4)) --within $within >"$WORK/browser" 2>&1
	check "the same page opens files without a daemon or a server" test $? -eq 0
	# The first cause may be a packet that a slow acknowledgement had sent again.
	grep -qE 'First cause: .* In all: [1-9][0-9]* lost' "$WORK/browser"
	check "packets that got lost are told" test $? -eq 0
	cat "$WORK/browser"
else
	skip_part "the page in a browser: chromium is not installed"
fi
end_process $holder
rm -f "$WORK"/side?.pcapng "$WORK"/kept?.pcapng
topology_finish
