# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# run.sh sources this file: builds a tree, runs suites of it as a stage, and says at the end how the
# run ended. The caller sets:
#
#   top      the source tree
#   logs     a folder for what the stages print
#   limit    a command that ends ctest in time, as an array; it may be empty
#   ctest    ctest, or a script that takes its options, as an array
#   target   what to build of a tree; all, where this is empty or not set
#
# The stages add to: stages, their names; failed_stage, the first that failed; failures_seen, the
# failed tests of the run; repeated, those that passed when they ran once more.
#
# At most two failed tests of a run run once more, alone. The run passes when they pass then, and
# its end names them: each is a fault to find next. run_outcome.py says which are never repeated.

RUN_REPEATS_MAX=2
outcome=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/run_outcome.py
stages=()
failed_stage=""
failures_seen=0
repeated=()

# build STAGE DIRECTORY COMPILER [CMAKE OPTION...]
build() {
	local stage=$1 directory=$2 compiler=$3
	shift 3
	echo "== $stage: build in $directory; tail -f $logs/build shows its progress"
	: >"$logs/build"
	if cmake -S "$top" -B "$directory" -G Ninja -DCMAKE_C_COMPILER="$compiler" \
		-DRNIC_TESTS=ON -DRNIC_WERROR=ON -DRNIC_DIRECT=ON "$@" >"$logs/cmake" 2>&1 &&
		cmake --build "$directory" ${target:+--target "$target"} >"$logs/build" 2>&1; then
		return 0
	fi
	tail -n 60 "$logs/cmake" "$logs/build" 2>/dev/null
	echo "$stage: the build failed" >"$logs/$stage"
	stages+=("$stage")
	failed_stage=${failed_stage:-$stage}
	return 1
}

# run_ctest DIRECTORY NAME OPTION...: the results are in NAME.xml, the output in NAME.
run_ctest() {
	local directory=$1 name=$2
	shift 2
	"${limit[@]}" "${ctest[@]}" --test-dir "$directory" --output-on-failure --no-tests=error \
		--output-junit "$logs/$name.xml" --test-output-size-passed 100000 \
		--test-output-size-failed 10000000 "$@" 2>&1 |
		tee "$logs/$name"
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

# run_suites STAGE DIRECTORY CTEST OPTION...
run_suites() {
	local stage=$1 directory=$2 has_passed=1
	shift 2
	echo "== $stage: ctest $*"
	stages+=("$stage")
	rm -f "$logs/$stage.xml"
	run_ctest "$directory" "$stage" -j "$(nproc)" "$@" || has_passed=""
	note_skipped "$stage"
	if [ -z "$has_passed" ] && ! repeat_failures "$stage" "$directory"; then
		failed_stage=${failed_stage:-$stage}
	fi
	print_slowest "$stage"
}

# note_skipped STAGE: the reasons of the tests that ctest has just skipped.
note_skipped() {
	[ -e "$logs/$1.xml" ] || return 0
	python3 -B "$outcome" skipped "$logs/$1.xml" >>"$logs/skipped"
}

# choose_repeats STAGE DIRECTORY: prints the failed tests of the stage that may run once more.
choose_repeats() {
	local sanitized=()
	if [ ! -e "$logs/$1.xml" ]; then
		echo "nothing is repeated: ctest did not end" >&2
		return 1
	fi
	grep -q '^RNIC_SANITIZE:[A-Z]*=.' "$2/CMakeCache.txt" && sanitized=(--sanitized)
	"$(dirname "$outcome")/list_tests.sh" "$2" >"$logs/tests.json" &&
		python3 -B "$outcome" repeatable --tests "$logs/tests.json" --log "$logs/$1" \
			"${sanitized[@]}" --left $((RUN_REPEATS_MAX - failures_seen)) \
			"$logs/$1.xml"
}

# repeat_failures STAGE DIRECTORY: succeeds when every failed test of the stage may run once more,
# and passes then.
repeat_failures() {
	local stage=$1 name may_repeat=1
	choose_repeats "$stage" "$2" >"$logs/repeats" || may_repeat=""
	failures_seen=$((failures_seen + $(count_failures "$stage")))
	[ -n "$may_repeat" ] || return 1
	while read -r name; do
		echo "== $stage: $name failed; once more, alone"
		run_ctest "$2" again -R "^$name\$" </dev/null || return 1
		python3 -B "$outcome" merge "$logs/$stage.xml" "$logs/again.xml" || return 1
		repeated+=("$name")
	done <"$logs/repeats"
	python3 -B "$outcome" summary "$logs/$stage" >"$logs/$stage.summary"
}

# count_failures STAGE: prints how many tests failed by ctest's own count; one when ctest says none.
count_failures() {
	sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of .*/\1/p' "$logs/$1" |
		tail -n 1 | grep . || echo 1
}

print_slowest() {
	[ -e "$logs/$1.xml" ] || return 0
	echo "== $1: the ten slowest"
	python3 -B "$outcome" slowest "$logs/$1.xml"
}

# ---- the end ----

# summary_of STAGE: the two lines with which ctest sums up a stage; of a stage without ctest its
# last lines.
summary_of() {
	if [ -e "$logs/$1.summary" ]; then
		cat "$logs/$1.summary"
	else
		grep -E 'tests passed|^Total Test time' "$logs/$1" || tail -n 5 "$logs/$1"
	fi
}

# list_failures: prints the failures again at the end, where the reader of a long log looks first.
list_failures() {
	[ -n "$failed_stage" ] || return 0
	echo "== what failed in $failed_stage"
	grep -aE '^(FAIL |DIED |\[  FAILED  \]|      \| )' "$logs/$failed_stage" | head -n 60
	sed -n '/^The following tests FAILED/,/^Errors/p' "$logs/$failed_stage" | head -n 30
}

# print_end MAIN: how the stages ended, and as the last lines the summary of the first that failed,
# else of the stage MAIN. Fails when a stage failed.
print_end() {
	local stage
	list_failures
	echo "== summary"
	for stage in "${stages[@]}"; do
		echo "$stage: $(summary_of "$stage" | head -n 1)"
	done
	sort -u "$logs/skipped" 2>/dev/null
	[ ${#repeated[@]} -eq 0 ] || echo "passed when repeated: ${repeated[*]}"
	summary_of "${failed_stage:-$1}"
	[ -z "$failed_stage" ]
}
