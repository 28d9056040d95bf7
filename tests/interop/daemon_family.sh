# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# lib.sh sources this file: functions for the processes of a daemon. A daemon is a family: rnicd,
# which is the control plane, and a process rnicd-device for each user that has programs. While no
# program uses the device, a daemon may be rnicd alone.
#
#   control plane     the process that a test started; side_pid has its number
#   device processes  its children
#
# Whoever kills the control plane kills the family: the kernel ends the device processes.

device_program=rnicd-device

# devices_of PID: prints the device processes of the control plane PID.
devices_of() {
	pgrep -P "$1" -x "$device_program"
}

# family_of PID: prints the control plane PID and its device processes.
family_of() {
	echo "$1"
	devices_of "$1"
}

# own_family SIDE: notes the device processes of a side among the processes of the test. Sets
# family. The control plane is among them since its start.
own_family() {
	local process
	family=("${side_pid[$1]}")
	for process in $(devices_of "${side_pid[$1]}"); do
		family+=("$process")
		own "$process"
	done
}

# family_cpu PID: prints the clock ticks that the processes of a family used, ended device
# processes included.
family_cpu() {
	local process stat fields ticks=0
	for process in $(family_of "$1"); do
		{ read -r stat <"/proc/$process/stat"; } 2>/dev/null || continue
		read -r -a fields <<<"${stat##*) }"
		ticks=$((ticks + fields[11] + fields[12]))
		# The time of children that the control plane has waited for.
		[ "$process" != "$1" ] || ticks=$((ticks + fields[13] + fields[14]))
	done
	echo $ticks
}

# resident_kib PID: prints the resident memory of a family.
resident_kib() {
	local process
	for process in $(family_of "$1"); do
		cat "/proc/$process/status" 2>/dev/null
	done | awk '/^VmRSS/ { kib += $2 } END { print kib + 0 }'
}

# held_by PID: prints the descriptors and mappings that a family has for its clients. The pages
# that the processes of the family share are not among them, nor the PID descriptors of the
# family. An ordinary user cannot look into a device process, which is not dumpable.
held_by() {
	local process processes names="memfd:|/proc/[0-9]+/mem\$|anon_inode:\[eventfd\]"
	processes=$(family_of "$1")
	for process in $processes; do
		{
			readlink "/proc/$process"/fd/*
			cat "/proc/$process/maps"
		} 2>/dev/null | grep -E "$names" |
			grep -vE 'memfd:rnic-(statistics|facts|lost|verb-rules|verb-hits)'
		grep -sh '^Pid:' "/proc/$process"/fdinfo/* | grep -vwF "$processes"
		# The loop of a device process has an eventfd of its own.
		names="memfd:|/proc/[0-9]+/mem\$"
	done
}

# count_held PID: prints how many these are.
count_held() {
	held_by "$1" | wc -l
}

holds_no_more() {
	[ "$(count_held "${side_pid[$1]}")" -le "${side_held[$1]}" ]
}

# The kernel ends an io_uring and the sockets of the io_uring some time after their process. Lanes
# send from the ports after 61000.
port_is_free() {
	local filter="( sport = :4791 or ( sport >= :61000 and sport <= :62023 ) )"
	[ -n "${side_namespace[$1]}" ] || filter="$filter and src = ${side_address[$1]}"
	[ -z "$(on "$1" ss -Huan "$filter")" ]
}

# family_has_ended: the processes in family have ended.
family_has_ended() {
	local process
	for process in "${family[@]}"; do
		has_ended "$process" || return 1
	done
}

# daemon_kill SIDE...: kills the control planes of these sides at one moment, by SIGKILL. The device
# processes must end by themselves. A side without a daemon of its own is left out.
daemon_kill() {
	local side victims=() all=()
	for side in "$@"; do
		[ -n "${side_pid[$side]}" ] || continue
		own_family "$side"
		victims+=("${side_pid[$side]}")
		all+=("${family[@]}")
	done
	signal_process KILL "${victims[@]}"
	family=("${all[@]}")
	wait "${victims[@]}" 2>/dev/null
	wait_for 20 family_has_ended ||
		fail "the device processes of a killed rnicd end: ${family[*]}"
}

# daemon_stop SIDE, daemon_continue SIDE: all processes of the side's daemon stand still, as those
# of a host that no longer answers; and go on.
daemon_stop() {
	own_family "$1"
	signal_process STOP "${family[@]}"
}

daemon_continue() {
	own_family "$1"
	signal_process CONT "${family[@]}"
}

# device_of SIDE [UID]: prints the device process of the user (by default the test's own) on this
# side; prints nothing when there is none.
device_of() {
	local process
	for process in $(devices_of "${side_pid[$1]}"); do
		if [ "$(awk '/^Uid:/ { print $2 }' "/proc/$process/status" 2>/dev/null)" = \
			"${2:-$(id -u)}" ]; then
			echo "$process"
		fi
	done
}

# device_signal SIGNAL SIDE [UID]: signals the device process of a user. Fails when there is none.
device_signal() {
	local process
	process=$(device_of "$2" "${3:-$(id -u)}")
	[ -n "$process" ] || return 1
	own "$process"
	signal_process "$1" "$process"
}

# has_no_device SIDE: the side's daemon is the control plane alone.
has_no_device() {
	[ -z "$(devices_of "${side_pid[$1]}")" ]
}

# ---- deaths by a fault ----

# died_by_fault STATUS: whether a process with this exit status was ended by a signal that tells of
# a fault of its own: ILL, TRAP, ABRT, BUS, FPE, SEGV or SYS.
died_by_fault() {
	case $1 in
	132 | 133 | 134 | 135 | 136 | 139 | 159) return 0 ;;
	*) return 1 ;;
	esac
}

# say_deaths: prints a line that begins with "DIED" for each process of the test that a fault ended,
# and for each device process of which a daemon says so. A failed test says that before its end:
# tests/run.sh repeats no test that says it.
say_deaths() {
	local process status
	for process in "${processes[@]}"; do
		has_ended "$process" || continue
		wait "$process" 2>/dev/null
		status=$?
		! died_by_fault $status ||
			echo "DIED  process $process, by SIG$(kill -l $((status - 128)))"
	done
	find "$WORK" -name '*log*' -type f -exec grep -ahE \
		'was ended by signal (4|5|6|7|8|11|31) ' {} + 2>/dev/null | sed 's/^/DIED  /'
}
