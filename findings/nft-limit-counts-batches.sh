#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A limit of nftables on packets lets many more packets pass. nft(8) says of "limit" that a rule
# matches at a rate of packets, with a burst of packets. Datagrams that a program sends at once
# (UDP_SEGMENT) pass a firewall of the same machine, or of a container's veth, as one packet, since
# the kernel cuts them behind it: "burst 5 packets" lets 5 of 40 single datagrams pass, and all 40
# that are sent in two calls. A rule "meta length > 1500" sees a packet of 20,028 bytes on an
# interface with an MTU of 1500.
#
# Seen with nftables 1.0.6 of Debian 12 and 1.1.3 of Debian 13, on Linux 6.18.
# What helps: limit bytes, as in "limit rate 10 mbytes/second".
#
# It needs root and mmdebstrap, and removes the two root file systems that it makes.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# Forty datagrams of 1,000 bytes, singly or twenty at once; prints how many arrive.
cat >"$work/send.py" <<'END'
import socket
import sys

UDP_SEGMENT = 103
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 4791))
receiver.setblocking(False)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1000)
at_once = int(sys.argv[1])
for _ in range(40 // at_once):
    sender.sendto(bytes(1000 * at_once), ("127.0.0.1", 4791))
arrived = 0
try:
    while True:
        receiver.recv(65536)
        arrived += 1
except BlockingIOError:
    print(arrived)
END

# arrive ROOT AT_ONCE: in a network namespace of its own, below the limit.
arrive() {
	unshare --net chroot "$1" sh -c \
		"ip link set lo up mtu 1500 && nft -f - && python3 send.py $2" <<-'END'
		table inet filter {
			chain input {
				type filter hook input priority 0;
				udp dport 4791 limit rate 1/hour burst 5 packets accept
				udp dport 4791 drop
			}
		}
	END
}

# try RELEASE NFT_VERSION
try() {
	local root=$work/$1 singly at_once
	mmdebstrap --quiet --variant=apt --include="nftables=$2,iproute2,python3-minimal" \
		"$1" "$root" || { echo "$1: there is no nftables $2"; status=1; return; }
	cp "$work/send.py" "$root"
	singly=$(arrive "$root" 1)
	at_once=$(arrive "$root" 20)
	echo "$1, nftables $2: of 40 datagrams $singly arrive, and $at_once of those sent by 20"
	[ "$singly/$at_once" = 5/40 ] || { echo "this is new"; status=1; }
}

try bookworm 1.0.6-2+deb12u2
try trixie 1.1.3-1
exit $status
