#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# rdma_rxe of Linux 7.2 sends FLUSH with an ICRC that does not fit the packet. The ICRC is the CRC
# of all fields of the packet that no router changes (IBTA 1.4, 7.8.1 and A17.3.3), whatever the
# operation. Below, two devices of rxe at the ends of a wire exchange a WRITE and a FLUSH, and each
# packet on the wire is checked: that of the FLUSH alone is wrong. The other rxe makes the same
# mistake and takes it, so that both complete; a peer of another kind drops it, and the requester
# ends with IBV_WC_RETRY_EXC_ERR.
#
# Seen with Linux 7.2.13 of Debian sid.
# What helps: between rxe and other devices no FLUSH; a READ of a byte behind the WRITEs instead.
#
# What it needs, guest.sh says.
# shellcheck source=findings/guest.sh
. "$(dirname "$0")/guest.sh"

guest_make_rxe sid
cat >"$root/flush.c" <<'END'
#include "rxe_pair.h"
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

enum {
	RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_FLUSH_GLOBAL,
	OPERATIONS = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_FLUSH,
	IP_BYTES = 20, UDP_BYTES = 8, BTH = IP_BYTES + UDP_BYTES, ICRC_BYTES = 4,
};

static uint32_t crc_of(const unsigned char *bytes, size_t length)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < length; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/* 8 bytes of ones come first; what a router may change counts as ones, too. */
static int is_right(const unsigned char *packet, size_t length)
{
	static const int changing[] = {1, 8, 10, 11, IP_BYTES + 6, IP_BYTES + 7, BTH + 4};
	unsigned char masked[8 + 2048];
	uint32_t icrc;

	memset(masked, 0xff, 8);
	memcpy(masked + 8, packet, length);
	for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++)
		masked[8 + changing[i]] = 0xff;
	memcpy(&icrc, packet + length - ICRC_BYTES, ICRC_BYTES);
	return icrc == crc_of(masked, 8 + length - ICRC_BYTES);
}

static int open_wire(void)
{
	int wire = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	struct sockaddr_ll place = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex("va")};

	need(bind(wire, (struct sockaddr *)&place, sizeof(place)) == 0, "listen on the wire");
	return wire;
}

static void judge_packets(int wire)
{
	unsigned char packet[2048];
	ssize_t length;

	while ((length = recv(wire, packet, sizeof(packet), MSG_DONTWAIT)) > 0)
		if (length > BTH + 12 && packet[0] == 0x45 && packet[9] == IPPROTO_UDP &&
		    packet[IP_BYTES + 2] == 4791 >> 8 && packet[IP_BYTES + 3] == (4791 & 0xff))
			printf("@@ opcode 0x%02x: ICRC %s\n", packet[BTH],
			       is_right(packet, (size_t)length) ? "right" : "wrong");
}

int main(void)
{
	static char from[64], to[64];
	struct end one = end_open("rxe0", OPERATIONS), other = end_open("rxe1", OPERATIONS);
	struct ibv_mr *source = ibv_reg_mr(one.pd, from, sizeof(from), RIGHTS);
	struct ibv_mr *target = ibv_reg_mr(other.pd, to, sizeof(to), RIGHTS);
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(one.qp);
	int wire = open_wire();

	need(source && target && qp, "register");
	end_connect(&one, &other, RIGHTS);
	end_connect(&other, &one, RIGHTS);
	end_write(&one, source, to, target->rkey);
	printf("@@ WRITE: status %d\n", end_wait(&one));
	ibv_wr_start(qp);
	ibv_wr_flush(qp, target->rkey, (uintptr_t)to, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	need(ibv_wr_complete(qp) == 0, "post a FLUSH");
	printf("@@ FLUSH: status %d\n", end_wait(&one));
	judge_packets(wire);
}
END
guest_program /flush -libverbs
output=$(guest_run "$guest_wire"'
	/flush')
echo "$output"
[ "$output" = "WRITE: status 0
FLUSH: status 0
opcode 0x0a: ICRC right
opcode 0x11: ICRC right
opcode 0x1c: ICRC wrong
opcode 0x10: ICRC right" ] || { echo "this is new"; exit 1; }
