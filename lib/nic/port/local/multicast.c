/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/local/multicast.h"

#include "lib/nic/port/port_text.h"
#include "lib/nic/port/udp/udp_sockets.h"
#include "proto/base/bits.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* The most datagrams that one receive takes, of all groups. */
#define ARRIVALS_MAX 16
#define BUFFER_BYTES ((RNIC_PACKET_BYTES_MAX + 63) & ~63)

struct multicast {
	struct port port;
	struct port *next;
	struct multicast_copies copies;
	int epoll_fd;
	uint32_t group_count;
	uint32_t rotation; /* moves on with each datagram: groups take turns */
	struct udp_socket groups[MULTICAST_GROUPS_MAX];
	uint8_t buffers[ARRIVALS_MAX][BUFFER_BYTES];
};

static struct multicast *multicast_from_port(struct port *port)
{
	return RNIC_CONTAINER_OF(port, struct multicast, port);
}

/* Receives one datagram of `sock`; false when there is none, or none that is usable. */
static bool multicast_receive_one(struct multicast *self, const struct udp_socket *sock,
				  uint8_t *buffer, struct datagram *into, uint64_t now_ns)
{
	uint8_t control[UDP_CONTROL_BYTES] __attribute__((aligned(__alignof__(struct cmsghdr))));
	union udp_address name;
	struct iovec piece = {buffer, BUFFER_BYTES};
	struct msghdr header = {
		.msg_name = &name,
		.msg_namelen = sizeof(name),
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct udp_arrival arrival;
	ssize_t length = recvmsg(sock->fd, &header, MSG_DONTWAIT);

	self->port.counters.receive_calls++;
	if (length < 0)
		return false;
	if (udp_arrival_read(&arrival, sock, &header, buffer, (size_t)length) != 0) {
		self->port.counters.truncated++;
		return false;
	}
	if (!udp_arrival_next(&arrival, into, now_ns))
		return false;
	self->port.counters.received_datagrams++;
	self->port.counters.received_bytes += into->length;
	return true;
}

/*
 * Receives from the groups in turn. Every member gets a copy, and other senders to this device must
 * not wait for all copies: the copies of all datagrams are at most half of `max`, or one
 * datagram's.
 */
static uint32_t receive_groups(struct multicast *self, struct datagram *into, uint32_t max,
			       uint64_t now_ns)
{
	struct epoll_event ready[MULTICAST_GROUPS_MAX];
	uint32_t taken = 0, copies = 0;
	const uint32_t copies_max = (max + 1) / 2;
	int count;

	if (max > ARRIVALS_MAX)
		max = ARRIVALS_MAX;
	if (self->group_count == 0 || max == 0)
		return 0;
	count = epoll_wait(self->epoll_fd, ready, MULTICAST_GROUPS_MAX, 0);
	while (count > 0 && taken < max && copies < copies_max) {
		struct epoll_event *event = &ready[self->rotation++ % (uint32_t)count];
		struct udp_socket *sock = event->data.ptr;

		if (multicast_receive_one(self, sock, self->buffers[taken], &into[taken], now_ns)) {
			copies += self->copies.count(self->copies.context, &sock->gid);
			taken++;
		} else {
			udp_socket_count_dropped(sock, &self->port.counters);
			*event = ready[--count];
		}
	}
	return taken;
}

static uint32_t multicast_receive(struct port *port, struct datagram *into, uint32_t max,
				  uint64_t now_ns)
{
	struct multicast *self = multicast_from_port(port);
	uint32_t count = receive_groups(self, into, max, now_ns);

	return count + self->next->ops->receive(self->next, into + count, max - count, now_ns);
}

static uint32_t multicast_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
				   uint64_t now_ns)
{
	struct multicast *self = multicast_from_port(port);

	return self->next->ops->transmit(self->next, datagrams, count, now_ns);
}

static uint64_t multicast_next_deadline_ns(const struct port *port)
{
	const struct multicast *self = RNIC_CONTAINER_OF(port, const struct multicast, port);

	return self->next->ops->next_deadline_ns(self->next);
}

static void multicast_watch(struct port *port,
			    void (*watch)(void *context, int fd, bool for_writing), void *context)
{
	struct multicast *self = multicast_from_port(port);

	watch(context, self->epoll_fd, false);
	self->next->ops->watch(self->next, watch, context);
}

static int multicast_set_gid(struct port *port, uint32_t index, const struct rnic_gid *gid,
			     const struct udp_lane_sockets *sockets, char text[PORT_TEXT_BYTES])
{
	struct multicast *self = multicast_from_port(port);

	return self->next->ops->set_gid(self->next, index, gid, sockets, text);
}

static void multicast_close(struct port *port)
{
	struct multicast *self = multicast_from_port(port);

	for (uint32_t i = 0; i < MULTICAST_GROUPS_MAX; i++)
		if (self->groups[i].fd >= 0)
			close(self->groups[i].fd);
	close(self->epoll_fd);
	self->next->ops->close(self->next);
	free(self);
}

static const struct port_ops multicast_ops = {
	.name = "multicast",
	.receive = multicast_receive,
	.transmit = multicast_transmit,
	.next_deadline_ns = multicast_next_deadline_ns,
	.watch = multicast_watch,
	.set_gid = multicast_set_gid,
	.close = multicast_close,
};

int multicast_open(struct port **port, struct port *next, const struct multicast_copies *copies,
		   char text[PORT_TEXT_BYTES])
{
	struct multicast *self = calloc(1, sizeof(*self));
	int result;

	if (self == NULL)
		return port_text_error(text, -ENOMEM, "no memory for the multicast port");
	self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (self->epoll_fd < 0) {
		result = port_text_error(text, -errno, "cannot open an epoll descriptor: %s",
					 strerror(errno));
		free(self);
		return result;
	}
	self->port.ops = &multicast_ops;
	self->next = next;
	self->copies = *copies;
	for (uint32_t i = 0; i < MULTICAST_GROUPS_MAX; i++)
		self->groups[i].fd = -1;
	*port = &self->port;
	return 0;
}

/* The slot of `group`, or a free one for NULL; NULL when there is none. */
static struct udp_socket *multicast_find_slot(struct multicast *self, const struct rnic_gid *group)
{
	for (uint32_t i = 0; i < MULTICAST_GROUPS_MAX; i++) {
		struct udp_socket *slot = &self->groups[i];

		if (group == NULL ? slot->fd < 0
				  : slot->fd >= 0 && rnic_gid_equal(&slot->gid, group))
			return slot;
	}
	return NULL;
}

/* Adds the socket of a group, in an empty slot; closes the socket when that fails. */
static int group_add(struct multicast *self, struct udp_socket *slot, const struct udp_socket *sock)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = slot};
	int result;

	if (epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, sock->fd, &event) != 0) {
		result = -errno;
		close(sock->fd);
		return result;
	}
	*slot = *sock;
	self->group_count++;
	return 0;
}

int multicast_give(struct port *port, const struct rnic_gid *group, int fd)
{
	struct multicast *self = multicast_from_port(port);
	struct udp_socket *slot = multicast_find_slot(self, NULL);
	const struct udp_socket sock = {.gid = *group, .fd = fd};
	const bool is_joined = multicast_find_slot(self, group) != NULL;

	if (slot == NULL || is_joined) {
		close(fd);
		return is_joined ? -EEXIST : -ENOSPC;
	}
	return group_add(self, slot, &sock);
}

int multicast_leave(struct port *port, const struct rnic_gid *group)
{
	struct multicast *self = multicast_from_port(port);
	struct udp_socket *slot = multicast_find_slot(self, group);

	if (slot == NULL)
		return -EINVAL;
	/* Closing leaves the group and ends the watch only where no other process has the socket.
	 */
	epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, slot->fd, NULL);
	close(slot->fd);
	slot->fd = -1;
	self->group_count--;
	return 0;
}
