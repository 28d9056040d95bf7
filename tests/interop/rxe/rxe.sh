#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rnicd and Linux rdma_rxe on the two ends of a wire, case by case as rxe_cases.py says.
#
#   namespace 0                                     emulated machine
#   rnicd 10.77.0.1, fd77::1   tap0 ----- eth0   rxe0 10.77.0.2, fd77::2
#
# The machine is booted once. Each stage has an rnicd of its own, which may spoil the wire. The
# cases on a good wire also run with the device inside the program, where the build has that. The
# guest itself may fail: its kernel ends, or its network dies. The stage then runs once more in a
# machine that is booted anew, and the test prints the console.
#
# rxe.sh [SUITE]: the emulated machine has the kernel of this machine's distribution, or that of a
# suite of Debian.
#
# Environment: RNIC_TEST_LONG=1 (more of everything), RNIC_RXE_STAGES (a shell pattern of the stages
# to run), RNIC_RXE_CASES (one of the cases), RNIC_RXE_OPTIONS (more options for rnicd). Patterns
# that no case matches are a failure.
suite=${1:-}
guest=${RNIC_BUILD:?}/rxe-guest${suite:+-$suite}
here=$(cd "$(dirname "$0")" && pwd)
export PYTHONDONTWRITEBYTECODE=1

# The stages with a case that is wanted, each as OPTION OF RNIC-RUN:NAME:OPTIONS OF RNICD.
list_stages() {
	local listed line
	listed=$(python3 "$here/rxe_run.py" --list ${RNIC_TEST_LONG:+--long} \
		${RNIC_RXE_CASES:+--only "$RNIC_RXE_CASES"}) || return
	while read -r line; do echo ":$line"; done <<<"$listed"
	[ ! -e "$RNIC_BUILD/lib/librnic-direct.so" ] ||
		sed -nE 's/^(transfers|failures|scenarios):/--direct:&/p' <<<"$listed"
}

stages=()
while IFS=: read -r path name options; do
	# shellcheck disable=SC2053 # a pattern
	[[ -z $name || $name${path:+ $path} != ${RNIC_RXE_STAGES:-*} ]] ||
		stages+=("$path:$name:$options")
done < <(list_stages)
[ ${#stages[@]} -gt 0 ] || {
	echo "FAIL  no case to run: stages '${RNIC_RXE_STAGES:-*}', cases '${RNIC_RXE_CASES:-*}'"
	exit 1
}
# With the kernel of a later release than this machine's go its libraries for verbs.
case $suite in
sid) packages=(libc6 libibverbs1 ibverbs-providers libnl-3-200 libnl-route-3-200) ;;
*) packages=() ;;
esac
[ -n "${RNIC_TEST_WORK:-}" ] ||
	"$here/rxe_fetch.sh" "$guest/package" ${suite:+"$suite" "${packages[@]}"}
. "$here/../lib.sh"

. "$here/rxe_guest.sh"

# A fault that never struck would prove nothing. On a good wire rxe counts, and loses nothing by it.
check_faults() {
	case $1 in
	*" at rnicd")
		check "the faults struck" holds 0 counters \
			"any(v for k, v in rows.items() if 'fault' in k)"
		;;
	*" in the guest")
		check "the faults struck" holds 0 counters "any(v for k, v in rows.items()
			if 'icrc' in k or 'retransmitted' in k or 'duplicate' in k
			or 'out_of_seq' in k)"
		;;
	*) check "no packet of rxe is doubtful" holds 0 counters "rows['icrc_doubtful'] == 0" ;;
	esac
}

# run_cases NAME [OPTION OF RNIC-RUN]: returns the exit status of rxe_run.py.
run_cases() {
	# In the background, so that a signal ends this script at once and that with it.
	python3 "$here/rxe_run.py" --agent "$WORK/agent" --stage "$1" ${LONG:+--long} \
		${RNIC_RXE_CASES:+--only "$RNIC_RXE_CASES"} -- \
		ip netns exec "${side_namespace[0]}" "$BIN/rnic-run" --no-daemon ${2:+"$2"} \
		--socket "${side_socket[0]}" "$BUILD/tests/verbs_puppet" 2>"$WORK/errors" &
	own $!
	wait $!
}

# Whether the guest is at fault. Boots the machine anew then, once in this test.
is_reborn() {
	local fault
	fault=$(guest_fault)
	[ -n "$fault" ] && [ -z "$first_fault" ] || return 1
	first_fault=$fault
	skip_part "the first run of a stage against rxe: the guest failed: $fault"
	tail -n 60 "$WORK/console" | sed 's/^/      | /'
	guest_end
	guest_start "$guest"
}

# run_stage NAME OPTIONS [OPTION OF RNIC-RUN]
run_stage() {
	local name=$1 start=$SECONDS status
	echo "# $name ${3:-}"
	# shellcheck disable=SC2086 # the options are words
	daemon_start 0 --netdev tap0 $2 ${RNIC_RXE_OPTIONS:-}
	run_cases "$name" "${@:3}"
	status=$?
	if [ $status -eq 3 ] && is_reborn; then
		run_cases "$name" "${@:3}"
		status=$?
	fi
	if [ $status -eq 0 ]; then
		pass "$name ${3:-} ($((SECONDS - start)) s)"
	else
		fail "$name ${3:-} ($((SECONDS - start)) s)" "$WORK/errors"
	fi
	[ $status -ne 3 ] || guest_is_lost=1
	[ -n "${RNIC_RXE_CASES:-}" ] || check_faults "$name"
	daemon_finish 0
}

refusal=$(guest_refusal)
[ -z "$refusal" ] || skip_test "no emulated machine: $refusal"
guest_build "$guest" || skip_test "no emulated machine: $guest_problem"

side_namespace[0]=rnic-$RUN_ID-0
ip netns add "${side_namespace[0]}" || skip_test "no network namespaces here"
on 0 ip link set lo up
guest_wire || skip_test "no emulated machine: $guest_problem"

guest_start "$guest"
first_fault=""
guest_is_lost=""

# The stages after that would only wait.
guest_lives() {
	[ -z "$guest_is_lost" ] && { is_running "$guest_pid" || is_reborn; } && return
	fail "the guest lives" "$WORK/console"
	return 1
}

for stage in "${stages[@]}"; do
	IFS=: read -r path name options <<<"$stage"
	# shellcheck disable=SC2086 # no word where the path is not named
	run_stage "$name" "$options" $path </dev/null
	guest_lives || break
done
guest_end
test_finish
