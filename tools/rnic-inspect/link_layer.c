/* SPDX-License-Identifier: MIT */
#include "tools/rnic-inspect/link_layer.h"

#include "proto/base/be.h"
#include "proto/base/bits.h"

#define ETHERTYPE_IPV4	     0x0800
#define ETHERTYPE_IPV6	     0x86dd
#define ETHERTYPE_VLAN	     0x8100
#define ETHERTYPE_VLAN_OUTER 0x88a8
#define ETHERTYPE_ROCE_V1    0x8915
#define VLAN_TAG_BYTES	     4
#define NO_ETHERTYPE	     SIZE_MAX

/* InfiniBand's own frames, alone or in the records of a capture card (ERF), by their type. */
#define LINKTYPE_ERF		 197
#define LINKTYPE_INFINIBAND	 247
#define ERF_TYPE_AT		 8
#define ERF_TYPE_MASK		 0x7f
#define ERF_TYPE_INFINIBAND	 21
#define ERF_TYPE_INFINIBAND_LINK 25

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

static bool is_infiniband(const struct capture_frame *frame)
{
	uint8_t erf_type;

	if (frame->link_type != LINKTYPE_ERF)
		return frame->link_type == LINKTYPE_INFINIBAND;
	if (frame->captured_bytes <= ERF_TYPE_AT)
		return false;
	erf_type = frame->bytes[ERF_TYPE_AT] & ERF_TYPE_MASK;
	return erf_type == ERF_TYPE_INFINIBAND || erf_type == ERF_TYPE_INFINIBAND_LINK;
}

enum link_content link_layer_find_ip(const struct capture_frame *frame, const uint8_t **ip,
				     size_t *ip_bytes)
{
	const struct link_layer *layer = link_layer_of(frame->link_type);
	const uint8_t *bytes = frame->bytes;
	size_t header_bytes;
	uint16_t ethertype;

	if (is_infiniband(frame))
		return LINK_INFINIBAND;
	if (layer == NULL)
		return LINK_UNKNOWN;
	header_bytes = layer->header_bytes;
	if (frame->captured_bytes <= header_bytes)
		return LINK_OTHER;
	if (layer->ethertype_at != NO_ETHERTYPE) {
		ethertype = rnic_be16_read(bytes + layer->ethertype_at);
		while (ethertype == ETHERTYPE_VLAN || ethertype == ETHERTYPE_VLAN_OUTER) {
			if (frame->captured_bytes <= header_bytes + VLAN_TAG_BYTES)
				return LINK_OTHER;
			ethertype = rnic_be16_read(bytes + header_bytes + 2);
			header_bytes += VLAN_TAG_BYTES;
		}
		if (ethertype == ETHERTYPE_ROCE_V1)
			return LINK_INFINIBAND;
		if (ethertype != ETHERTYPE_IPV4 && ethertype != ETHERTYPE_IPV6)
			return LINK_OTHER;
	}
	*ip = bytes + header_bytes;
	*ip_bytes = frame->captured_bytes - header_bytes;
	return LINK_IP;
}
