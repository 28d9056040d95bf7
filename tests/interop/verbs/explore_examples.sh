#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The programs of tools/examples/explore. All six do their work on a good network, and two mistakes
# show on a slow one, where the programs without them still end well: explore_examples.sh PORT
. "$(dirname "$0")/../lib.sh"

topology_start one "$1" 4

# ends_with STATUS PROGRAM
ends_with() {
	rnic 0 timeout 20 "$BIN/explore/$2" >"$WORK/$2" 2>&1
	[ $? -eq "$1" ]
}

for name in lost_retry unread_status undrained; do
	for kind in wrong right; do
		check "${name}_$kind ends well" ends_with 0 "${name}_$kind"
		check "with its work done" grep -qE '^([0-9]+) of \1 ' "$WORK/${name}_$kind"
	done
done

check "each packet becomes late" "$BIN/rnicctl" fault add --socket "${side_socket[0]}" delay=150ms
for name in unread_status undrained; do
	check "${name}_wrong has wrong data" ends_with 1 "${name}_wrong"
	check "${name}_right has not" ends_with 0 "${name}_right"
done
topology_finish
