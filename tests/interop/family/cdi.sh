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

mkdir "$WORK/mixed"
touch "$WORK/mixed/bus"
check "a folder with other things is refused" refused "$BIN/rnicctl" cdi \
	--socket "$WORK/mixed/rnicd.sock"
mkdir "$WORK"/$'no\xff'
check "a path that is no UTF-8 is refused" refused "$BIN/rnicctl" cdi \
	--socket "$WORK"/$'no\xff'/rnicd.sock
check "a path with a colon is refused" refused "$BIN/rnicctl" cdi --socket "$WORK/a:b.sock"
check "a full disk is told" refused sh -c "'$BIN/rnicctl' cdi --socket \
	'${side_socket[0]}' >/dev/full"
check "a folder of others is refused" refused "$BIN/rnicctl" cdi --socket /tmp/rnicd.sock
check "a folder that is not there is refused" refused "$BIN/rnicctl" cdi \
	--socket /nosuchdir/rnicd.sock
check "a wrong name is refused" refused specify 0 --device "no name"
topology_finish
