#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A test that ctest kills at its time limit leaves nothing: no process, no directory, no namespace.
#
#   killed_test.sh          the test
#   killed_test.sh victim   what is killed: it has all of them, and waits for ever
. "$(dirname "$0")/lib.sh"

topology=pair
[ "$(id -u)" -ne 0 ] || topology=netns-1500

if [ "${1:-}" = victim ]; then
	topology_start $topology socket 4
	pair_start ibv_rc_pingpong -n 100000000
	# A process that ctest does not find: its parent is init.
	(setsid tail -f /dev/null </dev/null >/dev/null 2>&1 &)
	echo "$WORK $RUN_ID" >"$VICTIM_SAYS"
	wait_for 100000 false
fi

export VICTIM_SAYS=$WORK/victim
mkdir "$WORK/suite"
echo "add_test(victim \"$BASH\" \"$INTEROP/killed_test.sh\" victim)" \
	>"$WORK/suite/CTestTestfile.cmake"

# kill_victim [VARIABLE=VALUE...]: sets victim_work and victim_id.
kill_victim() {
	rm -f "$VICTIM_SAYS"
	env -u RNIC_TEST_WORK -u RNIC_TEST_ID "$@" \
		ctest --test-dir "$WORK/suite" --timeout $victim_seconds >"$WORK/ctest.out" 2>&1
	check "ctest kills it at its limit" grep -q "Timeout" "$WORK/ctest.out"
	check "it had begun" read -r victim_work victim_id <"$VICTIM_SAYS"
	read -r victim_work victim_id <"$VICTIM_SAYS"
}

victim_seconds=5
[ -z "$SLOW" ] || victim_seconds=20

left_processes() {
	grep -lsz "^RNIC_TEST_WORK=$victim_work\$" /proc/[0-9]*/environ
}

left_namespaces() {
	ip netns list | grep "^rnic-$victim_id-"
}

nothing_is_left() {
	[ ! -e "$victim_work" ] && [ -z "$(left_processes)" ] && [ -z "$(left_namespaces)" ]
}

kill_victim
check "nothing is left of it" wait_for 10 nothing_is_left

# What looks for the rest must find it, where nobody removes it.
mkdir "$WORK/own"
kill_victim RNIC_TEST_WORK="$WORK/own" RNIC_TEST_ID=$$
check "a directory is found" test -e "$victim_work"
check "a process is found" test -n "$(left_processes)"
if [ $topology != pair ]; then check "namespaces are found" left_namespaces; fi
while read -r process; do
	process=${process#/proc/}
	kill -KILL "${process%/environ}"
done < <(left_processes)
while read -r namespace _; do ip netns delete "$namespace"; done < <(left_namespaces)
rm -r "$victim_work"
check "nothing is left at the end" wait_for 10 nothing_is_left
test_finish
