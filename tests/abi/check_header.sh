#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_header.sh INCLUDE COMPILER LIBRARIES [apis]: the public headers compile alone, in C and in
# C++, without a warning, and every function that they declare is in its library.
set -eu
include=$1 compiler=$2 libraries=$3 apis=${4:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

languages="c++11 c++20"
echo 'int main(void);' >"$folder/probe.cc"
if ! "$compiler" -x c++ -fsyntax-only "$folder/probe.cc" 2>"$folder/why"; then
	echo "not checked in C++: $(head -n 1 "$folder/why")"
	languages=
fi

for header in "$include"/rnic/*.h; do
	name=rnic/$(basename "$header")
	echo "#include <$name>" >"$folder/alone.c"
	for standard in c11 gnu17; do
		"$compiler" -std=$standard -Wall -Wextra -Wpedantic -Werror -I"$include" \
			-fsyntax-only "$folder/alone.c"
	done
	cp "$folder/alone.c" "$folder/alone.cc"
	for language in $languages; do
		"$compiler" -x c++ -std=$language -Wall -Wextra -Werror -I"$include" \
			-fsyntax-only "$folder/alone.cc"
	done
done

# agree LIBRARY HEADER...: what these headers declare is what the library exports.
agree() {
	library=$libraries/$1
	shift
	(cd "$include/rnic" && grep -oh '\brnic_[a-z_]*(' "$@") | tr -d '(' | sort -u \
		>"$folder/declared"
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
