#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rnicctl metrics, as those read it who collect metrics: metrics.sh
. "$(dirname "$0")/../lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3 # the one that the distribution's modules are for
$python -c 'import prometheus_client' 2>/dev/null ||
	skip_test "python3-prometheus-client is not installed"

metrics() {
	"$BIN/rnicctl" metrics --socket "${side_socket[0]}" "$@"
}

topology_start one uring 4 --fault drop=1%,rx:delay=1ms,seed=7
pair_run ibv_rc_pingpong -n 200
wait_for 20 holds 0 clients "rows == []" # so that nothing moves between two looks
metrics >"$WORK/page.prom"
metrics --openmetrics >"$WORK/page.open"
control 0 counters --json >"$WORK/counters"
check "both pages have each counter, and the dashboard what exists" $python -B \
	"$here/check_metrics.py" "$WORK/page.prom" "$WORK/page.open" "$WORK/counters" \
	"$here/../../../tools/rnicctl/grafana-dashboard.json"
check "packets were counted" grep -qE '^rnic_sent_packets_total\{device="rnic0"\} [1-9]' \
	"$WORK/page.prom"
check "faults too" grep -qE 'rnic_fault_actions_total\{.*rule="rx:delay=1ms"\} [1-9]' \
	"$WORK/page.prom"

if command -v promtool >/dev/null; then
	promtool check metrics <"$WORK/page.prom" >"$WORK/promtool" 2>&1
	check "promtool has no complaint" test $? -eq 0 -a ! -s "$WORK/promtool"
else
	skip_part "promtool (package prometheus) is not installed"
fi

echo "# a file for the textfile collector"
mkdir "$WORK/collected"
echo old >"$WORK/collected/rnic.prom"
exec {old}<"$WORK/collected/rnic.prom"
check "it is written" metrics --output "$WORK/collected/rnic.prom"
check "whole" grep -q '^rnic_fault_actions_total' "$WORK/collected/rnic.prom"
check "who had it open still reads the old one" test "$(cat <&$old)" = old
check "everybody may read it" test "$(stat -c %a "$WORK/collected/rnic.prom")" = 644
check "no other file is there" test "$(ls -A "$WORK/collected")" = rnic.prom
fails() { ! "$@"; }
check "a directory that is missing is an error" fails metrics --output "$WORK/none/rnic.prom"
"$BIN/rnicctl" metrics --socket "$WORK/none.sock" --output "$WORK/collected/rnic.prom" \
	>"$WORK/silence" 2>&1
check "without a daemon it fails" test $? -eq 1
check "and says why" grep -q "no rnicd answers at $WORK/none.sock" "$WORK/silence"
check "and leaves the file" grep -q '^rnic_fault_actions_total' "$WORK/collected/rnic.prom"
topology_finish
