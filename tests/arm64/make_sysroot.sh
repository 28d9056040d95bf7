#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# make_sysroot.sh DIRECTORY [PACKAGE...]: unpacks Debian's arm64 packages, and what they depend on,
# into DIRECTORY; without names, the libraries that the build links, for tools/cmake/arm64.cmake.
# Nothing of them runs, and this machine's packages stay as they are: libisal cannot be installed
# for two architectures at a time, and would push out this machine's.
#
# RNIC_ARM64_RELEASE names the release of Debian. Without it, it is this machine's, or trixie where
# this machine runs no Debian. A complete DIRECTORY of the same packages stays.
set -eu

[ $# -ge 1 ] || { sed -n '4,10p' "$0" >&2; exit 1; }
directory=$1
shift
here=$(cd "$(dirname "$0")" && pwd)

release_here() {
	(
		# shellcheck source=/dev/null
		. /etc/os-release
		[ "$ID" = debian ] && echo "${VERSION_CODENAME:-sid}" || echo trixie
	) 2>/dev/null || echo trixie
}

release=${RNIC_ARM64_RELEASE:-$(release_here)}
# The libraries of the build and the tests are the packages of these groups that end in -dev.
packages=$(awk '$1 ~ /^(core|verbs|apis|lab|test)$/ && $2 ~ /-dev$/ && $2 !~ /^libclang/ {
	print $2 }' "$here/../../tools/packages.txt" | sort -u)
[ $# -eq 0 ] || packages=$*
packages=$(tr '[:space:]' '\n' <<<"$packages" | grep . | paste -sd,)
wanted="$release $packages"
[ "$(cat "$directory/.rnic-complete" 2>/dev/null)" != "$wanted" ] || exit 0

rm -rf "$directory"
mkdir -p "$(dirname "$directory")"
log=$directory.log
# The archives of sid are signed for a week only, and mirrors may be older than that.
if ! mmdebstrap --variant=extract --architectures=arm64 --include="$packages" \
	--aptopt='Acquire::Check-Valid-Until "false"' \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
	"$release" "$directory" 2>"$log"; then
	tail -n 20 "$log" >&2
	exit 1
fi
rm -f "$log"
# qemu-user opens a file here when a program names a file that is here as well: programs are to see
# this machine's /tmp and /etc.
rm -rf "${directory:?}"/{dev,etc,home,media,mnt,opt,proc,root,run,sbin,srv,sys,tmp,var}
# Since Debian 13 /lib is a link that a package makes when it is configured.
[ -e "$directory/lib" ] || ln -s usr/lib "$directory/lib"
echo "$wanted" >"$directory/.rnic-complete"
