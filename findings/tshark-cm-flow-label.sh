#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tshark shows the flow labels of a connection request (CM REQ) shifted by eight bits, and the
# packet rate from a wrong byte. The primary flow label has 20 bits at byte 88 of the message, and
# the packet rate the last 6 of the same 4 bytes (IBTA 1.4, 12.6.5). The frame below is a REQ of
# Linux rdma_rxe; these 4 bytes are 62 6d f0 00, so the label is 0x626df. tshark says 0x00626. A
# source port that is computed from the label that tshark shows is wrong, too.
#
# Seen with tshark 4.0.17 of Debian 12, 4.4.19 of Debian 13, and 4.6.9 of sid.
# What helps: read the bytes (tshark -x).
#
# It needs root and mmdebstrap, and removes the two root file systems that it makes.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

frame="525400479102525400479101080045000134739840004011421bc0000202c0000203d87212b7012000006400ff"
frame+="ff000000018000000d800100000000000101070203000000000000000273a1f7a30010000000000000a3f7a173"
frame+="000000000000000001061c06505400fffe479101000000000000000000005d0100000001000000a0985f9ca7ff"
frame+="ff37f0ffffffff00000000000000000000ffffc000020200000000000000000000ffffc0000203626df0000040"
frame+="009800000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
frame+="000040b607000000000000000000000000c0000202000000000000000000000000c00002030000000000000000"
frame+="000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
frame+="0000004d90b547"

# try RELEASE TSHARK_VERSION
try() {
	local root=$work/$1 output
	mmdebstrap --quiet --variant=apt --include="tshark=$2" "$1" "$root" ||
		{ echo "$1: there is no tshark $2"; status=1; return; }
	sed 's/../& /g; s/^/0000 /' <<<"$frame" >"$root/frame"
	output=$(chroot "$root" sh -c 'text2pcap -q frame frame.pcap && tshark -r frame.pcap -V' \
		2>/dev/null | grep -o 'Primary Flow Label: .*')
	echo "$1, tshark $2: $output"
	[ "$output" = 'Primary Flow Label: 0x00626' ] || { echo "this is new"; status=1; }
}

try bookworm 4.0.17-0+deb12u3
try trixie 4.4.19-0+deb13u1
exit $status
