#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# nftables takes "ip6 dscp & 0x38 == 0x18" and never matches it, on x86-64. This asks for a class of
# DSCPs, 24 to 31, such as the 26 that much of RoCE uses; in IPv4, "ip dscp & 0x38 == 0x18" matches.
# nft(8) has the same type for both fields, and lets any expression be masked. The DSCP of IPv6 lies
# across two bytes, and nft swaps the bytes of the mask. Below, a datagram over IPv4 and one over
# IPv6 have a DSCP of 26: the rule for IPv6 has counted none. nft 1.1.3 moreover lists it as
# "ip6 dscp & 0x3800 == cs3/8", and refuses its own listing, so that "nft list ruleset >FILE" and
# "nft -f FILE" restore no rule at all. The same holds for raw fields across bytes, such as
# "@th,68,24".
#
# Seen with nftables 1.0.6 of Debian 12, 1.1.3 of Debian 13, and 1.1.7 of sid, on Linux 6.18.
# What helps: name the values, as in "ip6 dscp 24-31".
#
# It needs root and mmdebstrap, and removes the two root file systems that it makes.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

cat >"$work/send.py" <<'END'
import socket

DSCP = 26
for family, level, option, address in (
        (socket.AF_INET, socket.IPPROTO_IP, socket.IP_TOS, "127.0.0.1"),
        (socket.AF_INET6, socket.IPPROTO_IPV6, socket.IPV6_TCLASS, "::1")):
    sender = socket.socket(family, socket.SOCK_DGRAM)
    sender.setsockopt(level, option, DSCP << 2)
    sender.sendto(bytes(20), (address, 4791))
END
cat >"$work/rules" <<'END'
table inet counters {
	chain output {
		type filter hook output priority 0;
		udp dport 4791 ip dscp & 0x38 == 0x18 counter
		udp dport 4791 ip6 dscp & 0x38 == 0x18 counter
		udp dport 4791 ip6 dscp 24-31 counter
	}
}
END

# try RELEASE NFT_VERSION RELOAD_STATUS
try() {
	local root=$work/$1 output
	mmdebstrap --quiet --variant=apt --include="nftables=$2,iproute2,python3-minimal" \
		"$1" "$root" || { echo "$1: there is no nftables $2"; status=1; return; }
	cp "$work/send.py" "$work/rules" "$root"
	output=$(unshare --net chroot "$root" sh -c 'ip link set lo up && nft -f rules &&
		python3 send.py && nft list ruleset >listing && grep -o "packets [0-9]*" listing
		nft -f listing 2>/dev/null; echo "reload $?"' | paste -sd ' ')
	echo "$1, nftables $2: $output"
	[ "$output" = "packets 1 packets 0 packets 1 reload $3" ] ||
		{ echo "this is new"; status=1; }
}

try bookworm 1.0.6-2+deb12u2 0
try trixie 1.1.3-1 1
exit $status
