#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Types doc/tutorial.md and doc/on-the-wire.md: what the pages show comes, from two RNICs to a
# network that loses packets, and what happens on the wire then.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/page.sh"

page=$DOC/tutorial.md
python3 -B "$NEWCOMER/type_page.py" titles "$page" >"$WORK/titles"
check "the page has its nine sections" test "$(wc -l <"$WORK/titles")" -eq 9
# The README has the commands of the first section, and tests/debian types them.
sed -i 1d "$WORK/titles"
for program in hello score; do
	python3 -B "$NEWCOMER/type_page.py" program "$page" "$program" >"$program.c"
	check "$program has no warning" cc -Wall -Wextra -Werror -c "$program.c" -o /dev/null
done

# The sections go on in one shell, with the daemons of the first.
awk 1 "$WORK/titles" | while read -r title; do
	python3 -B "$NEWCOMER/type_page.py" script "$page" "$title"
done >"$WORK/script"
echo 'kill $(jobs -p) 2>/dev/null; wait' >>"$WORK/script"
check "all is typed in time" run_script
while read -r title; do
	judges "$page" "$title"
done <"$WORK/titles"

check "the bad network lost packets" grep -qE '^ *fault drop=10% +[1-9]' "$WORK/typed"
check "and they were sent again" grep -qE '^ *retransmitted_pkts +[1-9]' "$WORK/typed"

# ---- the second tutorial ----

page=$DOC/on-the-wire.md
python3 -B "$NEWCOMER/type_page.py" titles "$page" >"$WORK/titles"
check "the second page has its four sections" test "$(wc -l <"$WORK/titles")" -eq 4
while read -r title; do
	types on-the-wire.md "$title"
done <"$WORK/titles"

hangs() {
	! PAGE_SECONDS=1 run_script && grep -qx "it hangs" "$WORK/typed"
}
echo 'sleep 60' >"$WORK/script"
check "a page that hangs is found" hangs
test_finish
