#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# An ordinary user who names no socket finds the machine's daemon in /run/rnicd: the one of the
# interface that the user names, else of the default route's; and hears which daemon serves, or why
# one does not. A socket that the user names, and an own daemon, come first.
. "$(dirname "$0")/../lib.sh"
. "$INTEROP/family/user_programs.sh"

require_users
[ -n "${RNIC_TEST_ISOLATED:-}" ] || skip_test "an own /run needs namespaces of root"
mount -t tmpfs -o mode=755 tmpfs /run && mkdir -m 755 /run/rnicd || exit 1
ip link add red0 type veth peer name red1 || skip_test "no veth devices here"
for device in red0 red1; do ip link set $device up; done
ip address add 10.88.0.1/24 dev red0
ip route add default via 10.88.0.2 dev red0
user=31006
chmod 711 "$WORK"
install -d -o $user -m 700 "$WORK/runtime"

# as_user COMMAND...: as an ordinary user who has logged in and names no socket.
as_user() {
	(exec_as_user "$@")
}

exec_as_user() {
	exec setpriv --reuid $user --regid $user --clear-groups \
		env -u RNIC_SOCKET XDG_RUNTIME_DIR="$WORK/runtime" "$@"
}

# machine_start NAME OPTION...: starts a daemon as the unit of an interface does.
machine_start() {
	local name=$1
	shift
	"$BIN/rnicd" --socket "/run/rnicd/$name.sock" "$@" >"$WORK/$name.log" 2>&1 &
	machine[$name]=$!
	own $!
	wait_for 20 "$BIN/rnicctl" show device --socket "/run/rnicd/$name.sock" ||
		fail "rnicd of $name starts" "$WORK/$name.log"
}

# machine_end NAME SIGNAL
machine_end() {
	local process
	for process in $(devices_of "${machine[$1]}"); do own "$process"; done
	signal_process "$2" "${machine[$1]}"
	wait_for 10 has_ended "${machine[$1]}" || fail "rnicd of $1 ends"
}

# uses SOCKET OPTION...: rnic-run gives its command this socket, and says so.
uses() {
	local socket=$1
	shift
	as_user "$BIN/rnic-run" --no-daemon "$@" printenv RNIC_SOCKET \
		>"$WORK/used" 2>"$WORK/used.err"
	cat "$WORK/used" "$WORK/used.err"
	grep -qx "$socket" "$WORK/used" || return 1
	case $socket in
	/run/*) grep -q "^rnic-run: using the machine's rnicd on $socket (" "$WORK/used.err" ;;
	*) [ ! -s "$WORK/used.err" ] ;;
	esac
}

uses_variable() {
	as_user env RNIC_SOCKET="$1" "$BIN/rnic-run" --no-daemon printenv RNIC_SOCKET \
		>"$WORK/used" && grep -qx "$1" "$WORK/used"
}

fails() {
	! "$@"
}

# says PATTERN: the last rnic-run said so.
says() {
	grep -Eq -- "$1" "$WORK/used.err" || { cat "$WORK/used.err"; return 1; }
}

server_then_client() {
	as_user "$BIN/rnic-run" ibv_rc_pingpong -g 0 -n 100 >"$WORK/server.out" 2>&1 &
	own $!
	wait_for 10 is_listening 0 18515
	as_user "$BIN/rnic-run" ibv_rc_pingpong -g 0 -n 100 10.88.0.1 && wait $!
}

none_serves() {
	! as_user "$BIN/rnic-run" --no-daemon "$@" true 2>"$WORK/used.err"
}

declare -A machine
echo "# one for each interface"
machine_start lo --netdev lo
machine_start red0 --netdev red0
check "the default route's" uses /run/rnicd/red0.sock
check "the interface that the user names" uses /run/rnicd/lo.sock --netdev lo
check "the interface with the address" uses /run/rnicd/lo.sock --address 127.0.0.1
check "not the interface without the address" none_serves --address 10.88.0.9
check "programs run on it" server_then_client
check "rnicctl shows it" grep -q '"netdev": "red0"' \
	<(as_user "$BIN/rnicctl" show device --json 2>/dev/null)

echo "# what the user names"
ln -s /run/rnicd/lo.sock "$WORK/named.sock"
ln -s /run/rnicd/lo.sock.view "$WORK/named.sock.view"
check "a socket" uses "$WORK/named.sock" --socket "$WORK/named.sock"
check "a variable" uses_variable "$WORK/named.sock"

echo "# sockets without use"
machine_end red0 KILL
check "one that nobody serves" uses /run/rnicd/lo.sock
check "and why" says '^rnic-run: nobody serves on /run/rnicd/red0.sock any more$'
rm -r /run/rnicd/red0.sock* # what the killed daemon left
chown "$user_a" /run/rnicd
machine_start red0 --netdev red0 --user "$user_a"
check "one whose daemon refuses the user" uses /run/rnicd/lo.sock
check "and why" says '^rnic-run: the rnicd on /run/rnicd/red0.sock does not serve you: .*--allow'
check "rnicctl shows the same one" grep -q '"netdev": "lo"' \
	<(as_user "$BIN/rnicctl" show device --json 2>/dev/null)
machine_end red0 TERM
chown 0 /run/rnicd
machine_start red0 --netdev red0 --socket-mode 0600
check "one that the user may not open" uses /run/rnicd/lo.sock
check "and why" says '^rnic-run: the rnicd on /run/rnicd/red0.sock does not serve you: .*denied'
check "no other one, when the user names the interface" \
	fails as_user "$BIN/rnic-run" --no-daemon --netdev red0 true
machine_end red0 TERM

echo "# one whose device processes cannot start"
machine_end lo TERM
mount --bind "$(type -P false)" "$BIN/../libexec/rnicd-device" || exit 1
machine_start red0 --netdev red0
check "no program runs on it" none_serves
check "rnicctl, which only looks, shows it" grep -q '"netdev": "red0"' \
	<(as_user "$BIN/rnicctl" show device --json 2>/dev/null)
machine_end red0 TERM
umount "$BIN/../libexec/rnicd-device"

echo "# one that root started by hand"
machine_start rnicd --netdev red0
check "serves" uses /run/rnicd/rnicd.sock --address 10.88.0.1
check "not for another address" none_serves --address 127.0.0.9
check "and why" \
	says '^rnic-run: the rnicd on /run/rnicd/rnicd.sock has another address than 127.0.0.9$'
machine_end rnicd TERM
machine_start lo --netdev lo

echo "# an own daemon"
machine_end lo TERM
check "none serves" none_serves
check "and why" says "^rnic-run: no rnicd answers on $WORK/runtime/rnicd.sock; start one there"
machine_start red0 --netdev red0
exec_as_user "$BIN/rnicd" --address 127.0.0.9 >"$WORK/own.log" 2>&1 &
own_daemon=$!
own $own_daemon
wait_for 20 as_user "$BIN/rnicctl" show device --socket "$WORK/runtime/rnicd.sock"
check "comes before the machine's" uses "$WORK/runtime/rnicd.sock"
machine[own]=$own_daemon
machine_end own TERM
machine_end red0 TERM
check "no socket of the machine is left" fails compgen -G '/run/rnicd/*.sock'
check "no socket of the user is left" test ! -e "$WORK/runtime/rnicd.sock"
test_finish
