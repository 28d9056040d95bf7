#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ibstat on a machine without any RDMA device prints nothing and ends with status 0, and so does
# ibstat -l. Its manual calls it "similar to the ibstatus utility", which says "No devices" and ends
# with 255, as ibv_devinfo does. A script "ibstat && run" runs where there is no device.
#
# Seen with infiniband-diags 44.0 of Debian 12, 56.1 of Debian 13, and 65.0 of sid.
# What helps: ask ibv_devinfo.
#
# It needs root and mmdebstrap, and removes the two root file systems that it makes. They have no
# /sys, and so no device, whatever the machine has.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# try RELEASE VERSION
try() {
	local root=$work/$1 words=() program
	mmdebstrap --quiet --variant=apt --include="infiniband-diags=$2,ibverbs-utils=$2" \
		"$1" "$root" || { echo "$1: there is no infiniband-diags $2"; status=1; return; }
	for program in ibstat 'ibstat -l' ibstatus ibv_devinfo; do
		chroot "$root" sh -c "$program" >"$work/output" 2>&1
		words+=("$program: status $?, $(wc -l <"$work/output") lines")
	done
	printf "$1, $2: %s\n" "${words[@]}"
	case "${words[*]}" in
	'ibstat: status 0, 0 lines ibstat -l: status 0, 0 lines ibstatus: status 255, '*)
		case "${words[3]}" in *'status 0'*) false ;; esac
		;;
	*) false ;;
	esac || { echo "this is new"; status=1; }
}

try bookworm 44.0-2
try trixie 56.1-1
exit $status
