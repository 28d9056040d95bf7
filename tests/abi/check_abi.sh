#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check_abi.sh [--update] BUILD [DUMPS]: what programs see of the libraries of BUILD, compared with
# the dumps of the last release (tests/abi/dumps, or DUMPS). New symbols pass; removed symbols and
# changed types do not. --update writes the dumps.
#
# Of libibverbs and librdmacm the dumps hold the symbols alone: their types are those of the
# installed headers of rdma-core, which differ between releases of Debian. Of our own libraries
# they hold the public types as well, which only the abidw that wrote the dumps compares: versions
# describe the same type in different words.
#
# Exit status 0, 1, or 77 without abidw, and on a machine that the dumps do not describe.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
is_update=false
[ "${1:-}" = --update ] && { is_update=true; shift; }
build=${1:?the build tree}
dumps=${2:-$top/tests/abi/dumps}

native=(librnic librnic-rdma librnic-connection librnic-rpc)
dropin=(libibverbs librdmacm)

command -v abidw >/dev/null || { echo "skipped: there is no abidw (abigail-tools)"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the dumps are of x86_64"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

path_of() {
	case $1 in
	libibverbs | librdmacm) echo "$build/lib/verbs/$1.so.1" ;;
	*) echo "$build/lib/$1.so" ;;
	esac
}

# dump LIBRARY FILE
dump() {
	local path headers=()
	local fields=(--no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed)
	path=$(path_of "$1")
	if [[ $path = */verbs/* ]]; then
		objcopy --strip-debug "$path" "$work/${path##*/}" || return
		path=$work/${path##*/}
	else
		headers=(--headers-dir "$build/include" --drop-private-types)
	fi
	if ! abidw "${fields[@]}" "${headers[@]}" "$path" >"$work/dump" 2>"$work/abidw"; then
		cat "$work/abidw"
		return 1
	fi
	# Where the sources lay is nothing that a program sees.
	sed -E "s:(<abi-instr [^>]*path=')[^']*/((lib|proto)/[^']*'):\\1\\2:" "$work/dump" >"$2"
}

# What of the dump FILE a program links: names with versions.
symbols() {
	sed -n '/<elf-function-symbols>/,/<\/elf-variable-symbols>/p' "$1" |
		grep -oE "<elf-symbol name='[^']*'( version='[^']*')?" | sort -u
}

abidw_version=$(abidw --version)
if $is_update; then
	mkdir -p "$dumps"
	for library in "${native[@]}" "${dropin[@]}"; do
		dump "$library" "$dumps/$library.abi" || exit 1
	done
	echo "$abidw_version" >"$dumps/made_by"
	exit 0
fi

failures=0
count=0
for library in "${native[@]}" "${dropin[@]}"; do
	if [ ! -e "$(path_of "$library")" ]; then
		echo "not compared: this build has no $library"
		continue
	fi
	count=$((count + 1))
	dump "$library" "$work/$library.abi" || exit 1
	removed=$(comm -23 <(symbols "$dumps/$library.abi") <(symbols "$work/$library.abi"))
	[ -n "$(symbols "$dumps/$library.abi")" ] || removed="its dump, $dumps/$library.abi"
	if [ -n "$removed" ]; then
		echo "$library lost $removed"
		failures=$((failures + 1))
	elif [[ " ${dropin[*]} " = *" $library "* ]]; then
		continue
	elif [ "$(cat "$dumps/made_by")" != "$abidw_version" ]; then
		echo "symbols alone: $library, whose dump $(cat "$dumps/made_by") wrote"
	elif ! objdump -h "$(path_of "$library")" | grep -q debug_info; then
		echo "symbols alone: $library, which was built without its types (-g)"
	elif ! abidiff --no-added-syms "$dumps/$library.abi" "$work/$library.abi"; then
		echo "$library changed; a change for the next release: check_abi.sh --update BUILD"
		failures=$((failures + 1))
	fi
done
[ $count -gt 0 ] || { echo "skipped: this build has none of the libraries"; exit 77; }
echo "abi: $count libraries, $failures failures"
[ $failures -eq 0 ]
