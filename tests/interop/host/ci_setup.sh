#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tools/ci/setup.sh where rnicd is installed: starts devices, says how to find them, reports, stops.
. "$(dirname "$0")/../lib.sh"

unset RNIC_SOCKET GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_ACTIONS
folder=$WORK/ci
top=$(cd "$INTEROP/../.." && pwd)

setup() {
	"$top/tools/ci/setup.sh" --folder "$folder" "$@" >"$WORK/setup.out" 2>&1
}

refused() {
	! setup "$@"
}

says() {
	grep -qE -- "$1" "$WORK/setup.out" || { cat "$WORK/setup.out"; return 1; }
}

refuses_to_say() {
	! grep -qE -- "$1" "$WORK/setup.out"
}

# In a process of its own, which may change its directory.
stop_by_another_name() (
	cd "$WORK" && folder=ci/ && setup stop
)

no_process() {
	! grep -qsF "$folder" /proc/[0-9]*/cmdline
}

daemon_of() {
	cat "$folder/rnic$1.pid"
}

# The daemons that setup.sh has started are this test's to end.
own_daemons() {
	local i process
	for i in "$@"; do
		own "$(daemon_of "$i")"
		for process in $(devices_of "$(daemon_of "$i")"); do own "$process"; done
	done
}

cmake --install "$BUILD" --prefix "$folder/install" >"$WORK/install.out" 2>&1 ||
	fail "an installation" "$WORK/install.out"

echo "# two devices"
first=127.0.0.2
blocker=""
if [ -n "${RNIC_TEST_ISOLATED:-}" ]; then
	"$BIN/rnicd" --address 127.0.0.2 --socket "$WORK/blocker.sock" >"$WORK/blocker.log" 2>&1 &
	blocker=$!
	own $blocker
	wait_for 20 "$BIN/rnicctl" show device --socket "$WORK/blocker.sock"
	first=127.0.0.3
fi
check "they start" setup --devices 2 --capture start
own_daemons 0 1
[ -z "${RNIC_TEST_ISOLATED:-}" ] || check "at the first address that is free" says \
	"^device 0: $first, socket $folder/sockets/rnic0.sock$"
before=$(daemon_of 0)/$(daemon_of 1)
check "they stay at a second start" setup --devices 2 --capture start
check "which says so" says "^device 1 runs already$"
check "with their processes" test "$before" = "$(daemon_of 0)/$(daemon_of 1)"
check "another wish is refused" refused --devices 2 start
check "with a reason" says "runs with other options; first: setup.sh stop"
check "a third one joins" setup --devices 3 --capture start
own_daemons 2

echo "# variables"
"$top/tools/ci/setup.sh" --folder "$folder" env >"$WORK/variables"
(
	. "$WORK/variables"
	test "$(command -v rnic-run)" = "$folder/install/bin/rnic-run" &&
		test "$RNIC_SOCKET" = "$RNIC_SOCKET_0" && test -S "$RNIC_SOCKET_2" &&
		rnic-run --no-daemon --socket "$RNIC_SOCKET_1" --address "$RNIC_ADDRESS_1" \
			ibv_devices
) >"$WORK/devices"
check "a program finds a device by them" grep -q rnic1 "$WORK/devices"
(
	export GITHUB_ENV=$WORK/github.env GITHUB_PATH=$WORK/github.path
	export GITHUB_OUTPUT=$WORK/github.output
	setup --devices 3 --capture start
)
check "GitHub's file has them" \
	grep -qxF "RNIC_SOCKET_2=$folder/sockets/rnic2.sock" "$WORK/github.env"
check "the PATH, too" grep -qxF "$folder/install/bin" "$WORK/github.path"
check "and the output" grep -qxF "socket=$folder/sockets/rnic0.sock" "$WORK/github.output"

check "containers may have the folder of the sockets" \
	"$BIN/rnicctl" cdi --socket "$folder/sockets/rnic0.sock"

echo "# programs on two of the devices"
. "$WORK/variables"
side_socket=("$RNIC_SOCKET_0" "$RNIC_SOCKET_1")
side_pid=("$(daemon_of 0)" "$(daemon_of 1)")
find_gid 0 "$RNIC_ADDRESS_0"
find_gid 1 "$RNIC_ADDRESS_1"
pair_run ibv_rc_pingpong -c -n 100
pair_start ibv_rc_pingpong -g 9
pair_wait 30
own_daemons 0 1 2

echo "# the commands of the action"
# step COMMANDS [SCENARIO]: runs them as action.yml does
step() {
	COMMANDS=$1 SCENARIO=${2:-} EXPLAIN=${explain:-true} \
		bash --noprofile --norc -e -o pipefail "$WORK/step" >"$WORK/setup.out" 2>&1
}
step_fails() {
	! step "$@"
}
if python3 -c "import yaml" 2>"$WORK/no_yaml"; then
	python3 - "$top/action.yml" >"$WORK/step" <<-'END'
		import sys, yaml
		steps = yaml.safe_load(open(sys.argv[1]))["runs"]["steps"]
		print(next(step["run"] for step in steps if step["name"] == "Run the commands"))
	END
	echo "fail=EIO@alloc_pd/program=ibv_rc_pingpong" >"$WORK/scenario"
	check "run" step "rnic-run --no-daemon ibv_devices"
	check "under a scenario" step_fails \
		"rnic-run --no-daemon ibv_rc_pingpong -g 0; echo not reached" "$WORK/scenario"
	check "which acts" says "Couldn't allocate PD"
	check "and says so" says "line 1, .*: 1 hit"
	check "the failure is explained" says "alloc_pd"
	check "the first failure ends them" refuses_to_say "not reached"
	check "nothing of a scenario is left" grep -qx "no faults" \
		<("$BIN/rnicctl" fault list --socket "$RNIC_SOCKET_0")
else
	echo "skipped: python3-yaml is missing, which reads action.yml"
fi

echo "# the report"
check "while the devices run" setup report
check "it says what went wrong" says "MODIFY_QP refused"
check "it names its folder" says "^logs and captures: $folder/report$"
check "the captures hold the packets" grep -q "RC SEND.*ICRC ok" \
	<("$BIN/rnic-inspect" "$folder/report/rnic1.pcapng")
check "the log is there" grep -q serves "$folder/report/rnic2.log"
check "the state is there" grep -q '"troubles"' "$folder/report/rnic0.json"
signal_process KILL "$(daemon_of 1)"
wait_for 20 has_ended "$(daemon_of 1)"
check "and when one has died" setup report
check "it says that" says "no daemon answers any more"
check "its old state is gone" test ! -e "$folder/report/rnic1.json"
rm "$folder/rnic1.log"
check "and when its log is gone" setup report
check "it goes on with the next device" test -e "$folder/report/rnic2.json"
check "to its end" says "^logs and captures: $folder/report$"
check "it starts again" setup --devices 3 --capture start
own_daemons 1
check "and answers" "$BIN/rnicctl" show device --socket "$folder/sockets/rnic1.sock"

echo "# the end"
check "setup.sh stops them, by another name of the folder" stop_by_another_name
check "no socket is left" test -z "$(ls -A "$folder/sockets")"
check "stop again" setup stop
check "a device that cannot start is an error" refused --address 203.0.113.9 start
check "with its log" says "203.0.113.9"
check "nothing of earlier devices is left" test -z "$(find "$folder" -name "rnic[12].*")"
if [ -n "$blocker" ]; then
	check "the second of two cannot start" refused --address 127.0.0.1 --devices 2 start
	check "with its log, too" says "device 1 did not start"
	check "the first does not stay" refused env
	check "without a process" no_process
	"$top/tools/ci/setup.sh" --folder "$folder" --devices 64 start >"$WORK/setup.out" 2>&1 &
	starting=$!
	own $starting
	wait_for 20 test -e "$folder/rnic0.address"
	signal_process TERM $starting
	check "a start that a signal ends does so" wait_for 20 has_ended $starting
	check "before it has all devices" test ! -e "$folder/rnic63.address"
	check "and leaves none" no_process
fi
[ -z "$blocker" ] || end_process "$blocker"
test_finish
