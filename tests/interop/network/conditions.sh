#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Conditions that rnicctl makes while programs run: conditions.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../family/user_programs.sh"
. "$(dirname "$0")/port_events.sh"

topology_start "$@"

ctl() {
	local side=$1 subcommand=$2
	shift 2
	on "$side" "$BIN/rnicctl" "$subcommand" --socket "${side_socket[$side]}" "$@"
}

# refuses WHAT PATTERN COMMAND...: exit status 1, and a line on standard error that matches; the
# next one, if any, names the help.
refuses() {
	local what=$1 pattern=$2 status
	shift 2
	"$@" >"$WORK/refusal.out" 2>"$WORK/refusal"
	status=$?
	if [ $status -eq 1 ] && [ "$(grep -vc "^Try .* --help' " "$WORK/refusal")" -eq 1 ] &&
		grep -Eq -- "$pattern" "$WORK/refusal"; then
		pass "$what: $(head -n 1 "$WORK/refusal")"
	else
		fail "$what: status $status, wanted 1 and one line with \"$pattern\"" \
			"$WORK/refusal"
	fi
}

traffic_runs() {
	holds 1 qps "any(r['sent_packets'] > 1000 for r in rows)"
}

# outage TIMEOUT COMMAND...: a stream of writes meets a link that is down while the command runs.
outage() {
	pair_start ib_write_bw -F -s 4096 -D 4 -u "$1"
	shift
	check "the traffic runs" wait_for 20 traffic_runs
	check "the link goes down" ctl 0 link down
	check "which it says" grep -q "is down: rnicctl link up" <(ctl 0 link)
	check "and the device too" holds 0 device "rows['state'] == 'down'"
	check "$*" "$@"
	check "the link comes up" ctl 0 link up
	check "which it says" grep -q "is up$" <(ctl 0 link)
	pair_wait 60
}

client_has_ended() {
	wait_for 10 has_ended "$client_pid"
}

# A timeout of 2^18 * 4.096 us, seven times, is longer than two seconds; one of 2^10 ends soon.
link_down() {
	watch_start
	outage 18 sleep 2 # the length of the outage is what is tested
	pair_judge "the traffic goes on behind the outage"
	watch_saw_an_outage
	outage 10 client_has_ended
	check "a short timeout ends it" grep -q "Failed status 12" "$WORK/client.out"
	watch_end
}

# A stream of writes, with a timeout that is longer than an outage, goes on while the link flaps.
link_flaps() {
	watch_start
	pair_start ib_write_bw -F -s 4096 -D 3 -u 18
	check "the traffic runs" wait_for 20 traffic_runs
	check "the link flaps" grep -qx \
		"the link is 100 ms down and 200 ms up by turns, until rnicctl link up" \
		<(ctl 0 link flap 100ms/200ms)
	check "three times" wait_for 10 has_outages 3
	check "until it is up" ctl 0 link up
	check "which it says" grep -q "is up$" <(ctl 0 link)
	pair_wait 60
	pair_judge "the traffic goes on"
	watch_end
}

has_outages() {
	[ "$(grep -c "IBV_EVENT_PORT_ERR" "$WORK/watch")" -ge "$1" ]
}

gid_index() {
	query "$1" device \
		"next(g['index'] for g in rows['gids'] if g['gid'] == '${side_address[$1]}')"
}

# The GIDs that nobody uses get other indexes, and those in use keep theirs.
renumbering() {
	local before
	event_program_start
	before=$(gid_index 0)
	check "GIDs are renumbered" ctl 0 link renumber
	check "programs hear of it" has_event "GID table change"
	check "and find another index" test "$(gid_index 0)" -ne "$before"
	event_program_end
	verb_program_start "" "$(gid_index 0)"
	before=$(gid_index 0)
	check "GIDs are renumbered again" ctl 0 link renumber
	check "but what is in use stays" test "$(gid_index 0)" -eq "$before"
	check "and serves" says "0:success in .*" "write 1"
	verb_program_end
}

# event_program_start [UID]: sets event_pid, qpn and client of the program on side 0.
event_program_start() {
	local input
	forget_output event.out
	mkfifo "$WORK/event.in"
	exec {input}<>"$WORK/event.in"
	event_input=$input
	(
		side_user[0]=${1:-}
		exec_program 0 "$BUILD/tests/event_program"
	) <"$WORK/event.in" >"$WORK/event.out" 2>&1 &
	event_pid=$!
	own $!
	wait_for 20 grep -q ready "$WORK/event.out"
	qpn=$(sed -n 's/^ready //p' "$WORK/event.out")
	client=$(query 0 qps "next(r['client'] for r in rows if r['qpn'] == $((qpn)))")
	cq=$client/$(query 0 cqs "next(r['slot'] for r in rows if r['client'] == $client)")
	srqn=$(query 0 srqs "next(r['number'] for r in rows if r['client'] == $client)")
}

event_program_end() {
	echo >&"$event_input"
	expect_end 10 "$event_pid" 0 "the program" "$WORK/event.out"
	rm "$WORK/event.in"
}

has_event() {
	wait_for 5 grep -q "^event $1" "$WORK/event.out"
}

events() {
	event_program_start
	ctl 0 event port-err && check "a port error" has_event "port error"
	ctl 0 event port-active && check "an active port" has_event "port active"
	check "the port itself is as before" holds 0 device "rows['state'] == 'active'"
	ctl 0 event gid-change && check "a change of GIDs" has_event "GID table change"
	ctl 0 event device-fatal && check "a fatal error" has_event "local catastrophic error"
	ctl 0 event srq-err "$srqn" && check "an error of an SRQ" has_event "SRQ catastrophic error"
	check "a queue pair is brought into error" ctl 0 qp error "$qpn"
	check "what was posted is flushed" \
		wait_for 5 grep -q "^completion Work Request Flushed Error" "$WORK/event.out"
	check "and no event comes" test "$(grep -c "^event.*QP" "$WORK/event.out")" -eq 0
	check "rnicctl says why" holds 0 qps "any('was ordered' in r['last_error'] for r in rows)"
	ctl 0 event qp-fatal "$qpn" && check "an error of a queue pair" \
		has_event "local work queue catastrophic error"
	ctl 0 event cq-err "$cq" && check "an error of a CQ" has_event "CQ error"
	check "which is in error" holds 0 cqs "all(r['overrun'] for r in rows)"
	refuses "a CQ that is in error" "is in error already" ctl 0 event cq-err "$cq"
	event_program_end
}

bad_input() {
	refuses "no word" "a word is missing" ctl 0 event
	refuses "another word" "\"port-error\" is not one of port-err, port-active" \
		ctl 0 event port-error
	refuses "no number" "qp-fatal of which queue pair" ctl 0 event qp-fatal
	refuses "no number at all" "\"x\" is not the QPN of rnicctl show qps" ctl 0 qp error x
	refuses "a number too large" "is not the QPN" ctl 0 qp error 0x100000000
	refuses "an unknown queue pair" "no program has it" ctl 0 qp error 0x812345
	refuses "an unknown CQ" "you may see .* has a completion queue 7; " ctl 0 event cq-err 7
	refuses "an unknown client" "no program has it" ctl 0 event cq-err 999999/1
	refuses "an unknown SRQ" "a shared receive queue 0x77; " ctl 0 event srq-err 0x77
	refuses "no times" "flap of which times" ctl 0 link flap
	refuses "times that are none" "line 1, column 7, at '10': expected a time such as 10ms" \
		ctl 0 link flap 100ms/10
	refuses "times that are too short" "no faster than in 10 ms" ctl 0 link flap 1ms
	refuses "another device" "this daemon has the device rnic0 at .*, not eth9" \
		ctl 0 link down eth9
	check "the device by its name" ctl 0 link up rnic0
	refuses "a rule that is none" "line 1, column 9, at 'loss=1%': expected drop, duplicate" \
		ctl 0 fault add drop=1%,loss=1%
	refuses "an opcode that is none" "line 1, column 6, at 'rc-x': expected an opcode" \
		ctl 0 fault add drop@rc-x
	refuses "a rule that is too long" "longer than 1023 characters" \
		ctl 0 fault add "$(printf 'drop,%.0s' {1..300})"
	refuses "too many rules" "line 1, column 321, .*expected no further rule" \
		ctl 0 fault add "$(printf 'drop,%.0s' {1..70})drop"
	refuses "no rule's number" "\"x\" is not the number of a rule" ctl 0 fault del x
	refuses "an unknown rule" "there is no rule 77" ctl 0 fault del 77
	refuses "another word" "\"remove\" is not one of add, list" ctl 0 fault remove 1
	refuses "no daemon" "start rnicd" "$BIN/rnicctl" link down --socket "$WORK/nobody.sock"
}

pingpong() {
	pair_run ibv_rc_pingpong -n 400 -s 2048
}

# hits RULE EXPRESSION: of the rule's row in rnicctl fault list.
hits() {
	wait_for 5 listed "$1" "$2"
}

listed() {
	ctl 0 fault list --json | python3 -c "
import json, sys
rows = {row['rule']: row for row in json.load(sys.stdin)['faults']}
hits = rows[$1]['hits']
sys.exit(not ($2))"
}

faults() {
	check "a rule is loaded" grep -qx "rule 1" \
		<(ctl 0 fault add "drop@rc-send/pattern=ok ok fail")
	check "and three" grep -qx "rules 2 to 4" \
		<(ctl 0 fault add drop=2%,rx:duplicate=2%,delay=1ms/first=5,seed=7)
	check "a rule that matches nothing" grep -qx "rule 5" <(ctl 0 fault add drop/qpn=0x7fffff)
	pingpong
	check "the first acted once" hits 1 "hits == 1"
	check "those of chance" hits 2 "hits > 0"
	check "those of what comes" hits 3 "hits > 0"
	check "those of the first five packets" hits 4 "hits >= 5"
	check "and the other one not" hits 5 "hits == 0"
	check "the counters have them" holds 0 counters "rows['fault drop=2%'] > 0"
	check "one is unloaded" ctl 0 fault del 2
	refuses "which is gone" "there is no rule 2" ctl 0 fault del 2
	check "all are unloaded" ctl 0 fault clear
	check "none is left" grep -qx "no faults" <(ctl 0 fault list)
	pingpong
}

# killed STATUS VENDOR_ERR: the program on side 0 is killed under a stream of writes, and its peer
# ends with this status.
killed() {
	pair_start ib_write_bw -F -s 4096 -D 20 -u 12
	check "the traffic runs" wait_for 20 traffic_runs
	kill -KILL "$server_pid"
	check "a killed program ends the traffic" client_has_ended
	check "with status $1, $2" \
		grep -Eq "Failed status $1: .* syndrom $2" "$WORK/client.out"
}

# What goes first of a program that is killed: queue pairs, also without a rule.
queue_pairs_first() {
	ctl 0 fault add end=queue-pairs-first/program=ib_write_bw >/dev/null
	killed 12 0x81
	check "and nothing is left" wait_for 5 is_empty 0
	ctl 0 fault clear
}

# Or memory: the queue pairs stay for a while, and refuse what comes.
memory_first() {
	add_rule end=memory-first/program=ib_write_bw/hold=4s
	killed 10 0x88
	check "the hit is listed" hits "$rule" "hits == 1"
	check "the program is still listed" holds 0 clients \
		"[r['program'] for r in rows] == ['ib_write_bw']"
	check "with what holds its queue pair" holds 0 qps \
		"any('its program has gone' in r['waiting_for'] for r in rows)"
	check "for so long" wait_for 5 is_empty 0
	ctl 0 fault clear
}

# A rule reaches a program in a device process alone.
rules_and_direct() {
	event_program_start
	refuses "a rule with a program that it does not reach" "do: pid $event_pid$" \
		ctl 0 fault add drop=1%
	refuses "memory does not go first there" "do: pid $event_pid$" \
		ctl 0 fault add end=memory-first
	check "but a rule for the connection manager's packets, which rnicd sends" \
		ctl 0 fault add drop/qpn=1
	event_program_end
	wait_for 10 is_empty 0
	check "which keeps no program away" rnic 0 "$BUILD/tests/event_program" </dev/null
	ctl 0 fault clear
	check "a rule with none" ctl 0 fault add drop=1%
	refuses "a program with a rule" "rules of faults do not reach .* rnicctl fault clear" \
		rnic 0 "$BUILD/tests/event_program"
	ctl 0 fault clear
	check "memory first with none" ctl 0 fault add end=memory-first
	refuses "is a rule, too" "rules of faults do not reach .* rnicctl fault clear" \
		rnic 0 "$BUILD/tests/event_program"
	ctl 0 fault clear
}

# as_b SUBCOMMAND WORD...: rnicctl of another user
as_b() {
	local subcommand=$1
	shift
	as $user_b "$BIN/rnicctl" "$subcommand" --socket "${side_socket[0]}" "$@"
}

# others_may_not OWNER: what another user may do neither to the device nor to this user's program.
others_may_not() {
	local word
	for word in "link down" "link flap 1s" "link renumber" "event port-err" \
		"event port-active" "event gid-change" "event device-fatal"; do
		# shellcheck disable=SC2086 # words
		refuses "$word by a user" "all users: root may do it, user $user_b may not" \
			as_b $word
	done
	for word in "qp error $qpn" "event qp-fatal $qpn" "event cq-err $cq"; do
		# shellcheck disable=SC2086 # words
		refuses "$word of another user" "belongs to user $1: .* $user_b may not" as_b $word
	done
	refuses "the SRQ of another user" "$srqn; one of another user is for that user and root" \
		as_b event srq-err "$srqn"
	refuses "a rule for another user's program" "it belongs to user $1" \
		as_b fault add "fail=EIO/pid=$event_pid"
	check "how the link is, by any user" grep -q "is up$" <(as_b link)
}

# The programs of another user need a daemon of root, where each user has a device process.
rights() {
	event_program_start $user_a
	others_may_not $user_a
	check "the own queue pair" as $user_a "$BIN/rnicctl" qp error "$qpn" \
		--socket "${side_socket[0]}"
	check "is in error" holds 0 qps "any(r['state'] == 'ERR' for r in rows)"
	event_program_end
	user_rules
}

# A program with the device inside is of the daemon's user. Rules of another user do not reach it,
# so that they need not be refused, nor does it.
rights_and_direct() {
	event_program_start
	others_may_not 0
	check "no event has come" test "$(grep -c "^event" "$WORK/event.out")" -eq 0
	check "rules of another user" as_b fault add drop,end=memory-first,fail=EIO@alloc_pd
	verb_program_start
	check "do not reach a program of root" says "alloc_pd ok" alloc_pd
	check "nor its packets" says "0:success in .*" "write 1"
	verb_program_end
	event_program_end
	ctl 0 fault clear
}

# A user's rule concerns the user's own packets.
user_rules() {
	local rnicctl=("$BIN/rnicctl" fault --socket "${side_socket[0]}")
	check "a user's rule" as $user_a "${rnicctl[@]}" add drop
	check "is not for another user to see" grep -qx "no faults" \
		<(as $user_b "${rnicctl[@]}" list)
	check "but for root" grep -q " own .* drop$" <(ctl 0 fault list)
	check "and root's programs go on" pingpong
	rule=$(ctl 0 fault list --json | python3 -c \
		"import json, sys; print(json.load(sys.stdin)['faults'][0]['rule'])")
	refuses "another user may not unload it" "the rule is not yours: root may do it" \
		as $user_b "${rnicctl[@]}" del "$rule"
	refuses "a user has eight rules at most" "there may be 8 rules" \
		as $user_a "${rnicctl[@]}" add drop,drop,drop,drop,drop,drop,drop,drop
	check "root has one" ctl 0 fault add drop=1%
	check "a user's rule for calls" as $user_a "${rnicctl[@]}" add fail=EIO@alloc_pd/nth=2
	verb_program_start $user_a
	check "is for the user's programs" says "alloc_pd Input/output error" alloc_pd
	refuses "and for nobody else's" "it belongs to user $user_a" \
		as $user_b "${rnicctl[@]}" add "fail=EIO/pid=$verb_pid"
	verb_program_end
	verb_program_start $user_b
	check "whose go on" says "alloc_pd ok" alloc_pd
	verb_program_end
	check "a user unloads the own ones" as $user_a "${rnicctl[@]}" clear
	check "and not root's" grep -q " all .* drop=1%$" <(as $user_a "${rnicctl[@]}" list)
	ctl 0 fault clear
}

# verb_program_start [UID [GID_INDEX]]: sets verb_pid of the program on side 0.
verb_program_start() {
	local input
	forget_output verb.out
	mkfifo "$WORK/verb.in"
	exec {input}<>"$WORK/verb.in"
	verb_input=$input
	(
		side_user[0]=${1:-}
		exec_program 0 "$BUILD/tests/verb_program" "${2:-${side_gid[0]}}"
	) <"$WORK/verb.in" >"$WORK/verb.out" 2>&1 &
	verb_pid=$!
	own $!
	wait_for 20 grep -q ready "$WORK/verb.out"
}

verb_program_end() {
	exec {verb_input}>&-
	end_process "$verb_pid"
	rm "$WORK/verb.in"
}

# says PATTERN LINE...: the program answers the lines, and the last answer matches.
says() {
	local pattern=$1 before line
	shift
	before=$(wc -l <"$WORK/verb.out")
	for line in "$@"; do
		echo "$line" >&"$verb_input"
	done
	wait_for 20 has_lines $((before + $#)) && tail -n 1 "$WORK/verb.out" | grep -Eqx "$pattern"
}

has_lines() {
	[ "$(wc -l <"$WORK/verb.out")" -ge "$1" ]
}

# Rules for calls reach a program that runs, on both paths. It gets an errno as from a kernel.
call_rules() {
	local call
	verb_program_start
	check "no rule" says "reg_mr ok" reg_mr
	check "a registration that fails at the third call" \
		ctl 0 fault add fail=ENOMEM@reg_mr/nth=3
	check "not the second" says "reg_mr ok" reg_mr reg_mr
	check "but the third" says "reg_mr Cannot allocate memory" reg_mr
	check "and not the fourth" says "reg_mr ok" reg_mr
	ctl 0 fault clear
	for call in alloc_pd create_cq create_qp modify_qp create_srq post_recv post_send; do
		ctl 0 fault add "fail=EIO@$call/count=1" >"$WORK/rule"
		check "$call fails" says "$call Input/output error" $call
		check "once" says "$call ok" $call
		check "the hit is listed" hits "$(sed 's/rule //' "$WORK/rule")" "hits == 1"
	done
	ctl 0 fault clear
	ctl 0 fault add "fail=12@create/pattern=ok fail" >/dev/null
	ctl 0 fault add "fail=EAGAIN@alloc_pd/program=other" >/dev/null
	check "a pattern" says "create_qp Cannot allocate memory" create_cq create_qp
	check "the rule of another program" says "alloc_pd ok" alloc_pd
	ctl 0 fault clear
	ctl 0 fault add "fail=EBUSY@alloc_pd/pid=$verb_pid" >/dev/null
	check "the rule of this one" says "alloc_pd Device or resource busy" alloc_pd
	ctl 0 fault clear
	check "no rule any more" says "alloc_pd ok" alloc_pd
	verb_program_end
}

# add_rule RULE: loads it, and keeps its number in `rule`.
add_rule() {
	rule=$(ctl 0 fault add "$1" | sed 's/rule //')
}

# Rules for completions, of two queue pairs whose writes complete by turns.
completion_rules() {
	local qpn
	verb_program_start
	qpn=$(sed -n 's/^ready \(0x[0-9a-f]*\) .*/\1/p' "$WORK/verb.out")
	check "no rule" says "0:success 1:success in [0-9][0-9]? ms" "write 2"
	add_rule "cq:status=RETRY_EXC_ERR@rdma-write/qpn=$qpn/nth=2"
	check "a status" says \
		"0:success 1:success 2:transport retry counter exceeded 3:success in .*" "write 4"
	check "and no other one" says "0:success 1:success 2:success 3:success in .*" "write 4"
	check "the hit is listed" hits "$rule" "hits == 1"
	ctl 0 fault clear
	add_rule "cq:delay=150ms@rdma-write/first=2"
	check "two that are late" says "0:success 1:success 2:success in (29[0-9]|[3-9]..) ms" \
		"write 3"
	check "are two hits" hits "$rule" "hits == 2"
	ctl 0 fault clear
	ctl 0 fault add "cq:delay=60s" >/dev/null
	echo "write 1" >&"$verb_input"
	check "a rule that is unloaded holds nothing back" ctl 0 fault clear
	check "so that the program goes on" says "0:success 1:success in .*" "write 2"
	add_rule "cq:reorder/every=2"
	check "the order of two queue pairs" says "0:success 2:success 1:success 3:success in .*" \
		"write 4"
	ctl 0 fault clear
	check "is as before" says "0:success 1:success 2:success in .*" "write 3"
	add_rule "cq:occupy=14@rdma-write"
	check "places that stay occupied" says "0:success 1:success in .*" "write 2"
	check "are in use behind the poll" holds 0 cqs "any(r['used'] == 2 for r in rows)"
	ctl 0 fault clear
	verb_program_end
}

# Packet rules of the legal but nasty kind: all of them cost time alone.
nasty() {
	check "answers of a receiver that is not ready" ctl 0 fault add rnr/first=20
	pingpong
	check "are counted as such" holds 1 counters "rows['rcvd_rnr_err'] >= 10"
	ctl 0 fault clear
	check "acknowledgements that are late" ctl 0 fault add delay=3ms@rc-acknowledge/first=10
	pingpong
	ctl 0 fault clear
	add_rule drop/longer=600
	check "a path with a small MTU takes short packets" \
		pair_run ibv_rc_pingpong -n 20 -s 512
	pair_start ibv_rc_pingpong -n 20 -s 2048 -m 1024
	check "and none that are longer" wait_for 10 has_given_up
	check "which are hits" hits "$rule" "hits > 2"
	end_process "$client_pid"
	end_process "$server_pid"
	ctl 0 fault clear
}

has_given_up() {
	grep -hq "transport retry counter exceeded" "$WORK/client.out" "$WORK/server.out"
}

bad_input
events
link_down
# --direct needs a daemon of the program's own user.
if [ -n "${RNIC_TEST_DIRECT:-}" ]; then
	rules_and_direct
	rights=rights_and_direct
else
	faults
	nasty
	memory_first
	rights=rights
fi
if [ "$(id -u)" -eq 0 ]; then $rights; else skip_part "programs of two users need root"; fi
queue_pairs_first
call_rules
completion_rules
link_flaps
renumbering
topology_finish
