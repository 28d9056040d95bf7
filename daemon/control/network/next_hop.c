/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/next_hop.h"

#include "daemon/shared/network/netlink_message.h"
#include "proto/wire/gid.h"
#include "proto/wire/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES  8192 /* longer than what the kernel tells of one link */
#define DISCARD_PORT  9
#define QUESTION_ROOM 96

/* A question: the header of its family, and attributes behind it. */
struct question {
	_Alignas(8) uint8_t bytes[QUESTION_ROOM];
	size_t length;
};

static void question_begin(struct question *question, const void *header, size_t bytes)
{
	memcpy(question->bytes, header, bytes);
	question->length = NLMSG_ALIGN(bytes);
}

static void question_add(struct question *question, uint16_t type, const void *value, size_t bytes)
{
	const struct rtattr attribute = {
		.rta_len = (uint16_t)RTA_LENGTH(bytes),
		.rta_type = type,
	};
	uint8_t *at = question->bytes + question->length;

	memcpy(at, &attribute, sizeof(attribute));
	memcpy(at + RTA_LENGTH(0), value, bytes);
	question->length += RTA_SPACE(bytes);
}

static uint8_t family_of(const struct rnic_gid *gid)
{
	return rnic_gid_is_ipv4(gid) ? AF_INET : AF_INET6;
}

static uint8_t address_bytes(const struct rnic_gid *gid)
{
	return rnic_gid_is_ipv4(gid) ? 4 : sizeof(gid->bytes);
}

static void question_add_gid(struct question *question, uint16_t type, const struct rnic_gid *gid)
{
	question_add(question, type, rnic_gid_is_ipv4(gid) ? rnic_gid_ipv4(gid) : gid->bytes,
		     address_bytes(gid));
}

/* The kernel answers during the request. False: it does not answer, or with something else. */
static bool next_hop_ask(int fd, uint16_t type, const struct question *question,
			 struct netlink_fact *fact)
{
	_Alignas(8) uint8_t bytes[ANSWER_BYTES];
	struct netlink_reader reader;
	ssize_t length;

	if (netlink_request(fd, type, NLM_F_REQUEST, question->bytes, question->length) != 0)
		return false;
	length = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC);
	if (length <= 0 || (size_t)length > sizeof(bytes))
		return false;
	netlink_reader_init(&reader, bytes, (size_t)length);
	return netlink_next(&reader, fact);
}

/*
 * Sockets send from the source, so the route is that from there. A link-local address is on the
 * interface.
 */
static bool next_hop_find_route(int fd, const struct hop_way *way, struct next_hop *hop)
{
	const uint8_t bits = (uint8_t)(8 * address_bytes(&way->peer));
	const struct rtmsg header = {
		.rtm_family = family_of(&way->peer),
		.rtm_dst_len = bits,
		.rtm_src_len = bits,
	};
	struct question question;
	struct netlink_fact fact;

	question_begin(&question, &header, sizeof(header));
	question_add_gid(&question, RTA_DST, &way->peer);
	question_add_gid(&question, RTA_SRC, &way->source);
	if (rnic_gid_is_link_local(&way->peer))
		question_add(&question, RTA_OIF, &way->netdev_index, sizeof(way->netdev_index));
	if (!next_hop_ask(fd, RTM_GETROUTE, &question, &fact) || fact.kind != NETLINK_ROUTE ||
	    !fact.is_to_host)
		return false;
	*hop = (struct next_hop){fact.gid, fact.netdev_index};
	if (rnic_gid_is_zero(&fact.gid))
		hop->gid = way->peer;
	return true;
}

/* A kernel before 5.0 answers no question for one neighbour (EOPNOTSUPP). */
static bool next_hop_lacks_address(int fd, const struct next_hop *hop)
{
	const struct ndmsg header = {
		.ndm_family = family_of(&hop->gid),
		.ndm_ifindex = (int)hop->netdev_index,
	};
	struct question question;
	struct netlink_fact fact;

	question_begin(&question, &header, sizeof(header));
	question_add_gid(&question, NDA_DST, &hop->gid);
	if (!next_hop_ask(fd, RTM_GETNEIGH, &question, &fact))
		return false;
	if (fact.kind == NETLINK_DUMP_FAILED)
		return fact.error == -ENOENT;
	return fact.kind == NETLINK_NEIGHBOUR && !fact.is_known;
}

static bool next_hop_has_link_addresses(int fd, const struct next_hop *hop)
{
	const struct ifinfomsg header = {.ifi_index = (int)hop->netdev_index};
	struct question question;
	struct netlink_fact fact;

	question_begin(&question, &header, sizeof(header));
	return next_hop_ask(fd, RTM_GETLINK, &question, &fact) && fact.kind == NETLINK_LINK &&
	       fact.has_neighbours;
}

bool next_hop_is_unknown(int fd, const struct hop_way *way, struct next_hop *hop)
{
	return next_hop_find_route(fd, way, hop) && next_hop_lacks_address(fd, hop) &&
	       next_hop_has_link_addresses(fd, hop);
}

static socklen_t next_hop_sockaddr(const struct rnic_gid *gid, uint32_t netdev_index, uint16_t port,
				   struct sockaddr_storage *address)
{
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)address;

	memset(address, 0, sizeof(*address));
	address->ss_family = family_of(gid);
	if (rnic_gid_is_ipv4(gid)) {
		ipv4->sin_port = htons(port);
		memcpy(&ipv4->sin_addr, rnic_gid_ipv4(gid), sizeof(ipv4->sin_addr));
		return sizeof(*ipv4);
	}
	ipv6->sin6_port = htons(port);
	memcpy(&ipv6->sin6_addr, gid->bytes, sizeof(ipv6->sin6_addr));
	if (rnic_gid_is_link_local(gid))
		ipv6->sin6_scope_id = netdev_index;
	return sizeof(*ipv6);
}

/* Negative errno of sendto(2). */
static int next_hop_send(int fd, const struct hop_way *way, uint16_t port)
{
	struct sockaddr_storage to;
	const socklen_t bytes = next_hop_sockaddr(&way->peer, way->netdev_index, port, &to);

	return sendto(fd, "", 0, MSG_DONTWAIT, (const struct sockaddr *)&to, bytes) < 0 ? -errno
											: 0;
}

/* A firewall that lets no datagram out (EPERM) must let those of RNICs out. */
void next_hop_call(const struct hop_way *way)
{
	struct sockaddr_storage from;
	const socklen_t from_bytes = next_hop_sockaddr(&way->source, way->netdev_index, 0, &from);
	int fd = socket(from.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (bind(fd, (const struct sockaddr *)&from, from_bytes) == 0 &&
	    next_hop_send(fd, way, DISCARD_PORT) == -EPERM)
		next_hop_send(fd, way, RNIC_UDP_PORT);
	close(fd);
}
