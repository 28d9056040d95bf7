# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# run.sh sources this file: the parts of --long=PART. Each part is a function run_PART, which sets
# main, the stage whose summary the run ends with, and has 140 minutes for each ctest.

LONG_PARTS="fuzz hostile interop rxe paths storm explore debian arm64 coverage tidy views"
LONG_CTEST_SECONDS=$((140 * 60))

# fuzzer_reach OUTPUT: how many inputs there were, and what they reached of all that is linked.
fuzzer_reach() {
	awk '/^INFO: Loaded .* counters/ { edges = $0; sub(/.*counters\): /, "", edges)
			edges += 0 }
		/DONE +cov: / { inputs = $1; sub(/#/, "", inputs)
			reached = $0; sub(/.*cov: /, "", reached); reached += 0
			speed = $0; sub(/.*exec\/s: /, "", speed); speed += 0 }
		/^COVERED_FUNC/ { functions++ }
		/^UNCOVERED_FUNC/ { missed++ }
		END { printf "%d inputs, %d a second; %d of %d edges, %d of %d functions\n",
			inputs, speed, reached, edges, functions, functions + missed }' "$1"
}

# run_fuzzer TARGET SECONDS
run_fuzzer() {
	local name
	name=$(basename "$1")
	if "$1" -max_total_time="$2" -print_coverage=1 >"$logs/$name" 2>&1; then
		echo "$name: no finding: $(fuzzer_reach "$logs/$name")"
	else
		tail -n 40 "$logs/$name" >&2
		echo "$name: finding"
	fi >>"$logs/fuzz"
}

# run_fuzzers SECONDS: each for so long, as many at a time as there are processors.
run_fuzzers() {
	local target=fuzzers fuzzer
	build fuzz "$top/build-fuzz" clang -DRNIC_FUZZ=ON \
		"-DRNIC_SANITIZE=address;undefined" || return
	stages+=(fuzz)
	for fuzzer in "$top"/build-fuzz/fuzz/*; do
		if [ ! -x "$fuzzer" ] || [ ! -f "$fuzzer" ]; then continue; fi
		while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n; done
		echo "== fuzz: $(basename "$fuzzer") for $1 s"
		run_fuzzer "$fuzzer" "$1" &
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

# run_part PART NAME COMMAND...: a part that is one script, whose lines "NAME: skipped: " say what
# was left out.
run_part() {
	local part=$1 name=$2
	shift 2
	stages+=("$part")
	"${limit[@]}" "$@" 2>&1 | tee "$logs/$part"
	case ${PIPESTATUS[0]} in
	0 | 77) ;;
	*) failed_stage=${failed_stage:-$part} ;;
	esac
	sed -n "s/^$name: skipped: /1 tests skipped: /p" "$logs/$part" >>"$logs/skipped"
}

run_debian() {
	run_part debian debian "$top/tests/debian/debian.sh" "$logs/roots"
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

# run_coverage: the interop entries are one of each kind of traffic. Programs of other users cannot
# write their counts into the build tree, so the entries are those of one user. hostile_users reads
# how fast a program of another user is; there it would read that program's complaints of that.
run_coverage() {
	local directory=$top/build-coverage entries
	entries="pingpong_pair_uring_4|unreliable_one_uring_4|connections_pair_socket_4"
	entries+="|shared_pair_socket_4|sockets_pair_uring_4|handle_api_one|context_api_one|rpc_one"
	entries+="|rdma_tool_pair_socket_4|causes_pair_socket_4|lab_one_uring_4"
	entries+="|verbs_statuses_uring|direct_pingpong"
	build coverage "$directory" gcc -DRNIC_COVERAGE=ON || return
	find "$directory" -name '*.gcda' -delete # of an earlier run
	export GCOV_ERROR_FILE=/dev/null
	run_suites coverage "$directory" -L "unit|sim|script|hostile" \
		-E "^(sim_completion_times|hostile_users|hostile_users_taken)\$"
	run_suites coverage-interop "$directory" -R "^interop_($entries)\$"
	echo "== coverage: the report"
	stages+=(report)
	"$top/tests/run/coverage.sh" "$directory" 2>&1 | tee "$logs/report"
	[ "${PIPESTATUS[0]}" -eq 0 ] || failed_stage=${failed_stage:-report}
}

run_hostile() {
	echo "== hostile: one user, and nine, who attack another"
	if build users "$top/build" gcc; then
		RNIC_TEST_LONG=1 run_suites users "$top/build" -R '^hostile_users(_taken)?$'
		# ctest keeps to itself what a test says that passes.
		grep -aE '^(ok|#) ' "$top/build/Testing/Temporary/LastTest.log"
	fi
	echo "== hostile: clients that lie, under sanitizers, for an hour"
	repeat_hostile 3600
}

# run_interop [rxe]: the long entries, or those against Linux rdma_rxe alone.
run_interop() {
	export RNIC_TEST_LONG=1
	build "$main" "$top/build-long" gcc || return
	run_suites "$main" "$top/build-long" -L "$main"
	[ "$main" = interop ] || return
	echo "== order: a program polls what is written, 10^6 times a message"
	run_suites order "$top/build-long" -R '^test_write_order$'
}

run_paths() {
	build paths "$top/build" gcc || return
	run_part paths path_grid "$top/tests/interop/paths/path_grid.sh" "$top/build"
}

run_explore() {
	build explore "$top/build" gcc || return
	RNIC_BUILD=$top/build RNIC_TEST_LONG=1 run_part explore explore \
		"$top/tests/interop/network/explore.sh" socket
}

run_tidy() {
	build tidy "$top/build" gcc || return
	stages+=(tidy)
	"$top/tests/tidy/clang_tidy.sh" --all "$top/build" 2>&1 | tee "$logs/tidy"
	[ "${PIPESTATUS[0]}" -eq 0 ] || failed_stage=${failed_stage:-tidy}
}

# run_views: pictures of the page stay in the build tree.
run_views() {
	export RNIC_TEST_LONG=1 RNIC_TEST_PICTURES=$top/build/pictures
	build views "$top/build" gcc || return
	run_suites views "$top/build" -R '^interop_(serve|top)$'
}

# run_long PART
run_long() {
	main=$1
	limit=(timeout $LONG_CTEST_SECONDS)
	case $1 in
	fuzz)
		echo "== fuzz: every decoder of what a stranger wrote, ten minutes each"
		run_fuzzers 600
		;;
	hostile) run_hostile ;;
	interop)
		echo "== interop: more topologies, ports and families, and long amounts"
		run_interop
		;;
	rxe)
		echo "== rxe: Linux rdma_rxe as the other end, with long amounts"
		run_interop
		;;
	paths)
		echo "== paths: programs over kinds of network, in an emulated machine"
		run_paths
		;;
	storm)
		echo "== storm: 50,000 seeds of each, from 1 on, in 45 minutes each at most"
		run_storms 50000 $((45 * 60))
		;;
	explore)
		echo "== explore: three planted mistakes, and 500 runs of the programs without them"
		run_explore
		;;
	debian)
		echo "== debian: as a newcomer, on each release"
		run_debian
		;;
	arm64)
		echo "== arm64: cross-built, under qemu-user"
		run_arm64
		;;
	coverage)
		echo "== coverage: which lines the suites run"
		run_coverage
		;;
	views)
		echo "== views: rnicctl serve in a browser, rnicctl top on a terminal"
		run_views
		;;
	tidy)
		echo "== tidy: clang-tidy over all files"
		run_tidy
		;;
	esac
}
