#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# test_check_abi.sh CC: check_abi.sh lets a new symbol pass, and complains of a symbol that went,
# of a parameter and of a public struct that changed. Exit status 77 as of check_abi.sh.
set -u
compiler=${1:?the compiler}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lib/verbs" "$work/include/rnic"
failures=0

# build LIBRARY: from the header and the C text on standard input.
build() {
	"$compiler" -g -shared -fPIC -I "$work/include" -x c - -o "$work/lib/$1"
}

# expect STATUS WHAT
expect() {
	local status
	"$here/check_abi.sh" "$work" "$work/dumps" >"$work/output" 2>&1
	status=$?
	[ $status -eq "$1" ] && return
	failures=$((failures + 1))
	echo "FAIL  $2: status $status, not $1"
	cat "$work/output"
}

header='struct a { int first; };'
source='#include <rnic/a.h>
int f(struct a *a); int f(struct a *a) { return a->first; }
int g(int a); int g(int a) { return a; }'
for library in librnic librnic-rdma librnic-connection librnic-rpc; do
	echo "$header" >"$work/include/rnic/a.h"
	build $library.so <<<"$source" || exit 1
done
for library in verbs/libibverbs verbs/librdmacm; do
	build $library.so.1 <<<"$source" || exit 1
done
"$here/check_abi.sh" --update "$work" "$work/dumps"
status=$?
[ $status -eq 0 ] || exit $status

expect 0 "the same libraries"
build librnic.so <<<"$source int h(void); int h(void) { return 1; }"
expect 0 "a new symbol"
build librnic.so <<<"${source/int g(int a); int g(int a)/static int g(int a)} int (*h)(int) = g;"
expect 1 "a symbol that went"
build librnic.so <<<"${source//g(int a)/g(long a)}"
expect 1 "a parameter of another type"
echo 'struct a { int second; int first; };' >"$work/include/rnic/a.h"
build librnic.so <<<"$source"
expect 1 "a public struct that grew"
echo "$header" >"$work/include/rnic/a.h"
build librnic.so <<<"$source"
expect 0 "the first library again"
build verbs/librdmacm.so.1 <<<"int other(void); int other(void) { return 1; }"
expect 1 "a symbol of a drop-in library that went"
echo "abi: $failures failures"
[ $failures -eq 0 ]
