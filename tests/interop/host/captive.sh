#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rnic-run starts a daemon where none answers, one for all, and it goes away by itself.
. "$(dirname "$0")/../lib.sh"

mkdir "$WORK/captive"
socket=$WORK/captive/rnicd.sock
address=$loopback.9

run_captive() {
	"$BIN/rnic-run" --socket "$socket" --address "$address" "$@"
}

echo "# eight rnic-runs at the same moment"
runs=()
for run in 1 2 3 4 5 6 7 8; do
	run_captive ibv_devinfo >"$WORK/run$run.out" 2>&1 &
	runs+=($!)
done
for run in 1 2 3 4 5 6 7 8; do
	wait "${runs[$((run - 1))]}" || fail "run $run" "$WORK/run$run.out"
	check "run $run sees the device" grep -q rnic0 "$WORK/run$run.out"
done

daemon=$("$BIN/rnicctl" show device --json --socket "$socket" |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["device"]["pid"])')
own "$daemon"
check "one daemon serves them" test "$(pgrep -f "^$BIN/rnicd --socket $socket ")" = "$daemon"

echo "# a server and a client on it, as two terminals would"
side_socket=("$socket" "$socket")
pair_run ib_write_bw -F -c RC -s 65536 -n 100
pair_run ibv_rc_pingpong -c

echo "# and it leaves"
check "the daemon ends by itself" wait_for 20 has_ended "$daemon"
check "its socket is gone" test ! -e "$socket"
check "the next rnic-run starts another" grep -q rnic0 <(run_captive ibv_devices)
daemon=$("$BIN/rnicctl" show device --json --socket "$socket" |
	python3 -c 'import json, sys; print(json.load(sys.stdin)["device"]["pid"])')
own "$daemon"
check "and that one ends too" wait_for 20 has_ended "$daemon"
test_finish
