#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rdma-core's own tests, as Debian's python3-pyverbs installs them: pyverbs.sh PORT
#
# Every case must end as pyverbs_expected.txt says. A module runs in a process of its own, so that a
# crash or a hang costs the cases of that module only.
. "$(dirname "$0")/../lib.sh"

here=$(dirname "$0")
suite=/usr/share/doc/rdma-core/tests
python=/usr/bin/python3 # the one that the distribution's modules are for

[ -d $suite ] || skip_test "no $suite: install python3-pyverbs, with its documentation"
$python -c 'import pyverbs.device' 2>/dev/null || skip_test "python3-pyverbs is not installed"
cp -r $suite "$WORK/tests"
find "$WORK/tests" -name '*.gz' -exec gunzip {} +

# The suite connects to the first address of the device's interface, which of loopback is no RNIC's.
topology=one
[ "$(id -u)" -ne 0 ] || topology=netns-9000
topology_start $topology "$1" 4
for module in $($python "$here/pyverbs_verdict.py" --modules "$here/pyverbs_expected.txt"); do
	if [ $topology = one ] && [ "$module" = tests.test_rdmacm ]; then
		echo "skipped: $module needs network namespaces, and they root"
		continue
	fi
	(
		cd "$WORK/tests" || exit 1
		rnic 0 timeout $((60 * (${SLOW:-0} * 3 + 1))) $python -W ignore run_tests.py \
			--dev rnic0 --port 1 --gid "${side_gid[0]}" -v "$module"
	) >"$WORK/$module.out" 2>&1
	if $python "$here/pyverbs_verdict.py" "$module" "$here/pyverbs_expected.txt" \
		"$WORK/$module.out" >"$WORK/verdict"; then
		pass "$module: $(cat "$WORK/verdict")"
	else
		fail "$module" "$WORK/verdict"
	fi
done
topology_finish
