#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_header.sh CMAKE BUILD COMPILER [apis]: the installed headers compile alone, in C and in C++,
# without a warning, and every function that they declare is in its library.
set -eu
cmake=$1 build=$2 compiler=$3 apis=${4:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

"$cmake" --install "$build" --prefix "$folder/installed" >"$folder/install"
include=$folder/installed/include
libraries=$build/lib

with_cc=1
echo 'int main(void);' >"$folder/probe.cc"
if ! "$compiler" -x c++ -fsyntax-only "$folder/probe.cc" 2>"$folder/why"; then
	echo "not checked in C++: $(head -n 1 "$folder/why")"
	with_cc=
fi

# compile FILE STANDARD OPTION...
compile() {
	file=$1 standard=$2
	shift 2
	"$compiler" "$@" -std="$standard" -Wall -Wextra -Werror -I"$include" -fsyntax-only "$file"
}

headers=$(cd "$include" && find . -name '*.h' | sed 's,^\./,,' | sort)
if [ ! -e /usr/include/infiniband/verbs.h ]; then
	echo "not checked: rnic/compat/iwarp_verbs.h, because libibverbs-dev is not installed"
	headers=$(echo "$headers" | grep -v iwarp_verbs)
fi
for header in $headers; do
	echo "#include <$header>" >"$folder/alone.c"
	compile "$folder/alone.c" c11 -Wpedantic
	[ -z "$with_cc" ] || compile "$folder/alone.c" c++17 -x c++
	cat "$folder/alone.c" >>"$folder/together.c"
done
compile "$folder/together.c" gnu17 -Wpedantic
for standard in c++11 c++20; do
	[ -z "$with_cc" ] || compile "$folder/together.c" $standard -x c++
done
echo "$(echo "$headers" | wc -l) headers compile alone"

# agree LIBRARY HEADER...: what these headers declare is what the library exports.
agree() {
	library=$libraries/$1
	shift
	(cd "$include/rnic" && sed -e 's,/\*.*\*/,,' -e '\,/\*,,\,\*/,d' "$@") |
		grep -o '\brnic_[a-z_]*(' | tr -d '(' | sort -u >"$folder/declared"
	nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' | grep '^rnic_' |
		sort -u >"$folder/exported"
	if ! cmp -s "$folder/declared" "$folder/exported"; then
		echo "declared in $* and exported from $library are not the same:"
		diff "$folder/declared" "$folder/exported" || true
		exit 1
	fi
	echo "$*: $(wc -l <"$folder/declared") functions declared and exported"
}

agree librnic.so rnic.h rnic_cm.h
[ "$apis" = apis ] || exit 0
agree librnic-connection.so connection.h
agree librnic-rdma.so rdma.h
