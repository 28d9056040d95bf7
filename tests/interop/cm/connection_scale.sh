#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Very many connections: connection_scale.sh TOPOLOGY PORT FAMILY
. "$(dirname "$0")/../lib.sh"

topology_start "$@"

load=$BUILD/tests/connection_load
server=${side_address[0]}
held=1000
in_a_row=10000
[ -z "$SLOW" ] || held=100 in_a_row=500

established() {
	query "$1" cm "sum(r['message_state'] == 'established' for r in rows)"
}

# All of them are there at the same time, on both sides, before the client's input ends.
mkfifo "$WORK/hold"
exec 3<>"$WORK/hold"
client_input=$WORK/hold
cm_start listening "$load" serve "$server" 7500 $held -- \
	"$load" connect "$server" 7500 $held 50 hold
check "$held connections stand" wait_for 60 grep -q standing "$WORK/client.out"
both=$held
[ -n "${side_pid[1]}" ] || both=$((2 * held))
check "rnicctl shows all of them" test "$(established 0)" -eq $both
echo >&3
exec 3>&-
client_input=/dev/null
pair_wait 60
pair_judge "and are closed again"

cm_run "$load" serve "$server" 7501 $in_a_row -- "$load" connect "$server" 7501 $in_a_row 1
cat "$WORK/client.out"
cm_run "$load" serve "$server" 7502 $in_a_row -- "$load" connect "$server" 7502 $in_a_row 100
cat "$WORK/client.out"
cm_run ucmatose -b "$server" -c $held -- ucmatose -s "$server" -c $held

topology_finish
