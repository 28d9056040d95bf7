/* SPDX-License-Identifier: MIT */
#include "daemon/shared/network/unreachable_neighbours.h"

#include "daemon/shared/network/netlink_message.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 32768
#define ANSWERS_MAX  64 /* room for some thousands of neighbours */

/* The socket that unreachable_neighbours_prepare() opened; -1: each question opens one. */
static int unreachable_neighbours_fd = -1;

bool unreachable_neighbours_match(const struct netlink_fact *fact, uint32_t netdev_index)
{
	return fact->kind == NETLINK_NEIGHBOUR && fact->netdev_index == netdev_index &&
	       fact->is_silent;
}

/* The kernel answers during the request, so no wait is necessary. */
static uint32_t take_answers(int fd, uint32_t netdev_index, struct rnic_gid *silent, uint32_t max)
{
	_Alignas(8) uint8_t bytes[ANSWER_BYTES];
	struct netlink_reader reader;
	struct netlink_fact fact;
	uint32_t count = 0;

	for (uint32_t i = 0; i < ANSWERS_MAX; i++) {
		ssize_t length = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (length <= 0)
			break;
		netlink_reader_init(&reader, bytes, (size_t)length);
		while (count < max && netlink_next(&reader, &fact)) {
			if (fact.kind == NETLINK_DUMP_END || fact.kind == NETLINK_DUMP_FAILED)
				return count;
			if (unreachable_neighbours_match(&fact, netdev_index))
				silent[count++] = fact.gid;
		}
	}
	return count;
}

static int unreachable_neighbours_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd >= 0 ? fd : -errno;
}

/* The end of an answer that was longer than `max` must not begin the next one. */
static void unreachable_neighbours_drain(int fd)
{
	uint8_t byte;

	while (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC) > 0)
		;
}

int unreachable_neighbours_prepare(void)
{
	if (unreachable_neighbours_fd < 0)
		unreachable_neighbours_fd = unreachable_neighbours_open();
	return unreachable_neighbours_fd >= 0 ? 0 : unreachable_neighbours_fd;
}

int unreachable_neighbours_ask(uint32_t netdev_index, struct rnic_gid *silent, uint32_t max)
{
	const struct ndmsg all = {.ndm_family = AF_UNSPEC};
	const bool is_prepared = unreachable_neighbours_fd >= 0;
	int fd = is_prepared ? unreachable_neighbours_fd : unreachable_neighbours_open();
	int result;

	if (fd < 0)
		return fd;
	unreachable_neighbours_drain(fd);
	result = netlink_request(fd, RTM_GETNEIGH, NLM_F_REQUEST | NLM_F_DUMP, &all, sizeof(all));
	if (result == 0)
		result = (int)take_answers(fd, netdev_index, silent, max);
	if (!is_prepared)
		close(fd);
	return result;
}
