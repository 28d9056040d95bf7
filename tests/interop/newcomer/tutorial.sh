#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Types doc/tutorial.md: what the page shows comes, from two RNICs to the packets of an own program.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/page.sh"

page=$DOC/tutorial.md
python3 -B "$NEWCOMER/type_page.py" titles "$page" >"$WORK/titles"
check "the page has its five sections" test "$(wc -l <"$WORK/titles")" -eq 5
# The README has the commands of the first section, and tests/debian types them.
sed -i 1d "$WORK/titles"
python3 -B "$NEWCOMER/type_page.py" program "$page" >hello.c
check "the program has no warning" cc -Wall -Wextra -Werror -c hello.c -o /dev/null

# The sections go on in one shell, with the daemons of the first.
awk 1 "$WORK/titles" | while read -r title; do
	python3 -B "$NEWCOMER/type_page.py" script "$page" "$title"
done >"$WORK/script"
echo 'kill $(jobs -p) 2>/dev/null; wait' >>"$WORK/script"
check "all is typed in time" run_script
while read -r title; do
	judges "$page" "$title"
done <"$WORK/titles"

hangs() {
	! PAGE_SECONDS=1 run_script && grep -qx "it hangs" "$WORK/typed"
}
echo 'sleep 60' >"$WORK/script"
check "a page that hangs is found" hangs
test_finish
