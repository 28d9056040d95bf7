#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What calls with wrong arguments answer, and that they leave nothing behind: verbs_refusals.sh PORT
. "$(dirname "$0")/../lib.sh"

# A hop limit that no program asks for by chance.
[ -z "${RNIC_TEST_ISOLATED:-}" ] || sysctl -q -w net.ipv4.ip_default_ttl=99

topology_start one "$1" 4

mkfifo "$WORK/hold"
exec_on 0 "$BIN/rnic-run" --no-daemon --socket "${side_socket[0]}" \
	"$BUILD/tests/verbs_refusals" <"$WORK/hold" >"$WORK/refusals" 2>&1 &
program=$!
own $program
exec {hold}>"$WORK/hold"

is_done() {
	grep -q "^all destroyed" "$WORK/refusals" || has_ended $program
}
wait_for 30 is_done
check "nothing is left while the device is still open" holds 0 clients \
	"[k for r in rows for k, v in r.items() if k in
	  ('qps', 'mrs', 'mws', 'cqs', 'pds', 'srqs') and v] == [] and len(rows) == 1"
exec {hold}>&-
wait_for 10 has_ended $program
end_process $program
wait $program
status=$?
grep -E "^(ok|FAIL) " "$WORK/refusals"
checks=$((checks + $(grep -cE "^ok " "$WORK/refusals")))
if [ $status -eq 0 ]; then pass "verbs_refusals"; else fail "verbs_refusals" "$WORK/refusals"; fi

topology_finish
