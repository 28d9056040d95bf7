/* SPDX-License-Identifier: MIT */
#include "port/udp/netlink_message.h"

#include "wire/gid.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

/* An attribute of a message; NULL values: not there. */
struct attribute {
	uint16_t type;
	const uint8_t *value;
	size_t length;
};

void netlink_reader_init(struct netlink_reader *reader, const void *bytes, size_t length)
{
	*reader = (struct netlink_reader){.bytes = bytes, .length = length};
}

/* Takes `length` bytes, and what aligns the next ones, off the front. */
static void netlink_message_advance(const uint8_t **bytes, size_t *left, size_t length)
{
	size_t aligned = NLMSG_ALIGN(length);

	if (aligned > *left)
		aligned = *left;
	*bytes += aligned;
	*left -= aligned;
}

static bool next_attribute(const uint8_t **bytes, size_t *left, struct attribute *attribute)
{
	struct rtattr header;

	if (*left < sizeof(header))
		return false;
	memcpy(&header, *bytes, sizeof(header));
	if (header.rta_len < sizeof(header) || header.rta_len > *left)
		return false;
	*attribute = (struct attribute){
		.type = header.rta_type & NLA_TYPE_MASK,
		.value = *bytes + sizeof(header),
		.length = header.rta_len - sizeof(header),
	};
	netlink_message_advance(bytes, left, header.rta_len);
	return true;
}

static uint32_t value_u32(const struct attribute *attribute, uint32_t otherwise)
{
	uint32_t value = otherwise;

	if (attribute->length == sizeof(value))
		memcpy(&value, attribute->value, sizeof(value));
	return value;
}

static bool read_link(const uint8_t *bytes, size_t length, struct netlink_fact *fact)
{
	const unsigned running = IFF_UP | IFF_RUNNING;
	struct attribute attribute;
	struct ifinfomsg header;

	if (length < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	/* One of a family speaks of the interface's part in that, as in a bridge that it leaves. */
	if (header.ifi_family != AF_UNSPEC || header.ifi_index <= 0)
		return false;
	fact->netdev_index = (uint32_t)header.ifi_index;
	fact->is_running = (header.ifi_flags & running) == running;
	netlink_message_advance(&bytes, &length, sizeof(header));
	while (next_attribute(&bytes, &length, &attribute))
		if (attribute.type == IFLA_MTU)
			fact->mtu_bytes = value_u32(&attribute, 0);
	return true;
}

static bool netlink_message_read_gid(int family, const struct attribute *attribute,
				     struct rnic_gid *gid)
{
	if (family == AF_INET && attribute->length == 4)
		*gid = rnic_gid_from_ipv4(attribute->value);
	else if (family == AF_INET6 && attribute->length == sizeof(gid->bytes))
		*gid = rnic_gid_from_ipv6(attribute->value);
	else
		return false;
	return true;
}

/* IFA_LOCAL is our end of a point-to-point link, of which IFA_ADDRESS is then the other. */
static bool read_address(const uint8_t *bytes, size_t length, struct netlink_fact *fact)
{
	bool has_local = false, has_address = false;
	struct attribute attribute;
	struct ifaddrmsg header;
	uint32_t flags;

	if (length < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	flags = header.ifa_flags;
	fact->netdev_index = header.ifa_index;
	netlink_message_advance(&bytes, &length, sizeof(header));
	while (next_attribute(&bytes, &length, &attribute)) {
		if (attribute.type == IFA_LOCAL)
			has_local =
				netlink_message_read_gid(header.ifa_family, &attribute, &fact->gid);
		else if (attribute.type == IFA_ADDRESS && !has_local)
			has_address =
				netlink_message_read_gid(header.ifa_family, &attribute, &fact->gid);
		else if (attribute.type == IFA_FLAGS)
			flags = value_u32(&attribute, flags);
	}
	fact->is_tentative = (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) != 0 &&
			     (flags & IFA_F_OPTIMISTIC) == 0;
	return has_local || has_address;
}

static bool read_neighbour(const uint8_t *bytes, size_t length, struct netlink_fact *fact)
{
	struct attribute attribute;
	struct ndmsg header;
	bool has_address = false;

	if (length < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	fact->netdev_index = (uint32_t)header.ndm_ifindex;
	fact->is_silent = (header.ndm_state & (NUD_INCOMPLETE | NUD_FAILED)) != 0;
	netlink_message_advance(&bytes, &length, sizeof(header));
	while (next_attribute(&bytes, &length, &attribute))
		if (attribute.type == NDA_DST)
			has_address =
				netlink_message_read_gid(header.ndm_family, &attribute, &fact->gid);
	return has_address;
}

/*
 * Error 0 is an acknowledgement. Behind any other comes the request that failed; one for a link
 * names an interface that is not there.
 */
static bool netlink_message_read_error(const uint8_t *bytes, size_t length,
				       struct netlink_fact *fact)
{
	struct nlmsghdr request = {.nlmsg_type = 0};
	int32_t error = -1;

	if (length >= sizeof(error))
		memcpy(&error, bytes, sizeof(error));
	netlink_message_advance(&bytes, &length, sizeof(error));
	if (error != 0 && length >= sizeof(request))
		memcpy(&request, bytes, sizeof(request));
	netlink_message_advance(&bytes, &length, sizeof(request));
	if (request.nlmsg_type != RTM_GETLINK)
		return error != 0;
	fact->kind = NETLINK_LINK_GONE;
	return read_link(bytes, length, fact);
}

static bool read_message(uint16_t type, const uint8_t *bytes, size_t length,
			 struct netlink_fact *fact)
{
	*fact = (struct netlink_fact){.kind = NETLINK_LINK};
	switch (type) {
	case RTM_NEWLINK:
		return read_link(bytes, length, fact);
	case RTM_DELLINK:
		fact->kind = NETLINK_LINK_GONE;
		return read_link(bytes, length, fact);
	case RTM_NEWADDR:
		fact->kind = NETLINK_ADDRESS;
		return read_address(bytes, length, fact);
	case RTM_DELADDR:
		fact->kind = NETLINK_ADDRESS_GONE;
		return read_address(bytes, length, fact);
	case RTM_NEWNEIGH:
		fact->kind = NETLINK_NEIGHBOUR;
		return read_neighbour(bytes, length, fact);
	case NLMSG_DONE:
		fact->kind = NETLINK_DUMP_END;
		return true;
	case NLMSG_ERROR:
		fact->kind = NETLINK_DUMP_FAILED;
		return netlink_message_read_error(bytes, length, fact);
	default:
		return false;
	}
}

bool netlink_next(struct netlink_reader *reader, struct netlink_fact *fact)
{
	while (reader->length >= sizeof(struct nlmsghdr)) {
		const uint8_t *bytes = reader->bytes;
		struct nlmsghdr header;

		memcpy(&header, bytes, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > reader->length)
			break;
		netlink_message_advance(&reader->bytes, &reader->length, header.nlmsg_len);
		reader->was_interrupted |= (header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
		if (!read_message(header.nlmsg_type, bytes + sizeof(header),
				  header.nlmsg_len - sizeof(header), fact))
			continue;
		if (fact->kind == NETLINK_DUMP_END && reader->was_interrupted)
			fact->kind = NETLINK_DUMP_FAILED;
		return true;
	}
	reader->length = 0;
	return false;
}
