#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tools/dev.sh COMMAND [ARGUMENT...]: the frequent commands, in build/, or in the tree that
# RNIC_BUILD names.
#
#   build [TARGET...]     configures and builds, with tests and with warnings as errors
#   test REGEX            the tests whose name matches
#   quick                 the suites unit, sim, script, hostile, abi and tidy
#   interop [REGEX]       the interop suite, or the tests of the suite whose name matches (root)
#   fuzz TARGET [SECONDS] one fuzzer (clang), in build-fuzz/
#   bench [OPTION...]     tests/bench/run.sh
#   format                clang-format over all C sources that git knows
#   tidy                  the rules of this tree
#   all [OPTION...]       tests/run.sh
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
build=${RNIC_BUILD:-$top/build}

usage() {
	sed -n '4,15s/^# \{0,1\}//p' "$0"
	exit "$1"
}

# configure DIRECTORY [CMAKE OPTION...]
configure() {
	local directory=$1
	shift
	cmake -S "$top" -B "$directory" -G Ninja -DRNIC_TESTS=ON -DRNIC_WERROR=ON "$@" >/dev/null
}

run_tests() {
	configure "$build"
	cmake --build "$build"
	ctest --test-dir "$build" --output-on-failure --no-tests=error "$@"
}

[ $# -gt 0 ] || usage 1 >&2
command=$1
shift
case $command in
build)
	configure "$build"
	cmake --build "$build" ${1:+--target "$@"}
	;;
test) run_tests -R "${1:?a test is named}" ;;
quick) run_tests -j "$(nproc)" -L 'unit|sim|script|hostile|abi|tidy' ;;
interop) run_tests -L interop ${1:+-R "$1"} ;;
fuzz)
	target=${1:?a fuzzer is named}
	configure "$top/build-fuzz" -DCMAKE_C_COMPILER=clang -DRNIC_FUZZ=ON \
		"-DRNIC_SANITIZE=address;undefined"
	cmake --build "$top/build-fuzz" --target "$target"
	"$top/build-fuzz/fuzz/$target" -max_total_time="${2:-60}"
	;;
bench) exec "$top/tests/bench/run.sh" "$@" ;;
format) cd "$top" && git ls-files -z '*.c' '*.h' | xargs -0 clang-format -i ;;
tidy) run_tests -L tidy ;;
all) exec "$top/tests/run.sh" "$@" ;;
--help | -h) usage 0 ;;
*) usage 1 >&2 ;;
esac
