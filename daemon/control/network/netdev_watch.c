/* SPDX-License-Identifier: MIT */
#include "daemon/control/network/netdev_watch.h"

#include "lib/nic/port/port_text.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FAILED_DUMPS_MAX 8
#define ANSWER_MS	 5000

/* The index to ask for. A message about the return of a gone interface may be a lost one. */
static uint32_t dump_index(const struct netdev_watch *watch)
{
	const uint32_t found = watch->state.is_gone ? if_nametoindex(watch->state.netdev) : 0;

	return found != 0 ? found : watch->state.netdev_index;
}

/* Asks for all addresses and the link; NETLINK_DUMP_END ends the answer. */
static int dump_begin(struct netdev_watch *watch)
{
	const struct ifinfomsg link = {.ifi_index = (int)dump_index(watch)};
	const struct ifaddrmsg addresses = {.ifa_family = AF_UNSPEC};
	int result = netlink_request(watch->fd, RTM_GETLINK, NLM_F_REQUEST, &link, sizeof(link));

	if (result == 0)
		result = netlink_request(watch->fd, RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP,
					 &addresses, sizeof(addresses));
	watch->is_dumping = result == 0;
	watch->is_stale = false;
	if (result == 0)
		netdev_state_begin_dump(&watch->state);
	return result;
}

static bool dump_end(struct netdev_watch *watch, bool is_whole)
{
	if (!watch->is_dumping)
		return false;
	watch->is_dumping = false;
	if (is_whole && !watch->is_stale) {
		watch->failed_dumps = 0;
		return netdev_state_end_dump(&watch->state);
	}
	/* The watch does not ask for a gone interface again and again. */
	if (++watch->failed_dumps < FAILED_DUMPS_MAX)
		dump_begin(watch);
	return false;
}

/* The messages up to now do not tell all. */
static void dump_again(struct netdev_watch *watch)
{
	watch->is_stale = true;
	if (!watch->is_dumping)
		dump_begin(watch);
}

static bool take_fact(struct netdev_watch *watch, const struct netlink_fact *fact)
{
	const bool was_gone = watch->state.is_gone;
	bool has_changed;

	if (fact->kind == NETLINK_DUMP_END || fact->kind == NETLINK_DUMP_FAILED)
		return dump_end(watch, fact->kind == NETLINK_DUMP_END);
	if (fact->kind == NETLINK_NEIGHBOUR && fact->is_known && watch->heard != NULL)
		watch->heard(watch->context, fact);
	has_changed = netdev_state_apply(&watch->state, fact);
	/* It may have come back by a message that was lost. */
	if (watch->state.is_gone != was_gone &&
	    (was_gone || if_nametoindex(watch->state.netdev) != 0)) {
		watch->failed_dumps = 0;
		dump_again(watch);
	}
	return has_changed;
}

/* Reads a datagram into the buffer; false when there is none. */
static bool netdev_watch_receive(struct netdev_watch *watch)
{
	struct sockaddr_nl from = {.nl_pid = 0};
	socklen_t from_bytes = sizeof(from);
	ssize_t length = recvfrom(watch->fd, watch->buffer, sizeof(watch->buffer),
				  MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)&from, &from_bytes);

	netlink_reader_init(&watch->reader, watch->buffer, 0);
	if (length < 0 && errno != ENOBUFS)
		return false;
	if (length < 0 || (size_t)length > sizeof(watch->buffer)) {
		/* The kernel dropped messages, or sent one beyond the largest expected size. */
		dump_again(watch);
	} else if (from.nl_pid == 0) {
		netlink_reader_init(&watch->reader, watch->buffer, (size_t)length);
	}
	return true;
}

bool netdev_watch_next(struct netdev_watch *watch)
{
	struct netlink_fact fact;

	do {
		while (netlink_next(&watch->reader, &fact))
			if (take_fact(watch, &fact))
				return true;
	} while (netdev_watch_receive(watch));
	return false;
}

/* Waits for the end of the first dump. */
static int wait_for_answer(struct netdev_watch *watch)
{
	struct pollfd answer = {.fd = watch->fd, .events = POLLIN};

	while (watch->is_dumping) {
		if (netdev_watch_next(watch))
			continue;
		if (watch->is_dumping && poll(&answer, 1, ANSWER_MS) <= 0)
			return -ETIMEDOUT;
	}
	if (watch->state.is_gone)
		return -ENODEV;
	return watch->failed_dumps == 0 ? 0 : -ETIMEDOUT;
}

int netdev_watch_open(struct netdev_watch *watch, const char *netdev, uint32_t netdev_index,
		      char text[PORT_TEXT_BYTES])
{
	const struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int result = 0;

	memset(watch, 0, sizeof(*watch));
	netdev_state_init(&watch->state, netdev, netdev_index);
	watch->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (watch->fd < 0)
		return port_text_error(text, -errno, "cannot open a netlink socket: %s",
				       strerror(errno));
	if (bind(watch->fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		result = -errno;
	if (result == 0)
		result = dump_begin(watch);
	if (result == 0)
		result = wait_for_answer(watch);
	if (result != 0) {
		port_text_error(text, result, "cannot follow the network interface: %s",
				strerror(-result));
		close(watch->fd);
	}
	return result;
}

void netdev_watch_close(struct netdev_watch *watch)
{
	close(watch->fd);
}

int netdev_watch_hear(struct netdev_watch *watch, bool is_wanted)
{
	const int group = RTNLGRP_NEIGH;
	const int option = is_wanted ? NETLINK_ADD_MEMBERSHIP : NETLINK_DROP_MEMBERSHIP;

	return setsockopt(watch->fd, SOL_NETLINK, option, &group, sizeof(group)) == 0 ? 0 : -errno;
}
