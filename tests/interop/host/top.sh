#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rnicctl top on a terminal, which tmux plays, and as a table: top.sh
. "$(dirname "$0")/../lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
command -v tmux >/dev/null || skip_test "tmux is not installed"
# Without the variable the programs of another tmux would see its server.
unset TMUX
QPS=1000

in_tmux() { tmux -f /dev/null -S "$WORK/tmux" "$@"; }
screen() { in_tmux capture-pane -p; }
sees() { screen | grep -qE -- "$1"; }
sees_not() { ! sees "$1"; }
press() { in_tmux send-keys "$@"; }
table() { "$BIN/rnicctl" top --socket "${side_socket[0]}" --once --interval 0.3 "$@"; }
fails() { ! "$@"; }

# top_pid: prints the process of rnicctl in the terminal, or fails.
top_pid() { pgrep -f "rnicctl top --socket ${side_socket[0]}"; }

# settings: of the terminal, and what is on its screen: what top has to leave as it was.
settings() {
	stty -a -F "$(in_tmux display-message -p '#{pane_tty}')"
	in_tmux display-message -p 'other screen #{alternate_on}, cursor #{cursor_flag}'
}

as_before() {
	settings >"$WORK/after"
	cmp "$WORK/before" "$WORK/after"
}

show_top() {
	press "$BIN/rnicctl top --socket ${side_socket[0]} $*" Enter
	wait_for 20 sees 'q quit'
}

# leaves_terminal HOW COMMAND...: after the command, top has ended and the terminal is as before.
leaves_terminal() {
	local how=$1
	shift
	"$@"
	check "$how ends top" wait_for 10 fails top_pid
	wait_for 10 as_before
	check "$how leaves the terminal as it was" diff "$WORK/before" "$WORK/after"
	press clear Enter
}

# marked, first_line: the queue pair of the marked line, and of the first one.
marked() { in_tmux capture-pane -p -e | grep -oP '\x1b\[7m\K0x[0-9a-f]+'; }
first_line() { screen | grep -oE -m 1 '^0x[0-9a-f]+'; }

path_has_limit() {
	table paths >"$WORK/paths"
	grep -qE "^${side_address[0]} .* (program|window|pace|peer|loss|host) .*ib_send_bw" \
		"$WORK/paths"
}

test_seconds() { [ $((SECONDS - begun)) -ge "$1" ]; }

# cpu_ticks PID: hundredths of a second that the process has had.
cpu_ticks() {
	awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"
}

topology_start one uring 4 --fault drop=1%,seed=7
mkfifo "$WORK/hold"
exec_program 0 /usr/bin/python3 "$here/hold_qps.py" $QPS <"$WORK/hold" >"$WORK/holder" 2>&1 &
holder=$!
own $holder
exec {hold}>"$WORK/hold"
wait_for 60 grep -q ready "$WORK/holder"

echo "# a terminal"
in_tmux new-session -d -x 120 -y 20 env -u RNIC_SOCKET bash --norc
in_tmux set-option -g status off
check "the shell prompts" wait_for 10 sees '[$#] ?$'
settings >"$WORK/before"
show_top qps
check "it shows all queue pairs" sees "queue pairs $QPS"
check "with their state" sees '^0x[0-9a-f]{6} +RC +RESET'
press 1
check "the key 1 shows the clients" wait_for 10 sees '^ +[0-9]+ .* python3'
press Tab Tab Tab
check "Tab goes on to the faults" wait_for 10 sees 'drop=1%'
press 2 r
check "r reverses the order" wait_for 10 sees 'TX MBIT/S\^'
press '<'
check "< sorts by the column to the left" wait_for 10 sees 'PEER QPN\^'
press '?'
check "? explains the keys" wait_for 10 sees 'reverse the order'
press '?'
in_tmux resize-window -x 70 -y 12
check "a smaller terminal has the foot in its last line" \
	wait_for 10 eval "screen | sed -n 12p | grep -q 'q quit'"
check "and no line is longer" test "$(screen | wc -L)" -le 70

echo "# a terminal of 40 columns and 10 rows"
in_tmux resize-window -x 40 -y 10
press '?'
check "? explains all keys" wait_for 10 sees 'q, Ctrl-C'
press '?'
check "the foot says how to quit" wait_for 10 eval "screen | sed -n 10p | grep -q 'q quit'"
columns=("TX MBIT/S" "RX MBIT/S" DONE/S "IN FLIGHT" SENDS RECVS RESENT TIMEOUTS RNR PROGRAM QPN
	TYPE STATE PEER "PEER QPN")
for column in "${columns[@]}"; do
	press '>'
	wait_for 5 sees "(^| )${column}\^" || fail "the column $column is there, and sorts"
done
check "each column can be seen and sorted by" sees '^QPN.* PEER QPN\^'
press 5
check "the view's name is there" wait_for 10 sees '\[5 troubles\]'
press 2 Down Down
check "the down arrow marks another line" wait_for 10 eval 'test "$(marked)" != "$(first_line)"'
kept=$(marked)
press '>' '>' '>' '>' '>' '>' '>' '>' '>' '>' r
check "the mark stays on its line when the order changes" wait_for 10 eval \
	'sees "^QPN\\^" && test "$(marked)" = "$kept"'
in_tmux resize-window -x 120 -y 20
press End
check "End marks the last line" wait_for 10 sees '^0x'
pid=$(top_pid)
before=$(cpu_ticks "$pid")
begun=$SECONDS
wait_for 10 test_seconds 6
used=$(($(cpu_ticks "$pid") - before))
echo "# $used hundredths of a second in $((SECONDS - begun)) seconds, with $QPS queue pairs"
[ -n "$SLOW" ] || check "it takes at most 1 % of a core" test $used -le $((SECONDS - begun))
leaves_terminal q press q
show_top
leaves_terminal SIGTERM eval 'kill -TERM $(top_pid)'
show_top
leaves_terminal Ctrl-C press C-c
show_top
press C-z
check "Ctrl-Z gives the terminal back" wait_for 10 sees Stopped
press fg Enter
check "and fg shows the picture again" wait_for 10 sees 'q quit'
leaves_terminal q press q

echo "# a daemon that does not answer"
show_top
signal_process STOP "${side_pid[0]}"
check "top says so" wait_for 10 sees 'no answer of the daemon'
press q
check "and its keys work" wait_for 3 fails top_pid
signal_process CONT "${side_pid[0]}"
press clear Enter

echo "# traffic"
pair_start ib_send_bw -D 6
wait_for 20 holds 0 qps "any(row['sent_packets'] > 1000 for row in rows)"
table qps >"$WORK/qps"
check "the queue pair that sends stands first, with a rate" \
	eval "sed -n 4p '$WORK/qps' | grep -qE ' RTS +.* [1-9][0-9.]+ .*ib_send_bw'"
table clients --sort 'tx mbit/s' >"$WORK/clients"
check "its program, too" eval "sed -n 4p '$WORK/clients' | grep -q ib_send_bw"
# A program that had no processor for a moment has nothing posted, and no limit.
check "its path has a limit" wait_for 5 path_has_limit
table faults >"$WORK/faults"
check "rules have hits" grep -qE '^ +1 +[1-9]' "$WORK/faults"
check "a column that is none is refused" fails table qps --sort nonsense
"$BIN/rnicctl" top --socket "${side_socket[0]}" >"$WORK/pipe" 2>&1 </dev/null
check "without a terminal it fails" test $? -eq 1
check "and says what to do" grep -q -- '--once' "$WORK/pipe"

pair_wait 30

echo "# the program ends"
show_top qps
end_process $holder
check "its queue pairs go" wait_for 20 sees_not "queue pairs $QPS"
press q
wait_for 10 fails top_pid

echo "# the daemon ends"
daemon_start 1 --address "$loopback.3"
press "$BIN/rnicctl top --socket ${side_socket[1]}" Enter
check "top shows another daemon" wait_for 20 sees 'rnic0 on lo, active'
daemon_finish 1
check "top says that it is gone" wait_for 10 sees 'No such file|refused'
daemon_start 1 --address "$loopback.3"
check "and shows the next one" wait_for 10 sees_not 'No such file|refused'
press q
in_tmux kill-server
topology_finish
