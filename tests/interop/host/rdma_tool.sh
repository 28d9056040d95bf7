#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `rdma` of iproute2, unmodified: what it shows of devices, objects of running programs, and
# counters is what rnicctl shows; what would change a device is refused; a user sees the own objects
# alone.
#
#   rdma_tool.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

command -v rdma >/dev/null || skip_test "there is no rdma of iproute2"
topology_start "$@"
here=$(cd "$(dirname "$0")" && pwd)
stranger=31007

# rdma_json ARGUMENT...: what rdma prints on side 0.
rdma_json() {
	rnic 0 rdma "$@" -j >"$WORK/rdma.json" 2>"$WORK/rdma.err"
}

# agrees KIND EXPRESSION ARGUMENT...: the expression over `rdma`, what rdma prints, and `rows`, what
# rnicctl prints of KIND, is true.
agrees() {
	local kind=$1 expression=$2
	shift 2
	rdma_json "$@" || { cat "$WORK/rdma.err"; return 1; }
	control 0 --json "$kind" >"$WORK/rows.json"
	python3 - "$WORK/rdma.json" "$WORK/rows.json" "$kind" "$expression" <<-'END'
		import json, sys
		rdma = json.load(open(sys.argv[1]))
		rows = json.load(open(sys.argv[2]))[sys.argv[3]]
		def number(text):
		    return int(str(text), 0)
		if not eval(f"({sys.argv[4]})"):
		    sys.exit(f"{sys.argv[4]}: {rdma} {rows}")
	END
}

fails() {
	! "$@"
}

# whole_line LINE FILE
whole_line() {
	grep -qx -- "$1" "$2" || { cat "$2"; return 1; }
}

programs_are_connected() {
	[ "$(query 0 qps "sum(r['state'] == 'RTS' for r in rows)")" -ge "$1" ]
}

echo "# the device"
check "rdma dev" agrees device "[(d['ifname'], d['node_type'], d['fw'],
	number('0x' + d['node_guid'].replace(':', ''))) for d in rdma] ==
	[(rows['name'], 'ca', rows['firmware'], number(rows['node_guid']))]" dev
check "rdma link show" agrees device "[(l['ifname'], l['port'], l['netdev'], l['state'].lower(),
	l['physical_state']) for l in rdma] ==
	[(rows['name'], 1, rows['netdev'], rows['state'], 'LINK_UP')]" link show
check "rdma link show of the device" agrees device "len(rdma) == 1" link show rnic0/1
if rnic 0 --ns true >"$WORK/ns" 2>&1; then
	rnic 0 --ns rdma dev >"$WORK/ns" 2>&1
	check "rdma dev with --ns" grep -q ' rnic0: ' "$WORK/ns"
else
	skip_part "--ns; $(tail -n 1 "$WORK/ns")"
fi
ln -s "${side_socket[0]}" "$WORK/alone.sock"
on 0 "$BIN/rnic-run" --no-daemon --socket "$WORK/alone.sock" rdma dev >"$WORK/alone" 2>&1
check "rdma dev where the view is not shared" grep -q ' rnic0: ' "$WORK/alone"
check "no other device" fails rdma_json link show rnic9/1
check "no queue pairs" agrees qps "rdma == [] and rows == []" resource show qp
rnic 0 rdma resource show >"$WORK/summary" 2>&1
check "the summary is in the kernel's order" grep -qE \
	"pd [0-9]+ cq [0-9]+ qp [0-9]+ cm_id [0-9]+ mr [0-9]+ ctx [0-9]+ srq [0-9]+" "$WORK/summary"

echo "# programs"
pids=()
server=() # the side that waits names none
for side in 0 1; do
	exec_program $side ibv_rc_pingpong -g "${side_gid[$side]}" -p $next_port -n 100000000 \
		"${server[@]}" >"$WORK/program$side" 2>&1 &
	pids+=($!)
	own $!
	[ $side = 1 ] || wait_for 20 server_listens_or_ended $! $next_port
	server=("$server_address")
done
exec_program 0 rping -s -p $((next_port + 1)) -a "${side_address[0]}" >"$WORK/rping" 2>&1 &
own $!
wait_for 20 cm_is_ready
for program in "ibv_srq_pingpong -q 20" ibv_xsrq_pingpong; do
	next_port=$((next_port + 2))
	# shellcheck disable=SC2086
	exec_program 0 $program -g "${side_gid[0]}" -p $next_port >"$WORK/srq" 2>&1 &
	own $!
	wait_for 20 is_listening 0 $next_port
done
count=$([ "$1" = one ] && echo 2 || echo 1)
check "they run" wait_for 20 programs_are_connected "$count"
# Their objects stay, and the machine is left to the rest of the test.
signal_process STOP "${pids[@]}"
check "resource show qp" agrees qps "len(rows) > 0 and
	sorted((q['lqpn'], q.get('rqpn', 0), q['type'], q['state']) for q in rdma) ==
	sorted((number(r['qpn']), number(r['peer_qpn']), r['type'], r['state']) for r in rows)" \
	resource show qp
check "with its process" agrees clients "{q['pid'] for q in rdma} ==
	{r['pid'] for r in rows if r['qps'] > 0} and
	'ibv_rc_pingpong' in {q['comm'] for q in rdma}" resource show qp
check "resource show cq" agrees cqs "len(rows) > 0 and
	sorted((c['ctxn'], c['cqe'], c['users']) for c in rdma) ==
	sorted((r['client'], r['entries'], r['users']) for r in rows)" resource show cq
# iproute2 6.1 prints the lower half of an address.
check "resource show mr" agrees mrs "len(rows) > 0 and
	sorted((int(m['lkey'], 16), int(m['rkey'], 16), m['mrlen'], int(m['iova'], 16) % 2**32)
	for m in rdma) == sorted((number(r['lkey']), number(r['rkey']), r['length'],
	number(r['iova']) % 2**32) for r in rows)" resource show mr
check "resource show srq" agrees srqs "len(rows) == 2 and
	sorted((s['srqn'], s['type']) for s in rdma) ==
	sorted((number(r['number']), 'XRC' if r['xrc'] else 'BASIC') for r in rows) and
	{r['xrc'] for r in rows} == {0, 1}" resource show srq
check "resource show pd" agrees pds "len(rows) > 1 and
	sorted((p['ctxn'], p['users']) for p in rdma) ==
	sorted((r['client'], r['users']) for r in rows)" resource show pd
check "resource show cm_id" agrees cm "[(c['state'], c['ps'], c['src-addr'].rsplit(':', 1)[0])
	for c in rdma] == [('LISTEN', r['port_space'], r['local_gid']) for r in rows] and
	len(rows) == 1" resource show cm_id
check "resource" agrees device "all(rdma[0][k] == rows[k + 's'] for k in ('qp', 'cq', 'mr', 'pd'))
	and rdma[0]['cm_id'] == 1" resource
check "one queue pair" agrees qps "len(rdma) == 1" resource show qp lqpn \
	"$(query 0 qps "int(str(rows[0]['qpn']), 0)")"
check "statistic" agrees counters "rdma[0]['sent_pkts'] > 0 and
	{n: 0 for r in rdma for n in r if n not in ('ifname', 'port')}.keys() > rows.keys()" \
	statistic
check "statistic by the names of mlx5" agrees counters "all(
	next(r[theirs] for r in rdma if theirs in r) == rows[own] for theirs, own in {
	'packet_seq_err': 'rcvd_seq_err', 'np_cnp_sent': 'cnps_sent',
	'rx_read_requests': 'rcvd_read_requests'}.items())" statistic
# More than one page of rows.
mkfifo "$WORK/hold"
exec_program 0 "$here/hold_qps.py" 40 <"$WORK/hold" >"$WORK/held" 2>&1 &
own $!
exec {hold}>"$WORK/hold"
wait_for 10 grep -q ready "$WORK/held" || fail "a program with 40 queue pairs" "$WORK/held"
rnic 0 "$here/rdma_socket.py" "$(query 0 qps "len(rows)")" >"$WORK/socket" 2>&1
check "a program's socket" whole_line 'all right' "$WORK/socket"
exec {hold}>&-

# rnic_both COMMAND...: a program that has the devices of both sides.
rnic_both() {
	on 0 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" \
		--socket "${side_socket[1]}" "$@"
}

# Names as libibverbs has them, and the queue pairs of each device alone.
two_devices() {
	rnic_both rdma dev -j >"$WORK/devices.json"
	rnic_both ibv_devices | awk 'NR > 2 { print $1 }' >"$WORK/devices"
	rnic_both rdma resource show qp link rnic1/1 -j >"$WORK/qps.json"
	control 1 --json qps >"$WORK/rows.json"
	python3 - "$WORK" <<-'END'
		import json, sys
		devices, qps, rows = (json.load(open(f"{sys.argv[1]}/{name}.json"))
		                      for name in ("devices", "qps", "rows"))
		names = [(device["ifindex"], device["ifname"]) for device in devices]
		verbs = open(f"{sys.argv[1]}/devices").read().split()
		seen = sorted(qp["lqpn"] for qp in qps)
		shown = sorted(int(str(row["qpn"]), 0) for row in rows["qps"])
		if names != list(enumerate(verbs)) or len(names) != 2 or seen != shown or not seen:
		    sys.exit(f"{names} {verbs} {seen} {shown}")
	END
}

case $1 in
pair) check "two devices of one program" two_devices ;;
esac

echo "# what is refused"
for words in "link add new0 type rxe netdev lo" "dev set rnic0 name other" \
	"system set netns exclusive"; do
	# shellcheck disable=SC2086 # words
	check "rdma $words" fails rnic 0 rdma $words
	# shellcheck disable=SC2086
	check "with a reason" grep -q "rnic-run.*: see rnic" <(rnic 0 rdma $words 2>&1)
done

echo "# what is true of all devices"
rnic 0 rdma system >"$WORK/system" 2>&1
check "rdma system" grep -qE '^netns shared .*copy-on-fork on *$' "$WORK/system"

RNIC_DISABLE=1 rnic 0 rdma dev >"$WORK/disabled" 2>&1
check "RNIC_DISABLE=1 shows no device" fails grep -q rnic0 "$WORK/disabled"
if [ "$(id -u)" -eq 0 ] && setpriv --reuid $stranger --regid $stranger --clear-groups \
	test -x "$BIN/rnic-run"; then
	rnic 0 setpriv --reuid $stranger --regid $stranger --clear-groups \
		rdma resource show qp -j >"$WORK/stranger" 2>"$WORK/stranger.err"
	check "another user sees no queue pair" test "$(tr -d '\n ' <"$WORK/stranger")" = "[]"
else
	skip_part "what another user sees, which needs root"
fi
signal_process CONT "${pids[@]}"
for process in "${processes[@]}"; do
	case " ${side_pid[*]} " in *" $process "*) ;; *) end_process "$process" ;; esac
done
echo "# news"
exec_program 0 "$here/rdma_news.py" 3 >"$WORK/news" 2>&1 &
news=$!
own $news
check "a program waits for news" wait_for 20 grep -qx ready "$WORK/news"
netdev=$(query 0 device "rows['netdev']")
end_process "${side_pid[0]}"
wait "${side_pid[0]}"
check "the device goes" wait_for 5 grep -qx $'\\[UNREGISTER]\tdev 0 rnic0' "$WORK/news"
daemon_restart 0
check "the device comes" wait_for 5 grep -qx $'\\[REGISTER]\tdev 0 rnic0' "$WORK/news"
check "and has its interface" wait_for 5 grep -qx \
	$'\\[NETDEV_ATTACH]\tdev 0 rnic0 port 1 netdev '"[0-9]* $netdev" "$WORK/news"
wait $news
check "that is all" test $? = 0
topology_finish
