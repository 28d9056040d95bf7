/* SPDX-License-Identifier: MIT */
#include "proto/mad/ip_cm.h"

#include "proto/base/be.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <string.h>

/* Version, IP version and port, then two addresses. */
#define SOURCE_OFFSET 4
#define DEST_OFFSET   20
#define IPV4_OFFSET   12 /* in an address */

int rnic_ip_cm_decode(struct rnic_ip_cm *out, const uint8_t bytes[RNIC_IP_CM_BYTES])
{
	if (bytes[0] != 0)
		return -EPROTO;
	switch (bytes[1] >> 4) {
	case 4:
		out->source = rnic_gid_from_ipv4(bytes + SOURCE_OFFSET + IPV4_OFFSET);
		out->dest = rnic_gid_from_ipv4(bytes + DEST_OFFSET + IPV4_OFFSET);
		break;
	case 6:
		out->source = rnic_gid_from_ipv6(bytes + SOURCE_OFFSET);
		out->dest = rnic_gid_from_ipv6(bytes + DEST_OFFSET);
		break;
	default:
		return -EPROTO;
	}
	out->source_port = rnic_be16_read(bytes + 2);
	return 0;
}

void rnic_ip_cm_encode(const struct rnic_ip_cm *header, uint8_t out[RNIC_IP_CM_BYTES])
{
	bool is_ipv4 = rnic_gid_is_ipv4(&header->source) && rnic_gid_is_ipv4(&header->dest);

	memset(out, 0, RNIC_IP_CM_BYTES);
	out[1] = is_ipv4 ? 4 << 4 : 6 << 4;
	rnic_be16_write(out + 2, header->source_port);
	if (is_ipv4) {
		memcpy(out + SOURCE_OFFSET + IPV4_OFFSET, rnic_gid_ipv4(&header->source), 4);
		memcpy(out + DEST_OFFSET + IPV4_OFFSET, rnic_gid_ipv4(&header->dest), 4);
	} else {
		memcpy(out + SOURCE_OFFSET, header->source.bytes, 16);
		memcpy(out + DEST_OFFSET, header->dest.bytes, 16);
	}
}

bool rnic_port_space_exists(uint32_t port_space)
{
	switch (port_space) {
	case RNIC_PORT_SPACE_IPOIB:
	case RNIC_PORT_SPACE_TCP:
	case RNIC_PORT_SPACE_UDP:
	case RNIC_PORT_SPACE_IB:
		return true;
	default:
		return false;
	}
}

uint64_t rnic_service_id(uint16_t port_space, uint16_t port)
{
	return (uint64_t)port_space << 16 | port;
}

bool rnic_service_id_split(uint64_t service_id, uint16_t *port_space, uint16_t *port)
{
	if (service_id >> 32 != 0 || !rnic_port_space_exists((uint32_t)(service_id >> 16)))
		return false;
	*port_space = (uint16_t)(service_id >> 16);
	*port = (uint16_t)service_id;
	return true;
}
