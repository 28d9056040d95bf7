#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rnicctl cdi: programs where only what it says is mounted and set find the device of a daemon
# outside: cdi.sh PORT. tests/debian/try_containers.sh tries the same with container runtimes.
. "$(dirname "$0")/../lib.sh"

[ -n "${RNIC_TEST_ISOLATED:-}" ] || skip_test "mount namespaces need root"
topology_start pair "$1" 4

# specify SIDE [OPTION...]
specify() {
	local side=$1
	shift
	"$BIN/rnicctl" cdi --socket "${side_socket[$side]}" "$@"
}

# contained SIDE COMMAND...: without the build tree, but for what is mounted.
contained() {
	local side=$1
	shift
	unshare --mount python3 -B "$INTEROP/family/cdi_enter.py" "$WORK/side$side.json" \
		"$BUILD" "$@"
}

refused() {
	! "$@" 2>&1
}

# refuses PATTERN SOCKET: a specification is refused with one line, which has the pattern.
refuses() {
	! "$BIN/rnicctl" cdi --socket "$2" >"$WORK/refusal" 2>&1 && cat "$WORK/refusal" &&
		[ "$(wc -l <"$WORK/refusal")" -eq 1 ] && grep -q -- "$1" "$WORK/refusal"
}

# listens PATH stream|seqpacket: a program that is not rnicd listens there, and hangs up.
listens() {
	python3 -c "
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_${2^^})
listener.bind(sys.argv[1])
listener.listen(8)
while True:
    listener.accept()[0].close()" "$1" &
	own $!
	wait_for 20 test -S "$1"
}

# starts FOLDER: a daemon in a folder of its own.
starts() {
	mkdir -p "$1"
	"$BIN/rnicd" --address "$loopback.9" --socket "$1/rnicd.sock" >"$WORK/own.log" 2>&1 &
	own_daemon=$!
	own $own_daemon
	wait_for 20 "$BIN/rnicctl" show device --socket "$1/rnicd.sock"
}

for side in 0 1; do
	check "a specification" specify $side --device "rnic$side"
	specify $side >"$WORK/side$side.json"
done
check "the socket names the device" grep -q '"name": "rnicd"' "$WORK/side0.json"
check "a container sees it" grep -q rnic0 <(contained 0 ibv_devices 2>&1)
check "and its files" grep -qx "4: ACTIVE" \
	<(contained 0 cat /sys/class/infiniband/rnic0/ports/1/state 2>&1)
check "the folder of the socket is read-only there" refused contained 0 touch \
	"$WORK/side0/file"

contained 0 ibv_rc_pingpong -g "${side_gid[0]}" -c -n 200 -p 18999 >"$WORK/server.out" 2>&1 &
server_pid=$!
own $server_pid
wait_for 20 is_listening 0 18999
contained 1 ibv_rc_pingpong -g "${side_gid[1]}" -c -n 200 -p 18999 127.0.0.1 \
	>"$WORK/client.out" 2>&1
client_status=$?
wait_for 20 has_ended $server_pid
wait $server_pid
server_status=$?
pair_judge "a program in one container, the other in another"

echo "# a folder that a container must not have"
folder=$WORK/own
starts "$folder"
own=$folder/rnicd.sock
check "a daemon alone in its folder" "$BIN/rnicctl" cdi --socket "$own"
check "without a home" env -u HOME "$BIN/rnicctl" cdi --socket "$own"
check "with an empty one" env HOME= "$BIN/rnicctl" cdi --socket "$own"
for what in bus .hidden other.sock.view rnicd.sock.other; do
	touch "$folder/$what"
	check "beside the file $what" refuses "$what in it is not of rnicd" "$own"
	rm "$folder/$what"
done
touch "$folder/rnicd.sock.log" "$folder/rnicd.sock.lock"
check "rnic-run's files beside the socket are no reason" "$BIN/rnicctl" cdi --socket "$own"
rm "$folder/rnicd.sock.log"
ln -s /etc/passwd "$folder/rnicd.sock.log"
check "a link in the place of the log" refuses "rnicd.sock.log in it is not of rnicd" "$own"
rm "$folder/rnicd.sock.log"
ln -s rnicd.sock "$folder/link.sock"
check "a link to the socket" refuses "link.sock is a symbolic link" "$folder/link.sock"
check "a link beside the socket" refuses "link.sock in it is not of rnicd" "$own"
rm "$folder/link.sock"
for kind in stream seqpacket; do
	listens "$folder/docker.sock" $kind
	check "another program's socket ($kind) beside rnicd's" \
		refuses "no rnicd answers on docker.sock" "$own"
	check "the other program's socket itself" \
		refuses "docker.sock: Protocol wrong type\|the daemon" "$folder/docker.sock"
	end_process "${processes[-1]}"
	check "a socket that nobody serves any more" \
		refuses "no rnicd answers on docker.sock" "$own"
	rm "$folder/docker.sock"
done
for mode in 775 757 1777; do
	chmod $mode "$folder"
	check "a folder of mode $mode" refuses "other users may write in $folder" "$own"
done
chmod 755 "$folder"
chmod 777 "$WORK"
check "a folder that others can replace" refuses "other users may write in $WORK;" "$own"
chmod 700 "$WORK"
chown 4711 "$folder"
check "a folder of another user" refuses "user 4711 owns $folder" "$own"
chown 0 "$folder"
ln -s "$folder" "$WORK/way"
check "by a link to the folder, its own path" grep -q "\"RNIC_SOCKET=$own\"" \
	<("$BIN/rnicctl" cdi --socket "$WORK/way/rnicd.sock")
end_process $own_daemon
for folder in "$WORK"/$'no\xff' "$WORK/a:b"; do
	starts "$WORK/plain"
	mv "$WORK/plain" "$folder"
	ln -sfn "$folder" "$WORK/way"
	check "a path that a specification cannot hold" refuses "no UTF-8\|colon" \
		"$WORK/way/rnicd.sock"
	mv "$folder" "$WORK/plain"
	end_process $own_daemon
done
check "no daemon" refuses "no rnicd answers at $own" "$own"

check "a full disk is told" refused sh -c "'$BIN/rnicctl' cdi --socket \
	'${side_socket[0]}' >/dev/full"
check "a wrong name is refused" refused specify 0 --device "no name"
topology_finish
