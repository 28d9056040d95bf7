#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Root's daemon gives up its capabilities, and still does what needs those that remain: device
# processes of other users start and end, the memory of root's programs is reached by process_vm,
# and the sockets of a new address have large buffers. It starts device processes from a folder that
# it may no longer search. An ordinary user's daemon has none.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/user_programs.sh"

kill_and_net_admin=0000000000001020
of_device_processes=00000000000800c0 # CAP_SETUID, CAP_SETGID, CAP_SYS_PTRACE
ptrace=0000000000080000
none=0000000000000000

# status_is PID FIELD VALUE: /proc says so of the process, and of each of its threads.
status_is() {
	local found
	found=$(awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/task"/*/status | sort -u)
	[ "$found" = "$3" ] || { echo "$2 of $1: $found, not $3" && return 1; }
}

status_of_self() {
	awk -v name="$1:" '$1 == name { print $2 }' /proc/self/status
}

buffer_sizes() {
	on 0 ss -lnumH "sport = :4791 and src = $1" | grep -o "rb[0-9]*" | sort | uniq -c
}

has_same_buffers() {
	[ -n "$(buffer_sizes "$1")" ] && [ "$(buffer_sizes "$1")" = "$(buffer_sizes "$2")" ]
}

has_gid() {
	holds 0 device "any(g['gid'] == '$1' for g in rows['gids'])"
}

require_users
# A container gives root fewer capabilities, and those alone remain.
[ $((0x$(status_of_self CapPrm) & 0x811e0)) -eq $((0x811e0)) ] ||
	skip_test "root lacks capabilities that the daemon keeps"

topology_start netns-1500 socket 4
daemon=${side_pid[0]}
echo "# the control plane of root"
check "in force" status_is "$daemon" CapEff $kill_and_net_admin
check "for device processes" status_is "$daemon" CapInh $of_device_processes
check "no more" status_is "$daemon" CapPrm 00000000000810e0
check "nor by execve" status_is "$daemon" CapBnd $none
check "nothing ambient" status_is "$daemon" CapAmb $none
check "NO_NEW_PRIVS" status_is "$daemon" NoNewPrivs 1
check "a filter of system calls" status_is "$daemon" Seccomp 2

echo "# its device processes"
program_start a $user_a
device=$(device_of 0 $user_a)
for field in CapEff CapPrm CapInh CapBnd CapAmb; do
	check "an ordinary user's, $field" status_is "$device" $field $none
done
check "NO_NEW_PRIVS" status_is "$device" NoNewPrivs 1
program_start r 0
device=$(device_of 0 0)
check "root's, CapEff" status_is "$device" CapEff $ptrace
check "root's, CapPrm" status_is "$device" CapPrm $ptrace
for field in CapInh CapBnd CapAmb; do
	check "root's, $field" status_is "$device" $field $none
done
check "NO_NEW_PRIVS" status_is "$device" NoNewPrivs 1

echo "# what they still do"
check "the user's program works" program_works a
check "root's program works" program_works r
rnic 0 timeout 60 ibv_rc_pingpong -g "${side_gid[0]}" -p 18699 >"$WORK/server.out" 2>&1 &
server=$!
own $server
check "process_vm reaches the memory of root's program" \
	wait_for 10 holds 0 mrs "any(r['mode'] == 'process_vm' for r in rows)"
end_process $server
wait $server
program_end r
on 0 ip address add 10.77.0.91/24 dev veth0
check "a new address is a GID" wait_for 10 has_gid 10.77.0.91
check "its sockets have the buffers of the first one's" \
	wait_for 5 has_same_buffers 10.77.0.1 10.77.0.91
on 0 ip address del 10.77.0.91/24 dev veth0
device=$(device_of 0 $user_a)
own "$device"
signal_process STOP "$device" # so that the kernel's signal alone ends the process
signal_process KILL "$daemon"
check "a stopped device process of a user dies with the daemon" wait_for 5 has_ended "$device"
wait "$daemon"
program_end a
daemon_restart 0

echo "# an ordinary user's daemon"
mkdir "$WORK/own"
chown $user_a "$WORK/own"
exec_on 0 setpriv --reuid $user_a --regid $user_a --clear-groups "$BIN/rnicd" \
	--socket "$WORK/own/rnicd.sock" --address "$loopback.77" >"$WORK/own.log" 2>&1 &
own_daemon=$!
own $own_daemon
check "it starts" wait_for 20 "$BIN/rnicctl" show --socket "$WORK/own/rnicd.sock" device
check "it has none" status_is $own_daemon CapPrm $none
check "the bounding set is as before" status_is $own_daemon CapBnd "$(status_of_self CapBnd)"
check "NO_NEW_PRIVS too" status_is $own_daemon NoNewPrivs 1
end_process $own_daemon
wait $own_daemon

echo "# root's daemon from a build in a home of mode 0700"
chmod 711 "$WORK"
home=$WORK/home
mkdir -p "$home/bin" "$home/libexec"
cp "$BIN/rnicd" "$BIN/rnic-run" "$home/bin/"
cp -r "$BUILD/libexec/." "$home/libexec/"
cp -d "$BUILD"/lib/*.so* "$home/"
ln -s . "$home/lib"
chmod -R a+rX "$home"
chown -R $user_a "$home"
chmod 0700 "$home"

# home_daemon: starts it; home_daemon_pid.
home_daemon() {
	exec_on 0 "$home/bin/rnicd" --socket "$WORK/home.sock" --address "$loopback.78" \
		>"$WORK/home.log" 2>&1 &
	home_daemon_pid=$!
	own $home_daemon_pid
	wait_for 20 home_answers_or_ended
}

home_answers_or_ended() {
	has_ended $home_daemon_pid || "$BIN/rnicctl" show --socket "$WORK/home.sock" device
}

# serves_home UID: a program of this user works on it.
serves_home() {
	as "$1" timeout "$work_seconds" "$BIN/rnic-run" --no-daemon --socket "$WORK/home.sock" \
		"$BUILD/tests/first_completion"
}

home_daemon
check "it serves its builder" serves_home $user_a
check "root" serves_home 0
# A build that goes on, or an upgrade: the daemon keeps the program that it began with.
mv "$home/libexec/rnicd-device" "$home/libexec/away"
check "and another user, after the program has left its path" serves_home $user_b
mv "$home/libexec/away" "$home/libexec/rnicd-device"
end_process $home_daemon_pid
wait $home_daemon_pid
chmod 0700 "$home/libexec/rnicd-device"
home_daemon
check "one whose program root may not execute ends" has_ended $home_daemon_pid
wait $home_daemon_pid
check "and says which program, and the cure" grep -q \
	"/libexec/rnicd-device: Permission denied; .*chmod a+rx" "$WORK/home.log"
topology_finish
