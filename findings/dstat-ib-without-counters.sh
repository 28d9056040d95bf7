#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# "dstat --ib" has no bytes of any device of a mainline kernel. Its plugin says "Bytes received or
# sent through infiniband/RoCE interfaces" without a condition, but reads
# ports/N/counters_ext/port_rcv_data_64, a folder that no mainline kernel makes. Linux has these
# counters, with 64 bits, in ports/N/counters (Documentation/ABI/stable/sysfs-class-infiniband), as
# the device below. dstat says so once, prints zeros, and ends with status 0.
#
# Seen with dstat 0.7.4 of Debian 12. Debian 13 has no dstat.
# What helps: read ports/N/counters, whose unit is four bytes.
#
# It needs root and mmdebstrap, and removes the root file system that it makes.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

mmdebstrap --quiet --variant=apt --include=dstat=0.7.4-6.1 bookworm "$root" ||
	{ echo "there is no dstat 0.7.4-6.1"; exit 1; }
counters=$root/sys/class/infiniband/rxe0/ports/1/counters
mkdir -p "$counters"
echo 1000 >"$counters/port_rcv_data"
echo 2000 >"$counters/port_xmit_data"
output=$(unshare --mount sh -c "mount -t proc proc $root/proc &&
	chroot $root dstat --ib --nocolor 1 2" 2>"$root/errors")
status=$?
echo "$output"
echo "status $status"
[ $status -eq 0 ] && grep -q 'counters_ext/port_rcv_data_64 does not exist' <<<"$output" &&
	grep -qx ' *0 *0 *' <<<"$output" || { echo "this is new"; exit 1; }
