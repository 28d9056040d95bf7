#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Python package and its pytest plug-in, as a user has them: tests that pass, tests that fail
# and say why, and a pytest that is ended in their midst. Nothing is left of any of them.
. "$(dirname "$0")/../lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3 # the one that the distribution's modules are for
$python -c 'import pytest' 2>/dev/null || skip_test "python3-pytest is not installed"
$python -c 'import pyverbs.device' 2>/dev/null || skip_test "python3-pyverbs is not installed"

export PATH=$BIN:$PATH PYTHONPATH=$here/../../../tools/python PYTHONDONTWRITEBYTECODE=1
export SLEEP=1000.$RUN_ID # no other sleep on this machine has this length
mkdir "$WORK/rnic" "$WORK/tests"
cp "$here"/sample_*.py "$WORK/tests"
chmod 1777 "$WORK/rnic" "$WORK/tests"

# exec_pytest SAMPLE OPTION...: replaces the shell by pytest. Every daemon, program and directory of
# its devices has $WORK/rnic in its name.
exec_pytest() {
	local sample=$1
	shift
	cd "$WORK/tests" || exit 1
	TMPDIR=$WORK/rnic exec "$@" $python -m pytest -q -p no:cacheprovider -p rnic.pytest_plugin \
		"--basetemp=$WORK/tests/base-$BASHPID" "sample_$sample.py" 2>&1
}

nothing_left() {
	local namespaces
	namespaces=$(readlink /proc/[0-9]*/ns/net 2>/dev/null | sort -u | wc -l)
	[ -z "$(ls -A "$WORK/rnic")" ] && ! pgrep -f "^[^ ]*rnicd .*$WORK/rnic" &&
		! pgrep -f "^sleep $SLEEP\$" &&
		{ [ -z "${RNIC_TEST_ISOLATED:-}" ] || [ "$namespaces" -eq 1 ]; }
}

echo "# tests that pass"
where=loopback
[ "$(id -u)" -ne 0 ] || where=namespaces
(EXPECT_HOSTS=$where exec_pytest good) >"$WORK/good" || fail "they pass" "$WORK/good"
check "all of them" grep -qE '^16 passed' "$WORK/good"
check "they leave nothing" wait_for 20 nothing_left
check "they keep no capture" test ! -e "$WORK/tests/rnic-failures"
if [ "$(id -u)" -eq 0 ]; then
	(EXPECT_HOSTS=loopback exec_pytest good \
		setpriv --reuid 65533 --regid 65533 --clear-groups) >"$WORK/user" ||
		fail "an ordinary user's pass" "$WORK/user"
	check "all of them" grep -qE '^16 passed' "$WORK/user"
	check "they leave nothing" wait_for 20 nothing_left
else
	skip_part "tests of root need root"
fi

echo "# the examples of doc/guide and of the manual"
{
	echo "import pytest"
	sed -n '/^```python$/,/^```$/ { /^```/!p }' "$here/../../../doc/guide/testing.md"
} >"$WORK/tests/sample_guide.py"
sed -n '/^\.EX$/,/^\.EE$/ { /^\./!p }' "$PYTHONPATH/python3-rnic.7" >"$WORK/tests/sample_manual.py"
for page in guide manual; do
	(exec_pytest $page) >"$WORK/$page" || fail "they pass" "$WORK/$page"
	check "those of the $page" grep -qE '^[12] passed' "$WORK/$page"
done
check "they leave nothing" wait_for 20 nothing_left

echo "# tests that fail"
(exec_pytest bad) >"$WORK/bad"
says() {
	if grep -qE -- "$2" "$WORK/bad"; then pass "$1"; else fail "$1" "$WORK/bad"; fi
}
says "their number" '^2 failed, 2 passed, 3 errors'
says "the output of the program" "^E +Couldn't read/write remote address"
says "what the device refused" '^  ibv_rc_pingpong \(pid [0-9]+\): MODIFY_QP refused'
says "why" '^    why: the address vector has no GID of the peer'
says "what the device counted" '^  retransmitted_pkts +\+[0-9]'
says "how often a fault acted" '^  fault drop@rc-send/first=2 +\+2$'
says "which faults it had" '^rnic1, 127\.[0-9.]*, fault drop@rc-send/first=2,seed=7$'
says "what a queue pair waits for" '^E +queue pair 0x[0-9a-f]+ \(RTS\) waits for: '
says "the device of a fixture that fails at its end" 'RuntimeError: the end of a fixture'
says "a daemon that died" 'DeviceError: rnicd ended with status -6 before its device was closed'
says "a setting that does not exist" 'the marker rnic takes .* and not faults'
kept=$WORK/tests/rnic-failures/sample_bad.py-test_refused
says "where the capture is" "^kept: $kept/rnic0\.pcapng"
check "the captures and logs are kept" test "$(cd "$kept" && printf '%s ' *)" = \
	"rnic0.log rnic0.pcapng rnic1.log rnic1.pcapng "
check "each packet of a capture is good" "$BIN/rnic-inspect" --summary "$kept/rnic0.pcapng"
check "tests without a capture keep none" test "$(echo "${kept%/*}"/*bad*)" = "$kept"
check "they leave nothing" wait_for 20 nothing_left

for signal in INT TERM KILL; do
	echo "# a pytest that SIG$signal ends"
	rm -f "$WORK/tests/reached"
	(exec_pytest endless env --default-signal=INT) >"$WORK/endless" &
	pytest=$!
	own $pytest
	wait_for 30 test -e "$WORK/tests/reached" || fail "the test begins" "$WORK/endless"
	check "its programs run" wait_for 20 pgrep -f "^sleep $SLEEP\$"
	signal_process $signal $pytest
	check "it ends" wait_for 20 has_ended $pytest
	check "it leaves nothing" wait_for 20 nothing_left
done
test_finish
