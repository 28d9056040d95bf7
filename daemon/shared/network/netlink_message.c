/* SPDX-License-Identifier: MIT */
#include "daemon/shared/network/netlink_message.h"

#include "proto/wire/gid.h"

#include <assert.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/ipv6.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>

void netlink_reader_init(struct netlink_reader *reader, const void *bytes, size_t length)
{
	*reader = (struct netlink_reader){.message = bytes, .left_bytes = (int)length};
}

/* The attribute at `at`, before `end`; NULL: there is none. */
static const struct nlattr *attribute_at(const void *at, const uint8_t *end)
{
	return mnl_attr_ok(at, (int)(end - (const uint8_t *)at)) ? at : NULL;
}

static uint32_t value_u32(const struct nlattr *attribute, uint32_t otherwise)
{
	return mnl_attr_validate(attribute, MNL_TYPE_U32) == 0 ? mnl_attr_get_u32(attribute)
							       : otherwise;
}

/* The attribute of that type, the first between `at` and `end`; NULL: there is none. */
static const struct nlattr *attribute_find(const void *at, const uint8_t *end, uint16_t type)
{
	const struct nlattr *attribute = attribute_at(at, end);

	while (attribute != NULL && mnl_attr_get_type(attribute) != type)
		attribute = attribute_at(mnl_attr_next(attribute), end);
	return attribute;
}

/* The attribute of that type inside `outer`; NULL: there is none. */
static const struct nlattr *attribute_inside(const struct nlattr *outer, uint16_t type)
{
	const uint8_t *payload = mnl_attr_get_payload(outer);

	return attribute_find(payload, payload + mnl_attr_get_payload_len(outer), type);
}

/* An array of the interface's settings. Kernels append to the array. */
static bool is_ipv6_on(const struct nlattr *settings)
{
	int32_t disabled;

	if (mnl_attr_get_payload_len(settings) < (DEVCONF_DISABLE_IPV6 + 1) * sizeof(disabled))
		return false;
	memcpy(&disabled,
	       (const uint8_t *)mnl_attr_get_payload(settings) +
		       DEVCONF_DISABLE_IPV6 * sizeof(disabled),
	       sizeof(disabled));
	return disabled == 0;
}

/*
 * Returns whether the kernel makes the link-local address of the MAC address. The other ways use a
 * secret or chance, or leave the address to a program.
 */
static bool uses_mac_id(const struct nlattr *families)
{
	const struct nlattr *ipv6 = attribute_inside(families, AF_INET6);
	const struct nlattr *settings, *mode;

	if (ipv6 == NULL)
		return false;
	settings = attribute_inside(ipv6, IFLA_INET6_CONF);
	mode = attribute_inside(ipv6, IFLA_INET6_ADDR_GEN_MODE);
	return settings != NULL && is_ipv6_on(settings) && mode != NULL &&
	       mnl_attr_validate(mode, MNL_TYPE_U8) == 0 &&
	       mnl_attr_get_u8(mode) == IN6_ADDR_GEN_MODE_EUI64;
}

/* A member of a bond has no IPv6 address. */
static void read_mac_id(const struct ifinfomsg *header, const uint8_t *end,
			struct netlink_fact *fact)
{
	const struct nlattr *mac = attribute_find(header + 1, end, IFLA_ADDRESS);
	const struct nlattr *families = attribute_find(header + 1, end, IFLA_AF_SPEC);

	if (header->ifi_type != ARPHRD_ETHER || (header->ifi_flags & IFF_SLAVE) != 0 ||
	    mac == NULL || mnl_attr_get_payload_len(mac) != sizeof(fact->mac) || families == NULL)
		return;
	fact->has_mac_id = uses_mac_id(families);
	memcpy(fact->mac, mnl_attr_get_payload(mac), sizeof(fact->mac));
}

static bool read_link(const struct ifinfomsg *header, size_t length, struct netlink_fact *fact)
{
	/*
	 * The carrier alone decides, as for the kernel's RDMA devices. IFF_RUNNING comes up to a
	 * second after the carrier.
	 */
	const unsigned running = IFF_UP | IFF_LOWER_UP;
	const unsigned without_neighbours = IFF_LOOPBACK | IFF_POINTOPOINT | IFF_NOARP;
	const uint8_t *end = (const uint8_t *)header + length;
	const struct nlattr *mtu, *name;

	/*
	 * A link message of a family describes the interface's part in that family, as in a bridge
	 * that it leaves.
	 */
	if (length < sizeof(*header) || header->ifi_family != AF_UNSPEC || header->ifi_index <= 0)
		return false;
	fact->netdev_index = (uint32_t)header->ifi_index;
	fact->is_running = (header->ifi_flags & running) == running;
	fact->has_neighbours = (header->ifi_flags & without_neighbours) == 0;
	mtu = attribute_find(header + 1, end, IFLA_MTU);
	if (mtu != NULL)
		fact->mtu_bytes = value_u32(mtu, 0);
	name = attribute_find(header + 1, end, IFLA_IFNAME);
	if (name != NULL && mnl_attr_get_payload_len(name) <= sizeof(fact->netdev) &&
	    mnl_attr_validate(name, MNL_TYPE_NUL_STRING) == 0)
		snprintf(fact->netdev, sizeof(fact->netdev), "%s", mnl_attr_get_str(name));
	read_mac_id(header, end, fact);
	return true;
}

static bool netlink_message_read_gid(int family, const struct nlattr *attribute,
				     struct rnic_gid *gid)
{
	uint16_t length = mnl_attr_get_payload_len(attribute);

	if (family == AF_INET && length == 4)
		*gid = rnic_gid_from_ipv4(mnl_attr_get_payload(attribute));
	else if (family == AF_INET6 && length == sizeof(gid->bytes))
		*gid = rnic_gid_from_ipv6(mnl_attr_get_payload(attribute));
	else
		return false;
	return true;
}

/* On a point-to-point link IFA_LOCAL is our end, and IFA_ADDRESS the other. */
static bool read_address(const struct ifaddrmsg *header, size_t length, struct netlink_fact *fact)
{
	bool has_local = false, has_address = false;
	const uint8_t *end = (const uint8_t *)header + length;
	const struct nlattr *attribute;
	uint32_t flags;

	if (length < sizeof(*header))
		return false;
	flags = header->ifa_flags;
	fact->netdev_index = header->ifa_index;
	for (attribute = attribute_at(header + 1, end); attribute != NULL;
	     attribute = attribute_at(mnl_attr_next(attribute), end)) {
		uint16_t type = mnl_attr_get_type(attribute);

		if (type == IFA_LOCAL)
			has_local =
				netlink_message_read_gid(header->ifa_family, attribute, &fact->gid);
		else if (type == IFA_ADDRESS && !has_local)
			has_address =
				netlink_message_read_gid(header->ifa_family, attribute, &fact->gid);
		else if (type == IFA_FLAGS)
			flags = value_u32(attribute, flags);
	}
	fact->is_duplicate = (flags & IFA_F_DADFAILED) != 0;
	return has_local || has_address;
}

/* The states in which the kernel sends to the link address that it has. */
#define NUD_HAS_ADDRESS                                                                            \
	(NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY)

static bool read_neighbour(const struct ndmsg *header, size_t length, struct netlink_fact *fact)
{
	const uint8_t *end = (const uint8_t *)header + length;
	const struct nlattr *attribute;
	bool has_address = false;

	if (length < sizeof(*header))
		return false;
	fact->netdev_index = (uint32_t)header->ndm_ifindex;
	fact->is_silent = (header->ndm_state & (NUD_INCOMPLETE | NUD_FAILED)) != 0;
	fact->is_known = (header->ndm_state & NUD_HAS_ADDRESS) != 0;
	for (attribute = attribute_at(header + 1, end); attribute != NULL;
	     attribute = attribute_at(mnl_attr_next(attribute), end))
		if (mnl_attr_get_type(attribute) == NDA_DST)
			has_address =
				netlink_message_read_gid(header->ndm_family, attribute, &fact->gid);
	return has_address;
}

/* An IPv4 route may lead by an IPv6 router: RTA_VIA names the family. */
static void read_via(const struct nlattr *attribute, struct rnic_gid *gid)
{
	const struct rtvia *via = mnl_attr_get_payload(attribute);
	const uint16_t length = mnl_attr_get_payload_len(attribute);

	if (length == sizeof(*via) + 4 && via->rtvia_family == AF_INET)
		*gid = rnic_gid_from_ipv4(via->rtvia_addr);
	else if (length == sizeof(*via) + sizeof(gid->bytes) && via->rtvia_family == AF_INET6)
		*gid = rnic_gid_from_ipv6(via->rtvia_addr);
}

static bool read_route(const struct rtmsg *header, size_t length, struct netlink_fact *fact)
{
	const uint8_t *end = (const uint8_t *)header + length;
	const struct nlattr *attribute;

	if (length < sizeof(*header))
		return false;
	fact->is_to_host = header->rtm_type == RTN_UNICAST;
	for (attribute = attribute_at(header + 1, end); attribute != NULL;
	     attribute = attribute_at(mnl_attr_next(attribute), end)) {
		const uint16_t type = mnl_attr_get_type(attribute);

		if (type == RTA_OIF)
			fact->netdev_index = value_u32(attribute, 0);
		else if (type == RTA_GATEWAY)
			netlink_message_read_gid(header->rtm_family, attribute, &fact->gid);
		else if (type == RTA_VIA)
			read_via(attribute, &fact->gid);
	}
	return fact->netdev_index != 0;
}

/*
 * Error 0 is an acknowledgement. Behind any other error comes the request that failed; a request
 * for a link names an interface that is not there.
 */
static bool netlink_message_read_error(const struct nlmsgerr *header, size_t length,
				       struct netlink_fact *fact)
{
	bool is_error = length < sizeof(header->error) || header->error != 0;

	if (length >= sizeof(header->error))
		fact->error = header->error;
	if (!is_error || length < sizeof(*header) || header->msg.nlmsg_type != RTM_GETLINK)
		return is_error;
	fact->kind = NETLINK_LINK_GONE;
	return read_link((const void *)(header + 1), length - sizeof(*header), fact);
}

static bool read_message(const struct nlmsghdr *message, struct netlink_fact *fact)
{
	const void *payload = mnl_nlmsg_get_payload(message);
	size_t length = mnl_nlmsg_get_payload_len(message);

	*fact = (struct netlink_fact){.kind = NETLINK_LINK};
	switch (message->nlmsg_type) {
	case RTM_NEWLINK:
		return read_link(payload, length, fact);
	case RTM_DELLINK:
		fact->kind = NETLINK_LINK_GONE;
		return read_link(payload, length, fact);
	case RTM_NEWADDR:
		fact->kind = NETLINK_ADDRESS;
		return read_address(payload, length, fact);
	case RTM_DELADDR:
		fact->kind = NETLINK_ADDRESS_GONE;
		return read_address(payload, length, fact);
	case RTM_NEWNEIGH:
		fact->kind = NETLINK_NEIGHBOUR;
		return read_neighbour(payload, length, fact);
	case RTM_NEWROUTE:
		fact->kind = NETLINK_ROUTE;
		return read_route(payload, length, fact);
	case NLMSG_DONE:
		fact->kind = NETLINK_DUMP_END;
		return true;
	case NLMSG_ERROR:
		fact->kind = NETLINK_DUMP_FAILED;
		return netlink_message_read_error(payload, length, fact);
	default:
		return false;
	}
}

bool netlink_next(struct netlink_reader *reader, struct netlink_fact *fact)
{
	const struct nlmsghdr *message = reader->message;

	/* libmnl takes a length of 2 GiB and more for a negative one, which is not too long. */
	while (mnl_nlmsg_ok(message, reader->left_bytes) &&
	       message->nlmsg_len <= (uint32_t)reader->left_bytes) {
		reader->message = mnl_nlmsg_next(message, &reader->left_bytes);
		reader->was_interrupted |= (message->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
		if (read_message(message, fact)) {
			if (fact->kind == NETLINK_DUMP_END && reader->was_interrupted)
				fact->kind = NETLINK_DUMP_FAILED;
			return true;
		}
		message = reader->message;
	}
	reader->left_bytes = 0;
	return false;
}

int netlink_request(int fd, uint16_t type, uint16_t flags, const void *header, size_t header_bytes)
{
	_Alignas(8) uint8_t bytes[64];
	struct nlmsghdr *message = mnl_nlmsg_put_header(bytes);

	assert(header_bytes <= sizeof(bytes) - MNL_NLMSG_HDRLEN);
	message->nlmsg_type = type;
	message->nlmsg_flags = flags;
	memcpy(mnl_nlmsg_put_extra_header(message, header_bytes), header, header_bytes);
	return send(fd, bytes, message->nlmsg_len, 0) < 0 ? -errno : 0;
}
