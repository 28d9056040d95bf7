#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# run.sh installs missing packages, builds, and runs every suite. Without options it runs all suites
# with gcc, all suites but interop with clang, and unit, sim, hostile, script and an interop pass
# under AddressSanitizer and UBSan.
#
#   --quick                     run only unit, sim, script, hostile, abi and tidy of one build:
#                               under 6 minutes with the build
#   --compiler gcc|clang|both   run all suites with these compilers; other stages run only when
#                               other options ask for them
#   --sanitize                  run the pass with sanitizers
#   --rxe                       run only the cases against Linux rdma_rxe in an emulated machine;
#                               the suite interop has them too
#   --bench                     run tests/bench/run.sh as well, in build/
#   --long=PART                 run only one long part, for at most 150 minutes:
#       fuzz                    every fuzzer for ten minutes, under sanitizers
#       hostile                 users who attack another, with more of each attack; then the hostile
#                               clients under sanitizers, again and again for an hour
#       interop                 more topologies, ports and families, and long amounts
#       storm                   50,000 seeds of each storm
#       debian                  the quick start, the README's commands, the quick suites, the
#                               packages and tools/ci on a fresh Debian 13 and 12 (root)
#       arm64                   the suites unit, sim, script and abi, built for arm64, under
#                               qemu-user; hostile, and what qemu-user lacks, in an emulated
#                               machine; on this machine the rings' tests under ThreadSanitizer
#
# run.sh runs as root or as an ordinary user. As an ordinary user it skips the tests that need
# network namespaces, and these tests say so. run.sh prints the ten slowest tests of each stage. It
# exits 1 when anything failed. The last lines are the summary of ctest: the summary of the first
# stage that failed, or of the main stage when none failed.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
compilers=()
quick=""
long=""
long_parts="fuzz hostile interop storm debian arm64"
sanitize=""
rxe=""
bench=""
is_default=1

usage() {
	sed -n '4,31s/^# \{0,1\}//p' "$0"
}

# choose_part NAME
choose_part() {
	case $1 in
	fuzz | hostile | interop | storm | debian | arm64) long=$1; is_default="" ;;
	*)
		[ -z "$1" ] || echo "there is no part \"$1\"" >&2
		echo "the parts of --long=PART: ${long_parts// /, }" >&2
		exit 1
		;;
	esac
}

while [ $# -gt 0 ]; do
	case $1 in
	--compiler)
		case ${2:-} in
		gcc | clang) compilers=("$2") ;;
		both) compilers=(gcc clang) ;;
		*) usage >&2; exit 1 ;;
		esac
		shift
		is_default=""
		;;
	--sanitize) sanitize=1; is_default="" ;;
	--rxe) rxe=1; is_default="" ;;
	--bench) bench=1 ;;
	--quick) quick=1; is_default="" ;;
	--long=*) choose_part "${1#--long=}" ;;
	--long) choose_part "" ;;
	--help | -h) usage; exit 0 ;;
	*) usage >&2; exit 1 ;;
	esac
	shift
done

groups=(build test)
[ -z "$bench" ] || groups+=(bench)
[ "$long" != debian ] || groups=(debian)
[ "$long" != arm64 ] || groups+=(arm64)
"$top/tools/install-packages.sh" "${groups[@]}" || exit 1
# Without these the tests against rxe do not run, and say why. The quick suites have none of them.
if [ -z "$quick" ] && [ "$long" != debian ] && [ "$long" != arm64 ]; then
	"$top/tools/install-packages.sh" rxe || echo "there will be no emulated machine"
fi

# The distribution's programs come first. Another python3 in PATH lacks the distribution's modules,
# and may be a script that takes seconds to start the real python3.
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
logs=$(mktemp -d "${TMPDIR:-/tmp}/rnic-run-XXXXXX")
trap 'rm -rf "$logs"' EXIT
stages=()
failed_stage=""
limit=()     # a command that ends ctest in time
ctest=(ctest) # ctest, or a script that takes its options

# build STAGE DIRECTORY COMPILER [CMAKE OPTION...]
build() {
	local stage=$1 directory=$2 compiler=$3
	shift 3
	echo "== $stage: build in $directory"
	if cmake -S "$top" -B "$directory" -G Ninja -DCMAKE_C_COMPILER="$compiler" \
		-DRNIC_TESTS=ON -DRNIC_WERROR=ON -DRNIC_DIRECT=ON "$@" >"$logs/cmake" 2>&1 &&
		cmake --build "$directory" >"$logs/build" 2>&1; then
		return 0
	fi
	tail -n 60 "$logs/cmake" "$logs/build" 2>/dev/null
	echo "$stage: the build failed" >"$logs/$stage"
	stages+=("$stage")
	failed_stage=${failed_stage:-$stage}
	return 1
}

# run_suites STAGE DIRECTORY CTEST OPTION...
run_suites() {
	local stage=$1 directory=$2
	shift 2
	echo "== $stage: ctest $*"
	stages+=("$stage")
	"${limit[@]}" "${ctest[@]}" --test-dir "$directory" --output-on-failure --no-tests=error \
		-j "$(nproc)" --output-junit "$logs/$stage.xml" \
		--test-output-size-passed 100000 "$@" 2>&1 |
		tee "$logs/$stage"
	[ "${PIPESTATUS[0]}" -eq 0 ] || failed_stage=${failed_stage:-$stage}
	grep -ahE '^skipped: ' "$directory/Testing/Temporary/LastTest.log" 2>/dev/null |
		sort | uniq -c |
		sed 's/^ *\([0-9]*\) skipped: /\1 tests skipped: /' >>"$logs/skipped"
	print_slowest "$stage"
}

# print_slowest STAGE: by what ctest wrote for other programs.
print_slowest() {
	[ -e "$logs/$1.xml" ] || return 0
	echo "== $1: the ten slowest"
	python3 - "$logs/$1.xml" <<-'END'
		import sys, xml.etree.ElementTree as tree
		cases = tree.parse(sys.argv[1]).iter("testcase")
		times = sorted((-float(case.get("time")), case.get("name")) for case in cases)
		for seconds, name in times[:10]:
		    print(f"{-seconds:8.1f} s  {name}")
	END
}

# judge_readme STAGE: holds the README's table of what works against the results of all suites.
judge_readme() {
	if ! python3 "$top/tests/tidy/what_works.py" --judge "$logs/$1.xml" >"$logs/readme"; then
		failed_stage=${failed_stage:-readme}
	fi
	cat "$logs/readme"
	stages+=(readme)
}

# The sanitizers' programs are slow: one topology, and what an ordinary user can run.
run_sanitizers() {
	build sanitizers "$top/build-sanitize" gcc "-DRNIC_SANITIZE=address;undefined" || return
	# How long transfers take is the same with sanitizers, and takes them a minute.
	run_suites sanitizers "$top/build-sanitize" -L 'unit|sim|hostile|script' \
		-E '^sim_completion_times$'
	run_suites sanitizers-interop "$top/build-sanitize" \
		-R '^interop_(pingpong_pair_uring_4|perftest_one_socket_4)$'
}

# run_fuzzer TARGET SECONDS
run_fuzzer() {
	local name
	name=$(basename "$1")
	if "$1" -max_total_time="$2" -verbosity=0 >"$logs/$name" 2>&1; then
		echo "$name: no finding"
	else
		tail -n 40 "$logs/$name" >&2
		echo "$name: finding"
	fi >>"$logs/fuzz"
}

# run_fuzzers SECONDS: each for so long, as many at a time as there are processors.
run_fuzzers() {
	local target
	build fuzz "$top/build-fuzz" clang -DRNIC_FUZZ=ON \
		"-DRNIC_SANITIZE=address;undefined" || return
	stages+=(fuzz)
	for target in "$top"/build-fuzz/fuzz/*; do
		if [ ! -x "$target" ] || [ ! -f "$target" ]; then continue; fi
		while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n; done
		echo "== fuzz: $(basename "$target") for $1 s"
		run_fuzzer "$target" "$1" &
	done
	wait
	if grep -q ": finding" "$logs/fuzz"; then failed_stage=${failed_stage:-fuzz}; fi
	cat "$logs/fuzz"
}

# repeat_hostile SECONDS: ctest has an end for one test, not for all. The rounds end with the first
# that fails, whatever failed before them.
repeat_hostile() {
	local end=$((SECONDS + $1)) round=0 failed_before=$failed_stage
	local stages_before=("${stages[@]}")
	build hostile "$top/build-sanitize" gcc "-DRNIC_SANITIZE=address;undefined" || return
	failed_stage=""
	while [ $SECONDS -lt $end ] && [ -z "$failed_stage" ]; do
		round=$((round + 1))
		echo "== hostile: round $round"
		stages=("${stages_before[@]}")
		run_suites hostile "$top/build-sanitize" -L hostile
	done
	failed_stage=${failed_before:-$failed_stage}
	echo "hostile: $round rounds"
}

# run_storms SEEDS SECONDS: without ctest, whose limit is for fewer.
run_storms() {
	local storm
	build storm "$top/build" gcc || return
	stages+=(storm)
	for storm in storm cm_storm rpc_storm; do
		echo "== storm: $storm"
		if timeout "$2" "$top/build/tests/$storm" --count "$1" --jobs "$(nproc)" \
			>"$logs/storm-output" 2>&1; then
			echo "$storm: $1 seeds, no finding" >>"$logs/storm"
		else
			echo "$storm: finding, or not done in $2 s" >>"$logs/storm"
			tail -n 40 "$logs/storm-output"
			failed_stage=${failed_stage:-storm}
		fi
	done
}

run_debian() {
	stages+=(debian)
	"${limit[@]}" "$top/tests/debian/debian.sh" "$logs/roots" 2>&1 | tee "$logs/debian"
	case ${PIPESTATUS[0]} in
	0 | 77) ;;
	*) failed_stage=${failed_stage:-debian} ;;
	esac
	sed -n 's/^debian: skipped: /1 tests skipped: /p' "$logs/debian" >>"$logs/skipped"
}

# run_emulated SYSROOT: the storms run fewer seeds. A seed takes an emulator many times as long.
run_emulated() {
	limit=(timeout $((70 * 60)))
	ctest=("$top/tests/arm64/emulated_ctest.sh" "$1")
	RNIC_STORM_SEEDS=100 run_suites arm64 "$top/build-arm64" -L 'unit|sim|script|abi'
	ctest=(ctest)
	sed -n 's/^not under qemu-user: \(.*\) (nobody .*): /1 tests skipped: \1: /p' \
		"$logs/arm64" >>"$logs/skipped"
}

# run_machine SYSROOT
run_machine() {
	echo "== machine: in an emulated machine"
	stages+=(machine)
	"$top/tests/arm64/machine.sh" "$1" "$top/build-arm64" "$top/build-arm64/machine" 2>&1 |
		tee "$logs/machine"
	case ${PIPESTATUS[0]} in
	0 | 77) ;;
	*) failed_stage=${failed_stage:-machine} ;;
	esac
	sed -n 's/^skipped: /1 tests skipped: /p' "$logs/machine" >>"$logs/skipped"
}

# What arm64 may reorder shows in no emulator on x86. ThreadSanitizer judges by the orderings in the
# source. Not all tests can run there: some count threads, or read what ended children wrote.
run_threads() {
	local names=(test_ring test_shared_rings test_daemon_link test_device_link test_fork_list
		test_device_requests test_doorbell test_rnic_context test_rnic_post test_rnic_poll
		test_rnic_events test_rnic_cm_events test_rnic_wait test_wqe_fetch test_cqe_delivery
		test_wqe_fetch_turns test_session_memory test_mapped_memory test_remote_memory
		test_write_order test_ordered_copy test_handle_poll test_rsocket_sleep
		test_lane_traffic test_rdma_multicast sim_oracle sim_shared sim_cm)
	echo "== threads: under ThreadSanitizer"
	build threads "$top/build-threads" gcc -DRNIC_SANITIZE=thread || return
	# The sanitizer wants its addresses for itself.
	! setarch -R true 2>/dev/null || ctest=(setarch -R ctest)
	run_suites threads "$top/build-threads" -R "^($(IFS='|'; echo "${names[*]}"))\$"
	ctest=(ctest)
}

run_arm64() {
	local sysroot=$top/build-arm64/sysroot
	if ! "$top/tests/arm64/make_sysroot.sh" "$sysroot"; then
		echo "arm64: there is no tree of libraries" >"$logs/arm64"
		stages+=(arm64)
		failed_stage=${failed_stage:-arm64}
		return
	fi
	build arm64 "$top/build-arm64" aarch64-linux-gnu-gcc \
		"-DCMAKE_TOOLCHAIN_FILE=$top/tools/cmake/arm64.cmake" \
		"-DRNIC_ARM64_SYSROOT=$sysroot" || return
	run_emulated "$sysroot"
	run_machine "$sysroot"
	run_threads
}

run_long() {
	main=$1
	limit=(timeout $((140 * 60)))
	case $1 in
	fuzz)
		echo "== fuzz: every decoder of what a stranger wrote, ten minutes each"
		run_fuzzers 600
		;;
	hostile)
		echo "== hostile: one user, and nine, who attack another"
		if build users "$top/build" gcc; then
			RNIC_TEST_LONG=1 run_suites users "$top/build" -R '^hostile_users$'
			# ctest keeps to itself what a test says that passes.
			grep -aE '^(ok|#) ' "$top/build/Testing/Temporary/LastTest.log"
		fi
		echo "== hostile: clients that lie, under sanitizers, for an hour"
		repeat_hostile 3600
		;;
	interop)
		echo "== interop: more topologies, ports and families, and long amounts"
		export RNIC_TEST_LONG=1
		if build interop "$top/build-long" gcc; then
			run_suites interop "$top/build-long" -L interop
			echo "== order: a program polls what is written, 10^6 times a message"
			run_suites order "$top/build-long" -R '^test_write_order$'
		fi
		;;
	storm)
		echo "== storm: 50,000 seeds of each, from 1 on, in 45 minutes each at most"
		run_storms 50000 $((45 * 60))
		;;
	debian)
		echo "== debian: as a newcomer, on each release"
		run_debian
		;;
	arm64)
		echo "== arm64: cross-built, under qemu-user"
		run_arm64
		;;
	esac
}

# The two lines with which ctest sums up a stage; of a stage without ctest its last lines.
summary_of() {
	if [ "$1" = readme ]; then
		tail -n 1 "$logs/readme"
	else
		grep -E 'tests passed|^Total Test time' "$logs/$1" || tail -n 5 "$logs/$1"
	fi
}

if [ -n "$is_default" ]; then
	if build clang "$top/build-clang" clang; then
		run_suites clang "$top/build-clang" -LE interop
	fi
	sanitize=1
	compilers=(gcc)
fi
[ -z "$sanitize" ] || run_sanitizers
main=${stages[0]:-}
[ -z "$long" ] || run_long "$long"
if [ -n "$quick" ]; then
	main=quick
	if build quick "$top/build" gcc; then
		run_suites quick "$top/build" -L 'unit|sim|script|hostile|abi|tidy'
	fi
fi
for compiler in "${compilers[@]}"; do
	main=$compiler
	directory=$top/build
	[ "$compiler" = gcc ] || directory=$top/build-$compiler
	if build "$compiler" "$directory" "$compiler"; then
		run_suites "$compiler" "$directory"
		judge_readme "$compiler"
	fi
done
if [ -n "$rxe" ]; then
	main=rxe
	if build rxe "$top/build" gcc; then run_suites rxe "$top/build" -L rxe; fi
fi
if [ -n "$bench" ]; then "$top/tests/bench/run.sh"; fi

# Prints the failures again at the end, where the reader of a long log looks first.
list_failures() {
	[ -n "$failed_stage" ] || return 0
	echo "== what failed in $failed_stage"
	grep -aE '^(FAIL |\[  FAILED  \]|      \| )' "$logs/$failed_stage" | head -n 60
	sed -n '/^The following tests FAILED/,/^Errors/p' "$logs/$failed_stage" | head -n 30
}

list_failures
echo "== summary"
for stage in "${stages[@]}"; do
	echo "$stage: $(summary_of "$stage" | head -n 1)"
done
sort -u "$logs/skipped" 2>/dev/null
summary_of "${failed_stage:-$main}"
[ -z "$failed_stage" ]
