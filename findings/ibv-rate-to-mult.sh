#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ibv_rate_to_mult() knows 28 Gb/s, which is no multiple of 2.5 Gb/s, and answers -1 for 25, 100,
# 200 and 300 Gb/s, which are; mult_to_ibv_rate() answers IBV_RATE_MAX, which is 0, for 10, 40, 80
# and 120. ibv_rate_to_mult(3) calls the result "a multiple of 2.5 Gbit/sec (the base rate)", and
# names no rate without one. A program that computes a static rate from the speed of a port of 25
# or 100 Gb/s sets no limit, without an error.
#
# Seen with libibverbs 44.0 of Debian 12, 56.1 of Debian 13, and 65.0 of sid.
# What helps: ibv_rate_to_mbps() and mbps_to_ibv_rate(), which know all rates; 25 Gb/s is 25781.
#
# It needs root and mmdebstrap, and removes the two root file systems that it makes.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

cat >"$work/rates.c" <<'END'
#include <infiniband/verbs.h>
#include <stdio.h>

#define SHOW(rate) printf("%d ", ibv_rate_to_mult(IBV_RATE_##rate##_GBPS))

int main(void)
{
	SHOW(28), SHOW(50), SHOW(400), SHOW(25), SHOW(100), SHOW(200), SHOW(300);
	printf("%d %d\n", mult_to_ibv_rate(10), mult_to_ibv_rate(40));
}
END

# try RELEASE VERSION
try() {
	local root=$work/$1 output
	mmdebstrap --quiet --variant=apt --include="libibverbs-dev=$2,gcc,libc6-dev" "$1" "$root" ||
		{ echo "$1: there is no libibverbs-dev $2"; status=1; return; }
	cp "$work/rates.c" "$root/"
	output=$(chroot "$root" sh -c 'gcc -o rates rates.c -libverbs && ./rates')
	echo "$1, libibverbs $2: $output"
	[ "$output" = '11 20 160 -1 -1 -1 -1 0 0' ] || { echo "this is new"; status=1; }
}

try bookworm 44.0-2
try trixie 56.1-1
exit $status
