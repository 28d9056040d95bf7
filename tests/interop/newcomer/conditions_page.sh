#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Types doc/guide/conditions.md: each recipe makes its condition, and the programs say so.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/page.sh"

for program in ib_write_bw ibv_rc_pingpong ibv_asyncwatch ucx_perftest; do
	command -v $program >/dev/null || skip_test "$program is not installed"
done
page=$DOC/guide/conditions.md
python3 -B "$NEWCOMER/type_page.py" titles "$page" >"$WORK/titles"
check "the page has ten recipes and more" test "$(wc -l <"$WORK/titles")" -ge 12

# The recipes go on in one shell, with the daemons of the first section.
while read -r title; do
	python3 -B "$NEWCOMER/type_page.py" script "$page" "$title"
done <"$WORK/titles" >"$WORK/script"
echo 'kill $(jobs -p) 2>/dev/null; wait' >>"$WORK/script"
check "all is typed in time" run_script
while read -r title; do
	judges "$page" "$title"
done <"$WORK/titles"
test_finish
