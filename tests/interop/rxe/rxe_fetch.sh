#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rxe_fetch.sh DIRECTORY [SUITE [PACKAGE...]]: fetches the packages of a kernel to DIRECTORY, unless
# it has the newest: the kernel of this machine's distribution, or that of a suite of Debian, with
# more packages of that suite. DIRECTORY/list then names the files, and DIRECTORY/apt has what apt
# said. rxe.sh calls it while it still has the host's network.
set -u
directory=$1 suite=${2:-}
more=("${@:3}")
mkdir -p "$directory" && cd "$directory" || exit
: >apt
apt=()

fail() {
	echo "$1" >>apt
	exit 1
}

# Lists of the suite, which the machine's own apt need not know. A mirror that is behind says that
# the newest list is out of date, and has the kernel all the same.
use_suite() {
	local mirror
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' |
		awk '$2 == "Debian" { print $1; exit }')
	[ -n "$mirror" ] || fail "apt knows no mirror of Debian"
	mkdir -p suite/lists/partial suite/cache/archives/partial
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
		>suite/sources.list
	apt=(-o "Dir::Etc::SourceList=$PWD/suite/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$PWD/suite/lists" -o "Dir::Cache=$PWD/suite/cache"
		-o Acquire::Check-Valid-Until=false -o Acquire::Languages=none)
	apt-get "${apt[@]}" -q update >>apt 2>&1 || fail "no lists of $suite can be fetched"
}

# depends_on PACKAGE PATTERN
depends_on() {
	apt-cache "${apt[@]}" depends "$1" 2>/dev/null | awk -v wanted="$2" '
		$1 == "Depends:" && $2 ~ wanted { print $2 }'
}

[ -z "$suite" ] || use_suite
kernel=$(depends_on linux-image-amd64 "^linux-image-" | head -n 1)
[ -n "$kernel" ] || fail "apt knows no linux-image-amd64"
# One package holds all, or only names those that do.
mapfile -t parts < <(depends_on "$kernel" "^linux-(binary|modules)-")
[ ${#parts[@]} -gt 0 ] || parts=("$kernel")
apt-get "${apt[@]}" -qq download "${parts[@]}" "${more[@]}" >>apt 2>&1 ||
	fail "$(tail -n 1 apt)"
for package in "${parts[@]}" "${more[@]}"; do
	# shellcheck disable=SC2012 # the newest one; apt gives packages plain names
	ls -t "${package}"_*.deb | head -n 1
done >list
