#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Verbs programs under the tools that look into programs: tools.sh PORT
. "$(dirname "$0")/../lib.sh"

[ -z "$SLOW" ] || skip_test "these tools cannot look into a build with sanitizers"
topology_start one "$1" 4
program=$BUILD/tests/verbs_memory
unmapped=$BUILD/tests/verbs_unmapped
all_passed="PASSED  \] [1-9][0-9]* test"

# under NAME COMMAND...: the command runs below rnic-run and ends with status 0.
under() {
	local name=$1
	shift
	if timeout 200 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" "${direct[@]}" \
		"$@" >"$WORK/$name" 2>&1; then
		pass "$name"
	else
		fail "$name" "$WORK/$name"
	fi
	check "and the program had its device" grep -qE "$all_passed" "$WORK/$name"
	check "and no test of it failed" test "$(grep -c "FAILED" "$WORK/$name")" -eq 0
}

# has_tool NAME: says why a part is left out.
has_tool() {
	command -v "$1" >/dev/null || { skip_part "$1 is not installed" && false; }
}

# allow_guarded FILE: of a device inside the program, memcheck sees the copy that finds that
# registered memory is gone.
allow_guarded() {
	for bytes in 1 2 4 8 16; do
		printf '{\n\tguarded\n\tMemcheck:Addr%d\n\tfun:rnic_guarded_*\n}\n' $bytes
	done >"$1"
}

if has_tool valgrind; then
	under valgrind valgrind --error-exitcode=9 --leak-check=full "$program"
	check "valgrind finds nothing" grep -q "ERROR SUMMARY: 0 errors" "$WORK/valgrind"
	# valgrind may lack userfaultfd(2): then the program tries what holds without a watch.
	allow_guarded "$WORK/guarded"
	under valgrind-unmapped valgrind --error-exitcode=9 --child-silent-after-fork=yes \
		--suppressions="$WORK/guarded" "$unmapped"
	grep "^skipped" "$WORK/valgrind-unmapped"
fi
if has_tool gdb; then
	under gdb gdb -q -batch -ex run "$program"
	check "gdb sees it end well" grep -q "exited normally" "$WORK/gdb"
	# SIGUSR1 is the program's, SIGSEGV that of a copy.
	under gdb-unmapped gdb -q -batch -ex "handle SIGUSR1 SIGSEGV nostop noprint pass" \
		-ex run "$unmapped"
	check "gdb sees it end well, too" grep -q "exited normally" "$WORK/gdb-unmapped"
	timeout 60 gdb -q -batch -ex run --args "$BIN/rnic-run" --no-daemon "${direct[@]}" \
		--socket "${side_socket[0]}" "$program" >"$WORK/gdb-first" 2>&1
	check "gdb follows rnic-run into the program" grep -qE "$all_passed" "$WORK/gdb-first"
fi
if has_tool strace; then
	under strace strace -f -o "$WORK/calls" "$program"
	check "strace sees the requests" grep -q sendmsg "$WORK/calls"
fi
# The library of the sanitizer wants to be the first of all, but ours come before it.
if [ -x "$program.asan" ]; then
	under sanitizer "$program.asan"
	ASAN_OPTIONS=detect_leaks=0 under own-options "$program.asan"
else
	skip_part "the compiler has no shared address sanitizer"
fi
topology_finish
