#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# pyverbs shows half the speed of a lane of QDR. The value 4 of a port's active_speed stands for
# 10 Gb/s (IBTA 1.4, 14.2.5.6, LinkSpeedActive; IB_SPEED_QDR of Linux, which writes "10 Gb/sec
# (1X QDR)" in the file "rate"). ibv_devinfo, of the same project, says "10.0 Gbps (4)" for it.
# speed_to_str() of pyverbs, which also writes the speed where a program prints a PortAttr, says
# "5.0 Gbps (4)", as for 2 (DDR).
#
# Seen with python3-pyverbs 44.0 of Debian 12, 56.1 of Debian 13, and 65.0 of sid.
# What helps: take the number, PortAttr.active_speed.
#
# It needs root and mmdebstrap, and removes the two root file systems that it makes.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# try RELEASE VERSION [EXTENDED]: newer versions want the extended speed, which is 0 up to NDR
try() {
	local root=$work/$1 output
	mmdebstrap --quiet --variant=apt --include="python3-pyverbs=$2" "$1" "$root" ||
		{ echo "$1: there is no python3-pyverbs $2"; status=1; return; }
	output=$(chroot "$root" python3 -c "from pyverbs.device import speed_to_str as show
print(*(show(speed${3:+, $3}) for speed in (1, 2, 4, 8)), sep=', ')")
	echo "$1, pyverbs $2: $output"
	[ "$output" = '2.5 Gbps (1), 5.0 Gbps (2), 5.0 Gbps (4), 10.0 Gbps (8)' ] ||
		{ echo "this is new"; status=1; }
}

try bookworm 44.0-2
try trixie 56.1-1 0
exit $status
