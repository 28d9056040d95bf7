#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Captures RoCE of both versions: capture.sh [INTERFACE [FILE]]
#
# Without INTERFACE it captures on that of the default route, or on the first that is not loopback.
set -eu

default_interface() {
	local interface
	interface=$(ip -o route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)
	[ -n "$interface" ] ||
		interface=$(ip -o link show | awk -F'[:@] *' '$2 != "lo" { print $2; exit }')
	echo "${interface:-lo}"
}

# The buffer holds 3,600 packets, each as long as a jumbo frame: with --immediate-mode every packet
# takes as much room as the longest one. With -s 0 the default buffer, 2 MiB, would hold 8.
exec tcpdump -i "${1:-$(default_interface)}" -s 9216 -B 32768 -U \
	--immediate-mode -w "${2:-roce_capture.pcap}" \
	'udp port 4791 or ether proto 0x8915'
