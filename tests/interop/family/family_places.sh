#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Programs in containers on root's daemon, and a daemon in a container: family_places.sh PORT
#
#   user      an ordinary user's namespaces of users, processes and mounts, in which the user is
#             root (unshare, rootless podman)
#   sub-uid   the same, and uid 0 in the container is a uid that no user has (Docker with
#             userns-remap)
#   root      namespaces of processes and mounts; uid 0 is root (Docker, privileged)
#   limited   the same without the rights of root (Docker): a user of its own, who has none outside
#
# A program is served by a device process of the uid that it has outside.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/user_programs.sh"

require_users
here=$(cd "$(dirname "$0")" && pwd)
sub_uid=200000
chmod 711 "$WORK" "$WORK"/side* 2>/dev/null
topology_start one "$1" 4
work=$BUILD/tests/first_completion

# in_place PLACE COMMAND...: replaces the shell. A program of a container that ends takes the
# container along.
in_place() {
	local place=$1
	shift
	case $place in
	user)
		exec setpriv --reuid $user_a --regid $user_a --clear-groups unshare --user \
			--map-root-user --pid --fork --kill-child --mount --mount-proc "$@"
		;;
	sub-uid) exec python3 "$here/container_run.py" $sub_uid "$@" ;;
	root) exec unshare --pid --fork --kill-child --mount --mount-proc "$@" ;;
	limited)
		exec unshare --pid --fork --kill-child --mount --mount-proc setpriv \
			--bounding-set=-sys_admin,-sys_ptrace,-net_admin "$@"
		;;
	esac
}

uid_of() {
	case $1 in
	user) echo $user_a ;;
	sub-uid) echo $sub_uid ;;
	root) echo 0 ;;
	limited) echo 4294967294 ;;
	esac
}

can_make() {
	(in_place "$1" true) >"$WORK/place" 2>&1
}

# rnic_in PLACE COMMAND...: a program on the daemon's device.
rnic_in() {
	local place=$1
	shift
	(in_place "$place" timeout 20 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "$@")
}

# rnic_in_begin PLACE FILE COMMAND...: in the background; sets begun_pid.
rnic_in_begin() {
	local place=$1 file=$2
	shift 2
	(in_place "$place" "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "$@") \
		>"$file" 2>&1 &
	begun_pid=$!
	own $begun_pid
}

has_device() {
	[ -n "$(device_of 0 "$1")" ]
}

# serves_place PLACE: a program there works, and so does memory that the daemon reaches by the
# program's /proc/self/mem.
serves_place() {
	local place=$1 uid pingpong
	pingpong=(ibv_rc_pingpong -c -p "$next_port" -g "${side_gid[0]}")
	uid=$(uid_of "$place")
	check "$place: a program works" rnic_in "$place" "$work"
	check "$place: a device process of uid $uid serves the program" has_device "$uid"
	check "$place: rnicctl works" rnic_in "$place" "$BIN/rnicctl" show \
		--socket "${side_socket[0]}" device
	forget_output
	rnic_in_begin "$place" "$WORK/server.out" "${pingpong[@]}"
	wait_for 20 server_listens_or_ended $begun_pid $next_port
	check "$place: a program of another user outside reaches one inside" \
		rnic_as $user_b timeout 20 "${pingpong[@]}" localhost
	wait_for 5 has_ended $begun_pid
	check "$place: the one inside ends well" wait $begun_pid
	next_port=$((next_port + 1))
	rnic_in_begin "$place" "$WORK/server.out" \
		rping -s -a "${side_address[0]}" -p $next_port -C 20
	server_pid=$begun_pid
	wait_for 20 cm_is_ready_or_ended listening
	check "$place: and connects to it" \
		rnic_as $user_b timeout 20 rping -c -a "${side_address[0]}" -p $next_port -C 20
	wait_for 5 has_ended "$server_pid"
	next_port=$((next_port + 1))
	check "$place: the programs are forgotten" wait_for 5 is_empty 0
}

# A container that is killed takes its programs along.
place_killed() {
	rnic_in_begin "$1" "$WORK/inside.out" ibv_asyncwatch -d rnic0
	check "$1: a program inside waits" wait_for 20 holds 0 clients "len(rows) == 1"
	signal_process KILL "$begun_pid"
	wait "$begun_pid" 2>/dev/null
	check "$1: the container is killed: its program is forgotten" wait_for 5 is_empty 0
}

# A daemon in a container of an ordinary user, who is root there: it serves the container.
daemon_inside() {
	local directory=$WORK/inside
	mkdir -p "$directory"
	chown "$user_a" "$directory"
	# shellcheck disable=SC2016 # the words are of the shell inside
	(in_place user sh -c '
		"$0/rnicd" --socket "$1/rnicd.sock" --address "$2" --ready-fd 3 3>"$1/ready" &
		while [ ! -s "$1/ready" ] && kill -0 $!; do sleep 0.05; done
		"$0/rnic-run" --no-daemon --socket "$1/rnicd.sock" timeout 10 "$3"
		status=$?
		kill $! && wait $! && exit $status' \
		"$BIN" "$directory" "$loopback.88" "$work") >"$WORK/inside.log" 2>&1
	check "a daemon in a container serves the container" test $? -eq 0
	[ ! -s "$WORK/inside.log" ] || sed 's/^/#     /' "$WORK/inside.log"
}

for place in user sub-uid root limited; do
	if ! can_make $place; then
		skip_part "$place: $(tail -n 1 "$WORK/place")"
		continue
	fi
	serves_place $place
	place_killed $place
done
if can_make user; then daemon_inside; fi
topology_finish
