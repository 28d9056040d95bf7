#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tshark shows the pad of an InfiniBand packet as data. A packet carries 0 to 3 bytes of pad, so
# that its payload is a multiple of 4 bytes, and the base transport header says how many; they are
# no part of the message (IBTA 1.4, 9.2.5 and 9.4.1). The frame below is a SEND of one byte, 10, by
# Linux rdma_rxe. tshark reads the pad count, 3, and shows four bytes of data: who adds up the data
# of a capture gets more bytes than the programs sent.
#
# Seen with tshark 4.0.17 of Debian 12, 4.4.19 of Debian 13, and 4.6.9 of sid.
# What helps: subtract infiniband.bth.padcnt from data.len.
#
# It needs root and mmdebstrap, and removes the two root file systems that it makes.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

frame=5254004791025254004791010800450000304e6a40004011684dc0000202c0000203c84412b7001c00000430ff
frame+=ff0000002e80100001100000002ecc4d97

# try RELEASE TSHARK_VERSION
try() {
	local root=$work/$1 output
	mmdebstrap --quiet --variant=apt --include="tshark=$2" "$1" "$root" ||
		{ echo "$1: there is no tshark $2"; status=1; return; }
	sed 's/../& /g; s/^/0000 /' <<<"$frame" >"$root/frame"
	output=$(chroot "$root" sh -c 'text2pcap -q frame frame.pcap && tshark -r frame.pcap \
		--disable-heuristic rpcrdma_infiniband -T fields -E separator=/s \
		-e infiniband.bth.padcnt -e data.len -e data.data' 2>/dev/null)
	echo "$1, tshark $2: pad, length and data are $output"
	[ "$output" = '3 4 10000000' ] || { echo "this is new"; status=1; }
}

try bookworm 4.0.17-0+deb12u3
try trixie 4.4.19-0+deb13u1
exit $status
