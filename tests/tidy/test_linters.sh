#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_linters.sh: check_shell.sh and check_python.sh let a sound file pass and complain of a fault.
# Exit status 77 where a linter is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect STATUS CHECK FILE: of the check over FILE, which has the text of standard input.
expect() {
	local status
	cat >"$work/$3"
	"$here/$2" "$work/$3" >"$work/output" 2>&1
	status=$?
	[ $status -eq 77 ] && { cat "$work/output"; exit 77; }
	[ $status -eq "$1" ] && return
	failures=$((failures + 1))
	echo "FAIL  $2 of $3: status $status, not $1"
	cat "$work/output"
}

expect 0 check_shell.sh good.sh <<'FILE'
#!/bin/bash
cd /tmp || exit 1
echo "$PWD"
FILE
expect 1 check_shell.sh bad.sh <<'FILE'
#!/bin/bash
cd /tmp
echo "$(pwd)
FILE
expect 0 check_python.sh good.py <<<'print(len("a"))'
expect 1 check_python.sh bad.py <<<'print(length("a"))'
echo "linters: $failures failures"
[ $failures -eq 0 ]
