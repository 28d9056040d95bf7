#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Programs of several users fill completion queues that they never poll, on root's daemon in a
# control group with little memory, and a program registers regions without end. No device process
# takes more than its part of that memory, the kernel kills none, and another user is served.
. "$(dirname "$0")/../../interop/lib.sh"
. "$(dirname "$0")/../../interop/family/user_programs.sh"

require_users
group_mib=1024
users=5
wanted_mib=512 # by each user
base_kib=2048 # more than nothing
attackers=()
declare -A last_kib last_since

# groups_mount: shows the control groups under /sys, where rnicd looks for them: the test's mount
# namespace has a new /sys.
groups_mount() {
	[ -n "${RNIC_TEST_ISOLATED:-}" ] || return 1
	mount -t tmpfs tmpfs /sys/fs/cgroup || return 1
	if grep -q ':\(.*,\)\?memory\(,.*\)\?:' /proc/self/cgroup; then
		mkdir /sys/fs/cgroup/memory
		mount -t cgroup -o memory cgroup /sys/fs/cgroup/memory
	else
		mount -t cgroup2 cgroup2 /sys/fs/cgroup
	fi
}

# group_make: sets group, a control group of this run with a limit of memory, and the names of two
# of its files.
group_make() {
	local own
	own=$(awk -F: '$2 ~ /(^|,)memory(,|$)/ { print $3 }' /proc/self/cgroup)
	group_limit=memory.limit_in_bytes group_kills=memory.oom_control
	group=/sys/fs/cgroup/memory${own%/}/rnic-$RUN_ID
	if [ -z "$own" ]; then
		own=$(sed -n 's/^0:://p' /proc/self/cgroup)
		group_limit=memory.max group_kills=memory.events
		group=/sys/fs/cgroup${own%/}/rnic-$RUN_ID
	fi
	mkdir "$group" 2>/dev/null || skip_test "no control group can be made here"
	# The shell that opens a file which is not there says so before the command can.
	if [ ! -e "$group/$group_limit" ] ||
		! echo $((group_mib << 20)) >"$group/$group_limit"; then
		rmdir "$group"
		skip_test "a control group that is made here has no limit of memory"
	fi
}

kills() {
	awk '$1 == "oom_kill" { print $2 }' "$group/$group_kills"
}

# attacker_start UID WAY AMOUNT
attacker_start() {
	(
		side_user[0]=$1
		exec_program 0 "$BUILD/tests/user_attacker" "$2" "$3"
	) >"$WORK/attack.$1.out" 2>&1 &
	attackers+=($!)
	own $!
	wait_for 60 grep -q ready "$WORK/attack.$1.out"
}

# shared_kib PID: what the process has of shared memory, in KiB.
shared_kib() {
	awk '/^RssShmem/ { print $2 }' "/proc/$1/status"
}

# stands_still PID: the process has had all that it gets, since it has got no more for a second.
stands_still() {
	local now
	now=$(shared_kib "$1")
	[ "$now" = "${last_kib[$1]:-}" ] || last_since[$1]=$SECONDS
	last_kib[$1]=$now
	[ "$now" -gt $base_kib ] && [ $((SECONDS - last_since[$1])) -ge 2 ]
}

# bounds_hold: sets sum_kib, and checks the device process of each attacker.
bounds_hold() {
	local number process kib most=$((group_mib * 1024 / 8 + base_kib))
	sum_kib=0
	for ((number = 0; number < users; number++)); do
		process=$(device_of 0 $((user_a + 10 * number)))
		check "user $number has a device process that takes no more" \
			wait_for 60 stands_still "$process"
		kib=$(shared_kib "$process")
		echo "#     user $number: $kib KiB"
		check "user $number takes something" [ "$kib" -gt $base_kib ]
		check "user $number takes an eighth at most" [ "$kib" -le $most ]
		sum_kib=$((sum_kib + ${kib:-0}))
	done
}

# heap_is_bounded: the own memory of a device process ends before the group's does, and the program
# whose requests fail goes on.
heap_is_bounded() {
	local uid=$((user_a + 10 * users)) most=$((group_mib * 1024 / 8 / 4 + 48 * 1024))
	local process kib
	check "a program registers regions until there is no memory" \
		attacker_start $uid regions 1000000
	echo "#     $(grep ^regions "$WORK/attack.$uid.out")"
	check "the last one is refused" grep -q "then: Cannot allocate memory" \
		"$WORK/attack.$uid.out"
	process=$(device_of 0 $uid)
	kib=$(awk '/^RssAnon/ { print $2 }' "/proc/$process/status")
	echo "#     own memory of its device process: $kib KiB of $most KiB"
	check "the own memory stays in its bound" [ "${kib:-$most}" -lt $most ]
	check "the program goes on" is_running "${attackers[-1]}"
}

groups_mount >"$WORK/mount" 2>&1 ||
	skip_test "the control groups cannot be mounted: $(cat "$WORK/mount")"
group_make
# shellcheck disable=SC2016 # the inner shell expands it
daemon_prefix=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group")
topology_start one uring 4
for ((number = 0; number < users; number++)); do
	check "attack by user $number" attacker_start $((user_a + 10 * number)) unpolled \
		"$wanted_mib"
done
bounds_hold
echo "#     all: $sum_kib KiB of $((group_mib * 1024)) KiB"
check "all take half at most" [ "$sum_kib" -le $((group_mib * 1024 / 2 + users * base_kib)) ]
heap_is_bounded
check "the kernel has killed nobody" [ "$(kills)" = 0 ]
check "another user is served" new_program_works $user_b
for process in "${attackers[@]}"; do
	signal_process KILL "$process"
	wait "$process" 2>/dev/null
done
wait_for 20 holds 0 clients "rows == []" || fail "the attackers are forgotten"
# Until they end, they keep what the C library keeps of their heaps.
check "the device processes of all users end" wait_for 20 has_no_device 0
daemon_finish 0
side_pid[0]=""
check "the control group is empty" rmdir "$group"
test_finish
