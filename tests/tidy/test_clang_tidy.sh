#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_clang_tidy.sh: clang_tidy.sh lets a sound file pass, and complains of faults that the checks
# are to find, of a build tree without commands and of a file that does not compile.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect STATUS WHAT: of clang_tidy.sh over the C file on standard input.
expect() {
	local status wanted=$1 what=$2
	cat >"$work/a.c"
	printf '[{"directory": "%s", "command": "cc -c a.c", "file": "%s"}]\n' "$work" \
		"$work/a.c" >"$work/compile_commands.json"
	"$here/clang_tidy.sh" "$work" "$work/a.c" >"$work/output" 2>&1
	status=$?
	[ $status -eq 77 ] && { cat "$work/output"; exit 77; }
	[ $status -eq "$wanted" ] && return
	failures=$((failures + 1))
	echo "FAIL  $what: status $status, not $wanted"
	cat "$work/output"
}

expect 0 "a sound file" <<<'int f(int a) { return a + 1; }'
expect 1 "a null pointer that is followed" <<<'int f(int *a) { if (a) return 1; return *a; }'
expect 1 "a result that nothing reads" <<<'int f(int a) { int b = a * 2; b = 3; return b; }'
expect 1 "a loop that never ends" <<<'int f(int a) { int b = 0; while (b < 3) a++; return a; }'
expect 1 "a file that does not compile" <<<'int f(void) { return nothing; }'
"$here/clang_tidy.sh" "$work/none" >"$work/output" 2>&1 && {
	failures=$((failures + 1))
	echo "FAIL  a build tree without commands passes"
}
echo "clang-tidy: $failures failures"
[ $failures -eq 0 ]
