/* SPDX-License-Identifier: MIT */
#include "tools/rnic-inspect/link_layer.h"

#include "proto/base/be.h"
#include "proto/base/bits.h"

#define ETHERTYPE_IPV4	     0x0800
#define ETHERTYPE_IPV6	     0x86dd
#define ETHERTYPE_VLAN	     0x8100
#define ETHERTYPE_VLAN_OUTER 0x88a8
#define VLAN_TAG_BYTES	     4
#define NO_ETHERTYPE	     SIZE_MAX

static const struct link_layer {
	uint32_t link_type;
	size_t header_bytes;
	size_t ethertype_at; /* NO_ETHERTYPE: the IP version decides */
} link_layers[] = {
	{0, 4, NO_ETHERTYPE},	/* null: address family in the byte order of the capturing host */
	{1, 14, 12},		/* Ethernet */
	{12, 0, NO_ETHERTYPE},	/* raw IP, in old files */
	{14, 0, NO_ETHERTYPE},	/* raw IP, in old files */
	{101, 0, NO_ETHERTYPE}, /* raw IP */
	{108, 4, NO_ETHERTYPE}, /* loopback: address family in network byte order */
	{113, 16, 14},		/* Linux cooked */
	{228, 0, NO_ETHERTYPE}, /* IPv4 */
	{229, 0, NO_ETHERTYPE}, /* IPv6 */
	{276, 20, 0},		/* Linux cooked, version 2 */
};

static const struct link_layer *link_layer_of(uint32_t link_type)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(link_layers); i++)
		if (link_layers[i].link_type == link_type)
			return &link_layers[i];
	return NULL;
}

bool link_layer_is_known(uint32_t link_type)
{
	return link_layer_of(link_type) != NULL;
}

bool link_layer_find_ip(uint32_t link_type, const uint8_t *bytes, size_t length, const uint8_t **ip,
			size_t *ip_bytes)
{
	const struct link_layer *layer = link_layer_of(link_type);
	size_t header_bytes;
	uint16_t ethertype;

	if (layer == NULL || length <= layer->header_bytes)
		return false;
	header_bytes = layer->header_bytes;
	if (layer->ethertype_at != NO_ETHERTYPE) {
		ethertype = rnic_be16_read(bytes + layer->ethertype_at);
		while (ethertype == ETHERTYPE_VLAN || ethertype == ETHERTYPE_VLAN_OUTER) {
			if (length <= header_bytes + VLAN_TAG_BYTES)
				return false;
			ethertype = rnic_be16_read(bytes + header_bytes + 2);
			header_bytes += VLAN_TAG_BYTES;
		}
		if (ethertype != ETHERTYPE_IPV4 && ethertype != ETHERTYPE_IPV6)
			return false;
	}
	*ip = bytes + header_bytes;
	*ip_bytes = length - header_bytes;
	return true;
}
