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
#       fuzz                    every fuzzer for ten minutes, under sanitizers, and what it reaches
#       hostile                 users who attack another, with more of each attack, in pairs with
#                               users who burn processors; then the hostile clients under
#                               sanitizers, again and again for an hour
#       interop                 more topologies, ports and families, and long amounts
#       rxe                     the cases against Linux rdma_rxe, with long amounts, of Debian 12,
#                               13 and sid; what it can on later kernels; a path with a delay
#       paths                   programs over 21 kinds of network, in an emulated machine; half an
#                               hour
#       storm                   50,000 seeds of each storm
#       explore                 rnic-run --explore on programs with planted mistakes, and for 500
#                               runs each on the same without them; ten minutes
#       debian                  the quick start, the README's commands, the quick suites, the
#                               packages and tools/ci on a fresh Debian 13 and 12 (root)
#       arm64                   the suites unit, sim, script and abi, built for arm64, under
#                               qemu-user; hostile, and what qemu-user lacks, in an emulated
#                               machine; on this machine the rings' tests under ThreadSanitizer
#       coverage                which lines the suites unit, sim, script, hostile and some interop
#                               entries run; a report in build-coverage/coverage/index.html
#       tidy                    clang-tidy over all files
#       views                   the page of rnicctl serve in headless Chromium, with pictures in
#                               build/pictures; rnicctl top on a terminal
#
# run.sh runs as root or as an ordinary user. As an ordinary user it skips the tests that need
# network namespaces, and these tests say so. run.sh prints the ten slowest tests of each stage. It
# exits 1 when anything failed. At most two failed tests of a run run once more, alone, and run.sh
# names at the end those that pass then: each is a fault to find next. A finding of a sanitizer, a
# process that died, and the suites unit, sim, hostile and script are never repeated. The last lines
# are the summary of ctest: the summary of the first stage that failed, or of the main stage when
# none failed.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/tests/run/run_stage.sh"
. "$top/tests/run/run_long.sh"
compilers=()
quick=""
long=""
sanitize=""
rxe=""
bench=""
is_default=1

usage() {
	sed -n '4,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"
}

# choose_part NAME
choose_part() {
	if [ -z "$1" ] || [[ " $LONG_PARTS " != *" $1 "* ]]; then
		[ -z "$1" ] || echo "there is no part \"$1\"" >&2
		echo "the parts of --long=PART: ${LONG_PARTS// /, }" >&2
		exit 1
	fi
	long=$1
	is_default=""
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
[ "$long" != views ] || groups+=(views)
[ "$long" != coverage ] || groups+=(coverage)
"$top/tools/install-packages.sh" "${groups[@]}" || exit 1
# Without these the tests against rxe do not run, and say why. The quick suites have none of them.
case $quick$long in
"" | interop | rxe | paths)
	"$top/tools/install-packages.sh" rxe || echo "there will be no emulated machine"
	;;
esac

# Without a browser the page of rnicctl serve is asked for, but not driven.
[ -n "$quick$long" ] || "$top/tools/install-packages.sh" views ||
	echo "the page of rnicctl serve will not be driven in a browser"

# The distribution's programs come first. Another python3 in PATH lacks the distribution's modules,
# and may be a script that takes seconds to start the real python3.
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
logs=$(mktemp -d "${TMPDIR:-/tmp}/rnic-run-XXXXXX")
trap 'rm -rf "$logs"' EXIT
limit=()     # a command that ends ctest in time
ctest=(ctest) # ctest, or a script that takes its options

# judge_readme STAGE: holds the README's table of what works against the results of all suites.
judge_readme() {
	if ! python3 "$top/tests/tidy/what_works.py" --judge "$logs/$1.xml" >"$logs/readme"; then
		failed_stage=${failed_stage:-readme}
	fi
	cat "$logs/readme"
	tail -n 1 "$logs/readme" >"$logs/readme.summary"
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

print_end "$main"
