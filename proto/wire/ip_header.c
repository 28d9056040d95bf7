/* SPDX-License-Identifier: MIT */
#include "proto/wire/ip_header.h"

#include "proto/base/be.h"
#include "proto/wire/gid.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define PROTOCOL_UDP		  17
#define IPV4_VERSION_AND_LENGTH	  0x45
#define IPV4_DONT_FRAGMENT	  0x4000
#define IPV4_FRAGMENT_OFFSET_MASK 0x1fff

bool rnic_addresses_are_ipv4(const struct rnic_addresses *addresses)
{
	return rnic_gid_is_ipv4(&addresses->source) && rnic_gid_is_ipv4(&addresses->dest);
}

/* RFC 1071: adds `length` bytes, padded with a zero to a whole number of words, to `sum`. */
static uint64_t checksum_add(uint64_t sum, const uint8_t *bytes, size_t length)
{
	size_t at;

	for (at = 0; at + 2 <= length; at += 2)
		sum += rnic_be16_read(bytes + at);
	if (at < length)
		sum += (uint32_t)bytes[at] << 8;
	return sum;
}

static uint16_t checksum_finish(uint64_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static size_t ipv4_header_write(const struct rnic_addresses *addresses, uint16_t identification,
				size_t udp_bytes, uint8_t *out)
{
	assert(udp_bytes <= UINT16_MAX - RNIC_IPV4_HEADER_BYTES);
	out[0] = IPV4_VERSION_AND_LENGTH;
	out[1] = addresses->traffic_class;
	rnic_be16_write(out + 2, (uint16_t)(RNIC_IPV4_HEADER_BYTES + udp_bytes));
	rnic_be16_write(out + 4, identification);
	rnic_be16_write(out + 6, IPV4_DONT_FRAGMENT);
	out[8] = addresses->hop_limit;
	out[9] = PROTOCOL_UDP;
	rnic_be16_write(out + 10, 0);
	memcpy(out + 12, rnic_gid_ipv4(&addresses->source), 4);
	memcpy(out + 16, rnic_gid_ipv4(&addresses->dest), 4);
	return RNIC_IPV4_HEADER_BYTES;
}

static size_t ipv6_header_write(const struct rnic_addresses *addresses, size_t udp_bytes,
				uint8_t *out)
{
	assert(udp_bytes <= UINT16_MAX);
	rnic_be32_write(out, UINT32_C(6) << 28 | (uint32_t)addresses->traffic_class << 20);
	rnic_be16_write(out + 4, (uint16_t)udp_bytes);
	out[6] = PROTOCOL_UDP;
	out[7] = addresses->hop_limit;
	memcpy(out + 8, addresses->source.bytes, 16);
	memcpy(out + 24, addresses->dest.bytes, 16);
	return RNIC_IPV6_HEADER_BYTES;
}

size_t rnic_ip_header_write_unsummed(const struct rnic_addresses *addresses,
				     uint16_t identification, size_t payload_bytes, uint8_t *out)
{
	size_t udp_bytes = RNIC_UDP_HEADER_BYTES + payload_bytes;

	if (rnic_addresses_are_ipv4(addresses))
		return ipv4_header_write(addresses, identification, udp_bytes, out);
	return ipv6_header_write(addresses, udp_bytes, out);
}

size_t rnic_ip_header_write(const struct rnic_addresses *addresses, uint16_t identification,
			    size_t payload_bytes, uint8_t *out)
{
	size_t bytes = rnic_ip_header_write_unsummed(addresses, identification, payload_bytes, out);

	if (bytes == RNIC_IPV4_HEADER_BYTES)
		rnic_be16_write(out + 10, checksum_finish(checksum_add(0, out, bytes)));
	return bytes;
}

void rnic_udp_header_write(const struct rnic_addresses *addresses, uint16_t checksum,
			   size_t payload_bytes, uint8_t out[RNIC_UDP_HEADER_BYTES])
{
	assert(payload_bytes <= UINT16_MAX - RNIC_UDP_HEADER_BYTES);
	rnic_be16_write(out, addresses->source_port);
	rnic_be16_write(out + 2, RNIC_UDP_PORT);
	rnic_be16_write(out + 4, (uint16_t)(RNIC_UDP_HEADER_BYTES + payload_bytes));
	rnic_be16_write(out + 6, checksum);
}

uint16_t rnic_udp_checksum(const struct rnic_addresses *addresses, const uint8_t *payload,
			   size_t payload_bytes)
{
	uint8_t udp_header[RNIC_UDP_HEADER_BYTES];
	uint64_t sum = PROTOCOL_UDP + RNIC_UDP_HEADER_BYTES + payload_bytes;
	uint16_t checksum;

	if (rnic_addresses_are_ipv4(addresses)) {
		sum = checksum_add(sum, rnic_gid_ipv4(&addresses->source), 4);
		sum = checksum_add(sum, rnic_gid_ipv4(&addresses->dest), 4);
	} else {
		sum = checksum_add(sum, addresses->source.bytes, 16);
		sum = checksum_add(sum, addresses->dest.bytes, 16);
	}
	rnic_udp_header_write(addresses, 0, payload_bytes, udp_header);
	sum = checksum_add(sum, udp_header, sizeof(udp_header));
	checksum = checksum_finish(checksum_add(sum, payload, payload_bytes));
	return checksum == 0 ? UINT16_MAX : checksum;
}

void rnic_grh_write(const struct rnic_addresses *addresses, size_t payload_bytes,
		    uint8_t out[RNIC_GRH_BYTES])
{
	size_t unused =
		rnic_addresses_are_ipv4(addresses) ? RNIC_GRH_BYTES - RNIC_IPV4_HEADER_BYTES : 0;

	memset(out, 0, unused);
	rnic_ip_header_write(addresses, 0, payload_bytes, out + unused);
}

void rnic_grh_read(const uint8_t grh[RNIC_GRH_BYTES], struct rnic_addresses *addresses)
{
	const uint8_t *ipv4 = grh + RNIC_GRH_BYTES - RNIC_IPV4_HEADER_BYTES;
	const uint32_t first = rnic_be32_read(grh);

	if (first == 0 && ipv4[0] == IPV4_VERSION_AND_LENGTH)
		*addresses = (struct rnic_addresses){
			.source = rnic_gid_from_ipv4(ipv4 + 12),
			.dest = rnic_gid_from_ipv4(ipv4 + 16),
			.traffic_class = ipv4[1],
			.hop_limit = ipv4[8],
		};
	else
		*addresses = (struct rnic_addresses){
			.source = rnic_gid_from_ipv6(grh + 8),
			.dest = rnic_gid_from_ipv6(grh + 24),
			.traffic_class = (uint8_t)(first >> 20),
			.hop_limit = grh[7],
		};
}

/* Both functions return the header's length, or an error, and store where the IP packet ends. */
static int ipv4_header_decode(struct rnic_datagram *out, const uint8_t *bytes, size_t length,
			      size_t *end)
{
	uint16_t fragment;

	if (length < RNIC_IPV4_HEADER_BYTES)
		return -EBADMSG;
	fragment = rnic_be16_read(bytes + 6);
	if (bytes[0] != IPV4_VERSION_AND_LENGTH || bytes[9] != PROTOCOL_UDP ||
	    (fragment & IPV4_FRAGMENT_OFFSET_MASK) != 0)
		return -EPROTONOSUPPORT;
	out->addresses.source = rnic_gid_from_ipv4(bytes + 12);
	out->addresses.dest = rnic_gid_from_ipv4(bytes + 16);
	out->addresses.traffic_class = bytes[1];
	out->addresses.hop_limit = bytes[8];
	out->identification = rnic_be16_read(bytes + 4);
	out->dont_fragment = (fragment & IPV4_DONT_FRAGMENT) != 0;
	*end = rnic_be16_read(bytes + 2);
	return RNIC_IPV4_HEADER_BYTES;
}

static int ipv6_header_decode(struct rnic_datagram *out, const uint8_t *bytes, size_t length,
			      size_t *end)
{
	if (length < RNIC_IPV6_HEADER_BYTES)
		return -EBADMSG;
	if (bytes[6] != PROTOCOL_UDP)
		return -EPROTONOSUPPORT;
	out->addresses.source = rnic_gid_from_ipv6(bytes + 8);
	out->addresses.dest = rnic_gid_from_ipv6(bytes + 24);
	out->addresses.traffic_class = (uint8_t)(rnic_be16_read(bytes) >> 4);
	out->addresses.hop_limit = bytes[7];
	*end = (size_t)RNIC_IPV6_HEADER_BYTES + rnic_be16_read(bytes + 4);
	return RNIC_IPV6_HEADER_BYTES;
}

int rnic_datagram_decode(struct rnic_datagram *out, const uint8_t *bytes, size_t length)
{
	struct rnic_datagram found = {0};
	size_t end, udp_bytes;
	int header_bytes;

	if (length < 1)
		return -EBADMSG;
	if (bytes[0] >> 4 == 4)
		header_bytes = ipv4_header_decode(&found, bytes, length, &end);
	else if (bytes[0] >> 4 == 6)
		header_bytes = ipv6_header_decode(&found, bytes, length, &end);
	else
		return -EPROTONOSUPPORT;
	if (header_bytes < 0)
		return header_bytes;
	if (end > length || end < (size_t)header_bytes + RNIC_UDP_HEADER_BYTES)
		return -EBADMSG;

	bytes += header_bytes;
	udp_bytes = rnic_be16_read(bytes + 4);
	if (udp_bytes < RNIC_UDP_HEADER_BYTES || udp_bytes > end - (size_t)header_bytes)
		return -EBADMSG;
	found.addresses.source_port = rnic_be16_read(bytes);
	found.dest_port = rnic_be16_read(bytes + 2);
	found.udp_checksum = rnic_be16_read(bytes + 6);
	found.payload = bytes + RNIC_UDP_HEADER_BYTES;
	found.payload_bytes = udp_bytes - RNIC_UDP_HEADER_BYTES;
	*out = found;
	return 0;
}
