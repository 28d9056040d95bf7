#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_format.sh TREE: whether the C sources are as .clang-format has them; names those that are
# not. Versions of clang-format differ in what they make of the same settings, so only the one of
# Debian 12 judges. Exit status 0, 1, or 77 where that is missing.
set -u
cd "$1" || exit 1

version=14
formatter=
for candidate in clang-format-$version clang-format; do
	if "$candidate" --version 2>/dev/null | grep -q " version $version\."; then
		formatter=$candidate
		break
	fi
done
if [ -z "$formatter" ]; then
	echo "skipped: there is no clang-format $version"
	exit 77
fi

# A C file at the top is the reader's own: the README's commands make one.
mapfile -t files < <(git ls-files '*.c' '*.h' 2>/dev/null)
[ ${#files[@]} -gt 0 ] ||
	mapfile -t files < <(find . -mindepth 2 -path './build*' -prune -o -name '*.[ch]' -print)
complaints=$("$formatter" --dry-run --Werror "${files[@]}" 2>&1) && exit 0
echo "run clang-format -i on"
grep -E ': error: ' <<<"$complaints" | cut -d: -f1 | sort -u
exit 1
