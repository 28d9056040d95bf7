#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_header.sh INCLUDE COMPILER LIBRARY: the public headers compile alone, in C and in C++,
# without a warning, and every function that they declare is in the library.
set -eu
include=$1 compiler=$2 library=$3
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

declared=$(grep -oh '\brnic_[a-z_]*(' "$include/rnic/rnic.h" "$include/rnic/rnic_cm.h" |
	tr -d '(' | sort -u)
exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' |
	grep '^rnic_' | sort -u)
if [ "$declared" != "$exported" ]; then
	echo "declared in rnic.h and rnic_cm.h and exported from librnic.so are not the same:"
	printf '%s\n' "$declared" >"$folder/declared"
	printf '%s\n' "$exported" >"$folder/exported"
	diff "$folder/declared" "$folder/exported" || true
	exit 1
fi
echo "headers compile alone; $(printf '%s\n' "$declared" | wc -l) functions declared and exported"
