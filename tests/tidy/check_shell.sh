#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check_shell.sh [FILE...]: shellcheck, with .shellcheckrc, over all shell scripts of the tree, or
# over the FILEs. Exit status 0, 1, or 77 without shellcheck.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v shellcheck >/dev/null || { echo "skipped: there is no shellcheck"; exit 77; }

# Scripts by name, and those without a suffix by their first line.
scripts() {
	find . \( -name '.git' -o -path './build*' \) -prune -o -type f -name '*.sh' -print
	find . \( -name '.git' -o -path './build*' \) -prune -o -type f ! -name '*.*' \
		-exec grep -lIEm 1 '^#!/.*\b(ba|da)?sh\b' {} + | while read -r file; do
		head -n 1 "$file" | grep -q '^#!' && echo "$file"
	done
}

if [ $# -eq 0 ]; then
	cd "$top" || exit 1
	mapfile -t files < <(scripts)
else
	files=("$@")
fi
[ ${#files[@]} -gt 0 ] || { echo "no script to check"; exit 1; }
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 16 shellcheck -f gcc
status=$?
echo "shellcheck: ${#files[@]} scripts"
[ $status -eq 0 ]
