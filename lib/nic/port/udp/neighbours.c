/* SPDX-License-Identifier: MIT */
#include "port/udp/neighbours.h"

#include "port/udp/netlink_message.h"
#include "wire/gid.h"

#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 32768
#define ANSWERS_MAX  64 /* some thousands of neighbours */

void neighbours_init(struct neighbours *neighbours, uint32_t netdev_index)
{
	*neighbours = (struct neighbours){.netdev_index = netdev_index};
}

static int neighbours_find(const struct neighbours *neighbours, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < neighbours->count; i++)
		if (rnic_gid_equal(&neighbours->silent[i].gid, gid))
			return (int)i;
	return -1;
}

void neighbours_apply(struct neighbours *neighbours, const struct netlink_fact *fact,
		      uint64_t now_ns)
{
	if (fact->kind != NETLINK_NEIGHBOUR || fact->netdev_index != neighbours->netdev_index ||
	    !fact->is_silent || neighbours->count == NEIGHBOURS_MAX ||
	    neighbours_find(neighbours, &fact->gid) >= 0)
		return;
	neighbours->silent[neighbours->count].gid = fact->gid;
	neighbours->silent[neighbours->count].try_at_ns = now_ns + NEIGHBOURS_TRY_NS;
	neighbours->count++;
}

static int request_all(int fd)
{
	const struct {
		struct nlmsghdr header;
		struct ndmsg neighbour;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			   .nlmsg_type = RTM_GETNEIGH,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
	};

	return send(fd, &request, sizeof(request), 0) < 0 ? -1 : 0;
}

/* The kernel answers while it is asked for more, so there is nothing to wait for. */
static void take_answers(struct neighbours *neighbours, int fd, uint64_t now_ns)
{
	_Alignas(8) uint8_t bytes[ANSWER_BYTES];
	struct netlink_reader reader;
	struct netlink_fact fact;

	for (uint32_t i = 0; i < ANSWERS_MAX; i++) {
		ssize_t length = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (length <= 0)
			return;
		netlink_reader_init(&reader, bytes, (size_t)length);
		while (netlink_next(&reader, &fact)) {
			if (fact.kind == NETLINK_DUMP_END || fact.kind == NETLINK_DUMP_FAILED)
				return;
			neighbours_apply(neighbours, &fact, now_ns);
		}
	}
}

void neighbours_look(struct neighbours *neighbours, uint64_t now_ns)
{
	const struct neighbours before = *neighbours;
	int fd, known;

	if (now_ns < neighbours->look_at_ns)
		return;
	neighbours->look_at_ns = now_ns + NEIGHBOURS_LOOK_NS;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return;
	neighbours->count = 0;
	if (request_all(fd) == 0)
		take_answers(neighbours, fd, now_ns);
	close(fd);
	for (uint32_t i = 0; i < neighbours->count; i++) {
		known = neighbours_find(&before, &neighbours->silent[i].gid);
		if (known >= 0)
			neighbours->silent[i].try_at_ns = before.silent[known].try_at_ns;
	}
}

bool neighbours_has(const struct neighbours *neighbours, const struct rnic_gid *gid)
{
	return neighbours_find(neighbours, gid) >= 0;
}

bool neighbours_try_hold(struct neighbours *neighbours, const struct rnic_gid *gid, uint64_t now_ns)
{
	int i = neighbours_find(neighbours, gid);

	if (i < 0)
		return false;
	if (now_ns < neighbours->silent[i].try_at_ns)
		return true;
	neighbours->silent[i].try_at_ns = now_ns + NEIGHBOURS_TRY_NS;
	return false;
}
