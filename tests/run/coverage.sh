#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# coverage.sh BUILD: what a build with -DRNIC_COVERAGE=ON has run so far. Prints the covered lines
# of each room and the ten files with the lowest share, and writes BUILD/coverage/index.html with
# every line.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
report=$build/coverage

command -v gcovr >/dev/null || {
	echo "there is no gcovr: tools/install-packages.sh coverage"
	exit 1
}
rm -rf "$report"
mkdir "$report"
gcovr --root "$top" --object-directory "$build" --exclude "$top/tests/" --exclude "$build/" \
	--gcov-ignore-parse-errors --exclude-unreachable-branches \
	--json-summary "$report/summary.json" --html-details "$report/index.html" \
	"$build" >/dev/null
python3 -B "$top/tests/run/coverage_table.py" "$report/summary.json"
echo "every line: $report/index.html"
