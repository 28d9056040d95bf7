/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/next_hop.h"

#include "daemon/shared/network/netlink_message.h"
#include "lib/nic/port/udp/udp_sockets.h"
#include "proto/wire/gid.h"
#include "proto/wire/packet.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES  8192 /* longer than what the kernel tells of one link */
#define DISCARD_PORT  9
#define QUESTION_ROOM 128

/* A question to the kernel: the header of its family, and attributes behind it. */
struct question {
	_Alignas(8) uint8_t bytes[QUESTION_ROOM];
	struct nlmsghdr *message; /* in `bytes` */
};

static void question_begin(struct question *question, uint16_t type, const void *header,
			   size_t bytes)
{
	question->message = mnl_nlmsg_put_header(question->bytes);
	question->message->nlmsg_type = type;
	question->message->nlmsg_flags = NLM_F_REQUEST;
	memcpy(mnl_nlmsg_put_extra_header(question->message, bytes), header, bytes);
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
	mnl_attr_put(question->message, type, address_bytes(gid),
		     rnic_gid_is_ipv4(gid) ? rnic_gid_ipv4(gid) : gid->bytes);
}

/* The kernel answers during the request. False: it does not answer, or with something else. */
static bool next_hop_ask(int fd, const struct question *question, struct netlink_fact *fact)
{
	_Alignas(8) uint8_t bytes[ANSWER_BYTES];
	struct netlink_reader reader;
	ssize_t length;

	if (send(fd, question->bytes, question->message->nlmsg_len, 0) < 0)
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

	question_begin(&question, RTM_GETROUTE, &header, sizeof(header));
	question_add_gid(&question, RTA_DST, &way->peer);
	question_add_gid(&question, RTA_SRC, &way->source);
	if (rnic_gid_is_link_local(&way->peer))
		mnl_attr_put_u32(question.message, RTA_OIF, way->netdev_index);
	if (!next_hop_ask(fd, &question, &fact) || fact.kind != NETLINK_ROUTE || !fact.is_to_host)
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

	question_begin(&question, RTM_GETNEIGH, &header, sizeof(header));
	question_add_gid(&question, NDA_DST, &hop->gid);
	if (!next_hop_ask(fd, &question, &fact))
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

	question_begin(&question, RTM_GETLINK, &header, sizeof(header));
	return next_hop_ask(fd, &question, &fact) && fact.kind == NETLINK_LINK &&
	       fact.has_neighbours;
}

bool next_hop_is_unknown(int fd, const struct hop_way *way, struct next_hop *hop)
{
	return next_hop_find_route(fd, way, hop) && next_hop_lacks_address(fd, hop) &&
	       next_hop_has_link_addresses(fd, hop);
}

/* Negative errno of sendto(2). */
static int next_hop_send(int fd, const struct hop_way *way, uint16_t port)
{
	union udp_address to;
	const socklen_t bytes = udp_address_write(&to, &way->peer, port, way->netdev_index);

	return sendto(fd, "", 0, MSG_DONTWAIT, &to.any, bytes) < 0 ? -errno : 0;
}

/* A firewall that lets no datagram out (EPERM) must let those of RNICs out. */
void next_hop_call(const struct hop_way *way)
{
	union udp_address from;
	const socklen_t from_bytes = udp_address_write(&from, &way->source, 0, way->netdev_index);
	int fd = socket(from.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (bind(fd, &from.any, from_bytes) == 0 && next_hop_send(fd, way, DISCARD_PORT) == -EPERM)
		next_hop_send(fd, way, RNIC_UDP_PORT);
	close(fd);
}
