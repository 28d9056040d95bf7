#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check_python.sh [FILE...]: pyflakes3 over all Python files of the tree, or over the FILEs. Exit
# status 0, 1, or 77 without pyflakes3.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v pyflakes3 >/dev/null || { echo "skipped: there is no pyflakes3"; exit 77; }

if [ $# -eq 0 ]; then
	cd "$top" || exit 1
	mapfile -t files < <(find . \( -name '.git' -o -path './build*' \) -prune -o \
		-type f -name '*.py' -print)
else
	files=("$@")
fi
[ ${#files[@]} -gt 0 ] || { echo "no file to check"; exit 1; }
pyflakes3 "${files[@]}"
status=$?
echo "pyflakes3: ${#files[@]} files"
[ $status -eq 0 ]
