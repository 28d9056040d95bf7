#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The processes of a daemon die, stand still, or have nothing left:
#
#     family_life.sh TOPOLOGY PORT FAMILY [SCENARIO...]
#
# The control plane, the device process of a user and the user's program are killed, stopped, ended,
# replaced and forked, and run out of descriptors and memory. The table "Life and death" of
# proto/ctl/README.md says what must follow, and names the scenario for each of its cells.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/user_programs.sh"

require_users
topology_start "$1" "$2" "$3"
shift 3
user_c=31003
pause=2
times=50
[ -z "$LONG" ] || pause=30 times=1000

# works_until SECOND NAME: the program works again and again, until the shell has that age.
works_until() {
	while program_is_unharmed "$2" || return 1; [ $SECONDS -lt "$1" ]; do :; done
}

others_notice_nothing() {
	check "$1: a program of another user is unharmed" program_is_unharmed b
	check "$1: a new program of another user works" new_program_works $user_b
}

# ---- the device process ----

device_killed() {
	device_killed_by KILL
	device_killed_by TERM
}

# lane_of UID: prints the lane of the user's queue pairs, which is the top byte of their numbers.
lane_of() {
	local client
	wait_for 10 holds 0 clients "any(r['uid'] == $1 for r in rows)"
	client=$(query 0 clients "[r['client'] for r in rows if r['uid'] == $1][0]")
	query 0 qps "[r['qpn'] >> 16 for r in rows if r['client'] == $client][0]"
}

device_killed_by() {
	local lane
	program_start a1 $user_a
	program_start a2 $user_a
	lane=$(lane_of $user_a)
	check "the device process is killed" device_signal "$1" 0 $user_a
	check "SIG$1: its user's programs are told" program_is_told a1
	check "SIG$1: all of them" program_is_told a2
	check "SIG$1: their work fails" program_fails a1
	check "SIG$1: the user's next program works at once" new_program_works $user_a
	others_notice_nothing "SIG$1"
	check "SIG$1: rnicctl answers" rnicctl_answers
	check "SIG$1: the end of the device is among the troubles" holds 0 troubles \
		"any(r['uid'] == $user_a and 'it was ended by signal' in r['reason'] for r in rows)"
	program_end a1
	program_end a2
	program_start a3 $user_a
	check "SIG$1: the user's lane is another one than $lane" \
		test "$(lane_of $user_a)" -ne "$lane"
	program_end a3
}

device_stopped() {
	local end
	program_start a $user_a
	check "the device process is stopped" device_signal STOP 0 $user_a
	program_tell a ask
	end=$((SECONDS + pause))
	check "stopped: rnicctl answers" rnicctl_answers
	check "stopped: rnic-run ends" rnic_as $user_a timeout 5 true
	others_notice_nothing stopped
	check "stopped: for a while" works_until "$end" b
	check "stopped: its user's program waits" is_running "${program_pid[a]}"
	check "the device process continues" device_signal CONT 0 $user_a
	check "continued: a call of its user's program is answered" \
		wait_for 5 program_said_more a "^asked" 0
	check "continued: the log says who waited, and why" wait_for 5 grep -q \
		"waited [0-9.]* s for an answer: this process did not run" "$WORK/daemon0.log"
	check "continued: its user's program is unharmed" program_is_unharmed a
	check "continued: a new program works" new_program_works $user_a
	program_end a
}

# stand_still PID: all threads of the process are stopped. The first one tells the others.
stand_still() {
	! grep -h ^State: /proc/"$1"/task/*/status | grep -qv stopped
}

# An unmap of registered memory waits for the device process. The end of that process frees it.
device_stopped_at_an_unmap() {
	local end
	for end in CONT KILL; do
		program_start a $user_a
		program_tell a keep
		check "unmap: memory is registered" wait_for 5 program_said_more a "^kept" 0
		if holds 0 mrs "any('userfaultfd is refused' in r['watch'] for r in rows)"; then
			skip_part "the kernel refuses userfaultfd"
			program_end a
			return
		fi
		check "unmap: it is watched" \
			holds 0 mrs "any(r['watch'] == 'watched' for r in rows)"
		check "unmap: the device process is stopped" device_signal STOP 0 $user_a
		wait_for 5 stand_still "$(device_of 0 $user_a)"
		program_tell a unmap
		check "unmap: others go on meanwhile" works_until $((SECONDS + 1)) b
		check "unmap: the program waits" test "$(program_said a "^unmapped")" -eq 0
		check "unmap: the device process gets SIG$end" device_signal $end 0 $user_a
		check "unmap: the program goes on" wait_for 5 program_said_more a "^unmapped" 0
		program_end a
	done
}

# A device process without clients ends, and nobody is told.
device_idle() {
	local device
	program_start a $user_a
	device=$(device_of 0 $user_a)
	own "$device"
	program_end a TERM
	check "idle: the next program has the same device process" \
		device_serves_next "$device"
	check "idle: the device process ends" wait_for 10 has_ended "$device"
	check "idle: the next program works" new_program_works $user_a
}

device_serves_next() {
	new_program_works $user_a && [ "$(device_of 0 $user_a)" = "$1" ]
}

# with_limit PID RESOURCE VALUE COMMAND...: the process has this limit meanwhile. The process's user
# sets it: root may lack the right to set limits of others.
with_limit() {
	local pid=$1 resource=$2 value=$3 uid before status
	shift 3
	uid=$(status_of "$pid" Uid)
	before=$(as "$uid" prlimit --pid "$pid" --"$resource" --output SOFT,HARD --noheadings |
		tr -s ' ' :)
	before=${before#:}
	as "$uid" prlimit --pid "$pid" --"$resource=$value:${before#*:}" || return 1
	"$@"
	status=$?
	as "$uid" prlimit --pid "$pid" --"$resource=$before"
	return $status
}

# first_free_descriptor PID: prints the limit that leaves no descriptor free.
first_free_descriptor() {
	local number=0
	while [ -e "/proc/$1/fd/$number" ]; do number=$((number + 1)); done
	echo $number
}

device_without_descriptors() {
	local device
	program_start a $user_a
	device=$(device_of 0 $user_a)
	check "no descriptors: a new program is refused" with_limit "$device" nofile \
		"$(first_free_descriptor "$device")" new_program_fails $user_a
	check "no descriptors: the other program is unharmed" program_is_unharmed a
	others_notice_nothing "no descriptors"
	check "descriptors again: a new program works" new_program_works $user_a
	program_end a
}

device_without_memory() {
	local device bytes
	program_start a $user_a
	device=$(device_of 0 $user_a)
	bytes=$(($(awk '/^VmSize/ { print $2 }' "/proc/$device/status") * 1024))
	check "no memory: a new program ends in time" with_limit "$device" as "$bytes" \
		new_program_fails $user_a
	check "no memory: the other program is unharmed" program_is_unharmed a
	others_notice_nothing "no memory"
	check "memory again: a new program works" new_program_works $user_a
	program_end a
}

# memory_group_make: makes a cgroup with next to no memory. Sets group, and groups, where its file
# system is mounted.
memory_group_make() {
	local limit=memory.max
	groups=$WORK/cgroup
	group=$groups/rnic-test-$RUN_ID
	mkdir "$groups"
	if mount -t cgroup2 none "$groups" 2>/dev/null &&
		grep -qw memory "$groups/cgroup.controllers"; then
		echo +memory >"$groups/cgroup.subtree_control"
	else
		umount "$groups" 2>/dev/null
		mount -t cgroup -o memory none "$groups" 2>/dev/null || return 1
		limit=memory.limit_in_bytes
	fi
	mkdir "$group" && echo 65536 >"$group/$limit"
}

memory_group_remove() {
	[ ! -d "$group" ] || rmdir "$group"
	umount "$groups" 2>/dev/null
	rmdir "$groups"
}

# uses_up_memory DEVICE: programs of the user come until the device process has ended.
uses_up_memory() {
	new_program_works $user_a
	has_ended "$1"
}

# The kernel kills a process that has used up the memory of its cgroup.
device_out_of_memory() {
	local groups group device
	if ! memory_group_make 2>"$WORK/group"; then
		skip_part "a device process whose cgroup is out of memory: no such cgroup"
		memory_group_remove
		return 0
	fi
	program_start a $user_a
	device=$(device_of 0 $user_a)
	own "$device"
	echo "$device" >"$group/cgroup.procs"
	check "out of memory: the kernel kills the device process" \
		wait_for 20 uses_up_memory "$device"
	check "out of memory: its user's program is told" program_is_told a
	others_notice_nothing "out of memory"
	check "out of memory: the next program works at once" new_program_works $user_a
	program_end a
	memory_group_remove
}

status_of() {
	awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/status"
}

oom_score() {
	cat "/proc/$1/oom_score_adj"
}

device_is_confined() {
	local device
	program_start a $user_a
	device=$(device_of 0 $user_a)
	check "confined: it has its user's uid" test "$(status_of "$device" Uid)" = $user_a
	check "confined: and gid" test "$(status_of "$device" Gid)" = $user_a
	check "confined: no other group" \
		test "$(awk '/^Groups:/ { print NF }' "/proc/$device/status")" = 1
	check "confined: no capability" test "$(status_of "$device" CapEff)" = 0000000000000000
	check "confined: no new privileges" test "$(status_of "$device" NoNewPrivs)" = 1
	check "confined: a filter of system calls" test "$(status_of "$device" Seccomp)" = 2
	check "confined: no priority over programs" \
		test "$(ps -o ni= -p "$device" | tr -d ' ')" = 0
	check "confined: not dumpable" test "$(stat -c %u "/proc/$device/fd")" = 0
	check "confined: the kernel prefers it for killing" \
		test "$(oom_score "$device")" -gt "$(oom_score "${side_pid[0]}")"
	program_end a
}

# ---- the user's program ----

# client_ends WORD: the program obeys, and the device forgets the program.
client_ends() {
	program_start a $user_a
	program_tell a "$1"
	check "$1: the device forgets the program" wait_for 5 forgets $user_a
	others_notice_nothing "$1"
	if [ "$1" = fork ]; then
		signal_process KILL "$(awk '/^child/ { print $2 }' "$WORK/a.out")"
	fi
	program_end a
}

forgets() {
	holds 0 clients "all(r['uid'] != $1 for r in rows)"
}

clients_end() {
	local word
	for word in close exit exec fork; do client_ends $word; done
	program_start a $user_a
	program_end a KILL
	check "killed: the device forgets the program" wait_for 5 forgets $user_a
}

client_stopped() {
	program_start a1 $user_a
	program_start a2 $user_a
	signal_process STOP "${program_pid[a1]}"
	check "a stopped program: another one of its user works" program_is_unharmed a2
	others_notice_nothing "a stopped program"
	signal_process CONT "${program_pid[a1]}"
	check "a continued program works" program_works a1
	program_end a1
	program_end a2
}

counter() {
	query 0 counters "rows['$1']"
}

# counts NAME COUNT: the counter rises by so many, soon.
counts() {
	local before
	before=$(counter "$1")
	wait_for 20 holds 0 counters "rows['$1'] >= $before + $2"
}

# server_signal SIGNAL: to the program itself.
server_signal() {
	[[ "$(cat "/proc/$server_pid/comm")" = ib_* ]] && signal_process "$1" "$server_pid"
}

pair_kill() {
	signal_process KILL "$server_pid" "$client_pid"
	pair_wait 5
}

# The first user's program stands still, and the second user's uses its queue pair meanwhile. What
# is in flight when it stops are some hundreds of messages.
peers_of_stopped() {
	side_user=($user_a $user_b)
	pair_start ib_write_bw -F -c RC -s 1024 -D 600
	check "a peer WRITEs" counts rcvd_write_requests 5000
	check "its program is stopped" server_signal STOP
	check "a stopped program: its peer WRITEs as before" counts rcvd_write_requests 5000
	check "and goes on" counts rcvd_write_requests 5000
	pair_kill
	pair_start ib_send_bw -F -c RC -s 1024 -D 600
	check "a peer SENDs" counts rcvd_send_requests 5000
	check "its program is stopped" server_signal STOP
	check "a stopped program: its peer hears that no receive is posted" counts send_rnr_err 2
	check "the program continues" server_signal CONT
	check "a continued program: its peer SENDs as before" counts rcvd_send_requests 5000
	pair_kill
	side_user=("" "")
}

# client_limited RESOURCE LIMIT: says how a program with this limit ends.
client_limited() {
	local status
	rnic_as $user_a timeout 10 prlimit --"$1=$2" "$BUILD/tests/first_completion" \
		>"$WORK/limited.out" 2>&1
	status=$?
	if [ $status -eq 0 ]; then
		echo works
	elif [ $status -eq 124 ]; then
		echo hangs
	elif [ $status -le 127 ] && [ -s "$WORK/limited.out" ]; then
		echo fails # 127 is the linker's own
	else
		echo dies
	fi
}

# client_without RESOURCE LIMIT...: a program with less than it needs says so and ends. The first
# limit is too small, and the last is not.
client_without() {
	local resource=$1 limit ends=()
	shift
	for limit in "$@"; do ends+=("$(client_limited "$resource" "$limit")"); done
	echo "#     $resource: ${ends[*]}"
	check "a program without $resource fails" test "${ends[0]}" = fails
	check "with enough it works" test "${ends[-1]}" = works
	check "between, it works or fails" is_none_of "hangs|dies" "${ends[@]}"
	check "the next one works" new_program_works $user_a
	check "the device forgets all" wait_for 5 forgets $user_a
}

# is_none_of PATTERN WORD...
is_none_of() {
	local pattern=$1
	shift
	! printf '%s\n' "$@" | grep -xE "$pattern"
}

clients_without() {
	# shellcheck disable=SC2046 # numbers
	client_without nofile $(seq 4 24)
	# A sanitizer's own memory is larger than any limit.
	# shellcheck disable=SC2046 # numbers
	[ -n "$SLOW" ] || client_without as $(seq 4000000 1000000 16000000) 124000000
}

# connections_break device|control: both threads are told, whichever of a program's connections the
# daemon ends. Each thread waits on a pipe of one of the daemon's processes.
connections_break() {
	program_start a $user_a
	program_tell a wait
	check "two threads of a program wait" wait_for 5 program_said_more a ^waits 0
	program_tell a "garble $1"
	check "its $1 connections break: who waits for a connection comes back" \
		wait_for 5 program_said_more a "^waited for a connection" 0
	check "its $1 connections break: who waits for a completion comes back" \
		wait_for 5 program_said_more a "^waited for a completion" 0
	check "its $1 connections break: the program is told" program_is_told a
	check "the daemon forgets the program" wait_for 5 forgets $user_a
	others_notice_nothing "its $1 connections break"
	program_end a
}

one_connection_breaks() {
	connections_break device
	connections_break control
}

# ---- the control plane ----

# waiter_start FILE COMMAND...: in the background, with its output in the file.
waiter_start() {
	local file=$1
	shift
	"$@" >"$file" 2>&1 &
	waiters+=($!)
	own $!
}

control_stopped() {
	local waiters=()
	program_start a $user_a
	program_tell a wait # makes the connection to rnicd for rdma_cm
	check "a thread waits for connections" wait_for 5 program_said_more a ^waits 0
	signal_process STOP "${side_pid[0]}"
	program_tell a create
	check "rnicd is stopped: a program works" works_until $((SECONDS + pause)) a
	check "rnicd is stopped: another user's too" program_is_unharmed b
	waiter_start "$WORK/show.out" timeout 20 "$BIN/rnicctl" show --socket "${side_socket[0]}"
	waiter_start "$WORK/new.out" rnic_as $user_a timeout 20 "$BUILD/tests/first_completion"
	check "rnicd is stopped: the program works on" works_until $((SECONDS + 2)) a
	check "rnicd is stopped: rnicctl waits" is_running "${waiters[0]}"
	check "rnicd is stopped: a new program waits" is_running "${waiters[1]}"
	check "rnicd is stopped: rdma_create_id waits" \
		test "$(program_said a "^created\|^failed: create")" -eq 0
	signal_process CONT "${side_pid[0]}"
	expect_end 10 "${waiters[0]}" 0 "rnicd continues: the rnicctl that waited" "$WORK/show.out"
	expect_end 10 "${waiters[1]}" 0 "rnicd continues: the program that waited" "$WORK/new.out"
	check "rnicd continues: rdma_create_id goes on" \
		wait_for 5 program_said_more a ^created 0
	check "rnicd continues: rnicctl answers" rnicctl_answers
	check "rnicd continues: a new program works" new_program_works $user_a
	check "rnicd continues: no program was told" program_is_unharmed a
	program_end a
}

control_without_descriptors() {
	local ticks
	program_start a $user_a
	ticks=$(family_cpu "${side_pid[0]}")
	check "rnicd has no descriptors: a new program is refused" \
		with_limit "${side_pid[0]}" nofile "$(first_free_descriptor "${side_pid[0]}")" \
		new_program_fails $user_a
	ticks=$(($(family_cpu "${side_pid[0]}") - ticks))
	check "rnicd has no descriptors: it does not poll for them ($ticks ticks)" \
		test $ticks -lt 200
	check "rnicd has no descriptors: programs are unharmed" program_is_unharmed a
	check "rnicd has descriptors again: a new program works" new_program_works $user_a
	program_end a
}

# A user who has no device process needs memory of rnicd for one.
control_without_memory() {
	local bytes
	program_start a $user_a
	bytes=$(($(awk '/^VmSize/ { print $2 }' "/proc/${side_pid[0]}/status") * 1024))
	check "rnicd has no memory: a new user is refused" \
		with_limit "${side_pid[0]}" as "$bytes" new_program_fails $user_c
	check "rnicd has no memory: programs are unharmed" program_is_unharmed a
	check "rnicd has no memory: others' too" program_is_unharmed b
	check "rnicd has memory again: the user is served" new_program_works $user_c
	program_end a
}

control_ends() {
	control_ended_by TERM
	control_ended_by INT
}

control_ended_by() {
	program_start a $user_a
	own_family 0
	signal_process "$1" "${side_pid[0]}"
	wait_for 10 has_ended "${side_pid[0]}"
	check "rnicd gets SIG$1: it and all its processes end" family_has_ended
	wait "${side_pid[0]}"
	check "rnicd gets SIG$1: with status 0" test $? -eq 0
	check "rnicd gets SIG$1: a program is told" program_is_told a
	check "rnicd gets SIG$1: so is another user's" program_is_told b
	check "rnicd gets SIG$1: their work fails" program_fails a
	program_end a
	program_end b
	daemon_restart 0
	check "rnicd is back: programs work" new_program_works $user_a
	program_start b $user_b
}

# A stalled machine adds to the time: the best of three counts.
control_killed() {
	local number least_taken=1000000
	for number in 1 2 3; do
		control_killed_once
		[ $least_taken -gt $((1000 + ${SLOW:-0} * 4000)) ] || break
	done
	check "rnicd is killed: nothing is bound after $least_taken ms" \
		test $least_taken -le $((1000 + ${SLOW:-0} * 4000))
}

control_killed_once() {
	local start taken
	program_start a $user_a
	own_family 0
	start=$(now_ms)
	signal_process KILL "${side_pid[0]}"
	wait_for 20 family_has_ended
	wait_for 20 port_is_free 0
	taken=$(($(now_ms) - start))
	wait "${side_pid[0]}" 2>/dev/null
	check "rnicd is killed: all processes end" family_has_ended
	[ $taken -ge $least_taken ] || least_taken=$taken
	check "rnicd is killed: a program is told" program_is_told a
	check "rnicd is killed: so is another user's" program_is_told b
	program_end a
	program_end b
	daemon_restart 0
	check "rnicd is back: programs work" new_program_works $user_a
	program_start b $user_b
}

# ---- many ----

# belongings: prints what the control plane has, as far as it grows when something leaks.
belongings() {
	local pid=${side_pid[0]}
	echo "descriptors $(find "/proc/$pid/fd" -mindepth 1 | wc -l)"
	echo "sockets $(on 0 ss -Hxuan | wc -l)"
	echo "children $(pgrep -P "$pid" | wc -l)"
	echo "files $(find "$WORK/side0" | wc -l)"
}

mappings() {
	wc -l <"/proc/${side_pid[0]}/maps"
}

# mappings_are_as_before MAPPINGS: the C library keeps the stacks, two mappings each, of the threads
# that were alive at the same time.
mappings_are_as_before() {
	local grown=$(($(mappings) - $1))
	echo "$grown mappings more than before"
	test $grown -le 6
}

belongings_are_as_before() {
	belongings >"$WORK/belongings.now"
	diff "$WORK/belongings" "$WORK/belongings.now"
}

# The kernel and a thread of rnicd close some things a little later.
belongings_rest() {
	belongings >"$WORK/belongings"
	sleep 0.5 # between two polls
	belongings_are_as_before
}

device_cycle() {
	local signals=(KILL TERM ABRT)
	new_program_works $user_a && device_signal "${signals[$1 % 3]}" 0 $user_a &&
		wait_for 5 has_no_device 0
}

starts_and_ends() {
	local number mappings failed=0
	program_end b
	wait_for 15 has_no_device 0
	device_cycle 0 >/dev/null # makes what stays
	wait_for 20 belongings_rest
	mappings=$(mappings)
	for ((number = 0; number < times; number++)); do
		device_cycle $number >"$WORK/cycle" 2>&1 || failed=$((failed + 1))
	done
	check "$times device processes start, work and are killed" test $failed -eq 0
	wait_for 5 belongings_are_as_before
	check "they leave nothing in rnicd" belongings_are_as_before
	check "nor any mapping" mappings_are_as_before "$mappings"
}

scenarios=(device_is_confined device_killed device_stopped device_stopped_at_an_unmap
	device_idle device_without_descriptors device_without_memory device_out_of_memory
	clients_end client_stopped peers_of_stopped one_connection_breaks clients_without
	control_stopped control_without_descriptors control_without_memory control_ends
	control_killed starts_and_ends)
[ $# -eq 0 ] || scenarios=("$@")

program_start b $user_b
for scenario in "${scenarios[@]}"; do
	echo "# $scenario"
	$scenario
done
[ ! -e "$WORK/b.out" ] || program_end b
topology_finish
