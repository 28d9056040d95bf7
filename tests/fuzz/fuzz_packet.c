/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a RoCEv2 packet: the first chooses the addresses' family, the rest starts at the
 * BTH. A packet that decodes is encoded again and must decode to the same headers; the ICRC check
 * and the decoder of IP datagrams must survive any input.
 */
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "proto/wire/ip_header.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Reserved bits may differ between the input and its first encoding, never after that. */
static void check_headers(const struct rnic_packet *packet, size_t length)
{
	uint8_t bytes[RNIC_PACKET_BYTES_MAX] = {0};
	uint8_t again[RNIC_HEADER_BYTES_MAX];
	struct rnic_packet decoded;
	size_t header_bytes = rnic_packet_encode_headers(packet, bytes);

	require(rnic_packet_bytes(packet) + RNIC_ICRC_BYTES == length);
	memcpy(bytes + header_bytes, packet->payload, packet->payload_bytes);
	require(rnic_packet_decode(&decoded, &packet->addresses, bytes, length) == 0);
	require(decoded.payload == bytes + header_bytes);
	require(decoded.payload_bytes == packet->payload_bytes);
	require(rnic_packet_encode_headers(&decoded, again) == header_bytes);
	require(memcmp(bytes, again, header_bytes) == 0);
	require(memcmp(&decoded.reth, &packet->reth, sizeof(decoded.reth)) == 0);
	require(decoded.psn.value == packet->psn.value && decoded.dest_qpn == packet->dest_qpn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rnic_addresses addresses = {.source_port = 49152};
	static const uint8_t source[4] = {192, 0, 2, 2}, dest[4] = {192, 0, 2, 3};
	struct rnic_datagram datagram;
	struct rnic_packet packet;

	rnic_datagram_decode(&datagram, data, size);
	if (size == 0)
		return 0;
	if (data[0] & 1) {
		addresses.source = rnic_gid_from_ipv4(source);
		addresses.dest = rnic_gid_from_ipv4(dest);
	}
	data++;
	size--;
	rnic_icrc_check(&addresses, data, size, NULL);
	if (rnic_packet_decode(&packet, &addresses, data, size) == 0)
		check_headers(&packet, size);
	return 0;
}
