#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The kernel's counters of UDP do not count datagrams, so a loss cannot be computed from them. RFC
# 4113 defines udpOutDatagrams as all datagrams sent, and udpInDatagrams and udpInErrors as those
# that were delivered and those that were not. Linux adds one for each batch that crosses its
# stack: what a program sends at once (UDP_SEGMENT) counts as one datagram, and what the socket
# takes as one (UDP_GRO) counts as one, delivered or dropped. So the counters of one and the same
# loss depend on an option of the receiving socket. Of 800 datagrams that were sent by 20, into a
# socket whose buffer is too small:
#
#     without UDP_GRO: 40 sent, and 800 delivered or dropped
#     with UDP_GRO:    40 sent, 6 delivered and 34 dropped, where 120 arrived and 680 are missing
#
# The drops of the socket that `ss -m` shows are the same number as RcvbufErrors.
#
# Seen with iproute2 6.1.0 of Debian 12 (nstat, ss), on Linux 6.18.
# What helps: number the datagrams, or count by bytes.
#
# It needs root and mmdebstrap, and removes the root file system that it makes.
set -u

[ "$(id -u)" -eq 0 ] || { echo "skipped: needs root"; exit 77; }
[ -n "$(command -v mmdebstrap)" ] || { echo "skipped: needs mmdebstrap"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
status=0

# 800 datagrams of 1,000 bytes, by 20, before the receiver reads; prints how many arrive.
make_program() {
	cat >"$root/flood.py" <<-'END'
		import socket
		import subprocess
		import sys

		UDP_SEGMENT, UDP_GRO = 103, 104
		receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
		receiver.setsockopt(socket.IPPROTO_UDP, UDP_GRO, int(sys.argv[1]))
		receiver.bind(("127.0.0.1", 4791))
		receiver.setblocking(False)
		sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1000)
		for _ in range(40):
		    sender.sendto(bytes(20000), ("127.0.0.1", 4791))
		arrived = 0
		try:
		    while True:
		        arrived += len(receiver.recv(65536)) // 1000
		except BlockingIOError:
		    print("arrived", arrived)
		shown = subprocess.run(["ss", "-uamHn", "sport = :4791"], stdout=subprocess.PIPE)
		print("ss", shown.stdout.decode().rsplit(",d", 1)[1].split(")")[0])
	END
}

# count GRO: "sent delivered dropped, drops by ss, arrived", in a network namespace of its own.
count() {
	unshare --net --mount sh -c "mount -t proc proc '$root/proc' &&
		exec chroot '$root' sh -c \
			'ip link set lo up && python3 flood.py $1 && nstat -asz'" |
		awk '{ value[$1] = $2 }
			END { print value["UdpOutDatagrams"], value["UdpInDatagrams"],
				value["UdpRcvbufErrors"], value["ss"], value["arrived"] }'
}

# try GRO: whether delivered and dropped are datagrams (0), or batches (1).
try() {
	local sent delivered dropped by_ss arrived counted
	read -r sent delivered dropped by_ss arrived < <(count "$1")
	echo "UDP_GRO $1: of 800 datagrams $arrived arrive; counted are $sent sent," \
		"$delivered delivered, $dropped dropped, $by_ss by ss"
	counted=$((delivered + dropped))
	[ "$sent" -eq 40 ] && [ "$dropped" -gt 0 ] && [ "$dropped" -eq "$by_ss" ] &&
		[ "$counted" -eq "$2" ] && [ "$arrived" -eq $((delivered * 800 / $2)) ] ||
		{ echo "this is new"; status=1; }
}

mmdebstrap --quiet --variant=apt --include="iproute2=6.1.0-3,python3-minimal" bookworm "$root" ||
	{ echo "there is no iproute2 6.1.0-3"; exit 1; }
make_program
try 0 800
try 1 40
exit $status
