/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/port_text.h"
#include "lib/nic/port/udp/udp_batch.h"
#include "lib/nic/port/udp/udp_errors.h"
#include "lib/nic/port/udp/udp_port.h"

#include "proto/base/bits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARRIVALS_MAX  32
#define ARRIVALS_BULK 8
#define BULK_BYTES    16384
#define ASK_NS	      UINT64_C(10000) /* after a quiet epoll */
#define BUFFERS_BYTES ((size_t)ARRIVALS_MAX * UDP_ARRIVAL_BYTES_MAX + UDP_ARRIVAL_PHASE_BYTES)

struct udp_socket_port {
	struct port port;
	struct udp_sockets sockets;
	int epoll_fd;
	uint32_t full_senders; /* send sockets that wait for room, and are watched */
	uint8_t *buffers;      /* BUFFERS_BYTES, of which only the used ones are touched */
	uint32_t rotation;     /* moves on with each fetch: the first socket may fill all buffers */
	struct udp_socket *latest; /* that received; NULL: none has */
	uint64_t quiet_ns; /* when epoll said that no socket has anything; 0: one has since */

	/* arrivals[i] is what headers[i] received into buffer i. */
	struct udp_arrival arrivals[ARRIVALS_MAX];
	uint32_t arrival_count;
	uint32_t arrival_next;
	bool found_none; /* the latest fetch asked a socket that had nothing */
	bool is_bulk;	 /* the latest arrivals had BULK_BYTES or more each, on average */
	struct mmsghdr headers[ARRIVALS_MAX];
	struct iovec pieces[ARRIVALS_MAX];
	union udp_address names[ARRIVALS_MAX];
	uint8_t controls[ARRIVALS_MAX][UDP_CONTROL_BYTES]
		__attribute__((aligned(__alignof__(struct cmsghdr))));

	struct udp_batch batch;
};

static struct udp_socket_port *udp_socket_from_port(struct port *port)
{
	return RNIC_CONTAINER_OF(port, struct udp_socket_port, port);
}

/* Also waits for room where a send had none. */
static int socket_watch(struct udp_socket_port *self, int operation, struct udp_socket *sock)
{
	struct epoll_event event = {
		.events = sock->is_blocked ? EPOLLIN | EPOLLOUT : EPOLLIN,
		.data.u32 = (uint32_t)(sock - self->sockets.sockets),
	};

	return epoll_ctl(self->epoll_fd, operation, sock->fd, &event) == 0 ? 0 : -errno;
}

static bool is_sender(const struct udp_socket_port *self, const struct udp_socket *sock)
{
	return sock - self->sockets.sockets >= UDP_SOCKETS_MAX;
}

/* Nothing arrives at a send socket; the port watches one only while it is full. */
static void sender_watch(struct udp_socket_port *self, struct udp_socket *sock)
{
	struct epoll_event event = {
		.events = EPOLLOUT,
		.data.u32 = (uint32_t)(sock - self->sockets.sockets),
	};

	if (epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, sock->fd, &event) == 0)
		self->full_senders++;
}

static void sender_unwatch(struct udp_socket_port *self, struct udp_socket *sock)
{
	if (epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, sock->fd, NULL) == 0)
		self->full_senders--;
}

/* The socket was found full. */
static void room_wait(struct udp_socket_port *self, struct udp_socket *sock)
{
	if (is_sender(self, sock))
		sender_watch(self, sock);
	else
		socket_watch(self, EPOLL_CTL_MOD, sock);
}

/* The socket has room again. */
static void room_found(struct udp_socket_port *self, struct udp_socket *sock)
{
	sock->is_blocked = false;
	if (is_sender(self, sock))
		sender_unwatch(self, sock);
	else
		socket_watch(self, EPOLL_CTL_MOD, sock);
}

/* Makes buffer `i` ready for a datagram. recvmmsg(2) changes the header of one that it fills. */
static void buffer_prepare(struct udp_socket_port *self, uint32_t i)
{
	self->pieces[i] = (struct iovec){self->buffers + UDP_ARRIVAL_PHASE_BYTES +
						 (size_t)i * UDP_ARRIVAL_BYTES_MAX,
					 UDP_ARRIVAL_BYTES_MAX};
	self->headers[i].msg_hdr = (struct msghdr){
		.msg_name = &self->names[i],
		.msg_namelen = sizeof(self->names[i]),
		.msg_iov = &self->pieces[i],
		.msg_iovlen = 1,
		.msg_control = self->controls[i],
		.msg_controllen = UDP_CONTROL_BYTES,
	};
}

/*
 * How many arrivals to take at a time. Where they are long, the port takes few: then the
 * processor's cache still has their bytes when the engine reads them, and the engine acknowledges
 * the first ones while the peer sends the next. The first arrival after a quiet time is most often
 * alone, and the kernel need not look for a second one.
 */
static uint32_t arrivals_room(const struct udp_socket_port *self)
{
	if (self->found_none)
		return 1;
	return self->is_bulk ? ARRIVALS_BULK : ARRIVALS_MAX;
}

static void note_bulk(struct udp_socket_port *self)
{
	uint64_t bytes = 0;

	if (self->arrival_count == 0)
		return;
	for (uint32_t i = 0; i < self->arrival_count; i++)
		bytes += self->arrivals[i].length;
	self->is_bulk = bytes >= (uint64_t)self->arrival_count * BULK_BYTES;
}

/*
 * Receives by one socket into the buffers from arrival_count on. An error of the network
 * (udp_errors.h) that the call returns instead loses no datagram, and the socket stays readable.
 */
static void socket_receive(struct udp_socket_port *self, struct udp_socket *sock)
{
	uint32_t first = self->arrival_count;
	int count = recvmmsg(sock->fd, self->headers + first, arrivals_room(self) - first,
			     MSG_DONTWAIT, NULL);

	self->port.counters.receive_calls++;
	if (count < 0 && errno != EAGAIN)
		udp_errors_note(&self->sockets);
	for (; count > 0; count--) {
		uint32_t i = self->arrival_count++;

		if (udp_arrival_read(&self->arrivals[i], sock, &self->headers[i].msg_hdr,
				     self->pieces[i].iov_base, self->headers[i].msg_len) < 0) {
			self->arrivals[i] = (struct udp_arrival){0};
			self->port.counters.truncated++;
		}
		buffer_prepare(self, i);
	}
	if (self->arrival_count > first)
		self->latest = sock;
}

/*
 * The socket that is asked without asking epoll first; NULL: none. Where there are several, most
 * datagrams come to the one that received the latest. It is asked for a moment after epoll has
 * found all quiet. Once it has received, the others have their turn.
 */
static struct udp_socket *socket_to_ask(struct udp_socket_port *self, uint64_t now_ns)
{
	const bool is_quiet = self->quiet_ns != 0 && now_ns - self->quiet_ns < ASK_NS;
	struct udp_socket *sock = is_quiet ? self->latest : NULL;

	if (self->sockets.count == 1)
		sock = &self->sockets.sockets[0];
	if (sock == NULL || sock->fd < 0 || sock->is_blocked || self->full_senders > 0)
		return NULL;
	return sock;
}

/* Receives by every readable socket, and notes the sockets that have room again. */
static void arrivals_fetch(struct udp_socket_port *self, uint64_t now_ns)
{
	struct udp_socket *asked = socket_to_ask(self, now_ns);
	struct epoll_event events[UDP_SOCKETS_MAX];
	int count;

	self->arrival_count = 0;
	self->arrival_next = 0;
	if (asked != NULL) {
		socket_receive(self, asked);
		self->found_none = self->arrival_count == 0;
		if (self->arrival_count > 0)
			self->quiet_ns = 0;
		return;
	}
	self->found_none = false;
	count = epoll_wait(self->epoll_fd, events, UDP_SOCKETS_MAX, 0);
	self->port.counters.receive_calls++;
	self->quiet_ns = count == 0 ? now_ns : 0;
	self->rotation++;
	for (int i = 0; i < count; i++) {
		const struct epoll_event *event =
			&events[((uint32_t)i + self->rotation) % (uint32_t)count];
		struct udp_socket *sock = &self->sockets.sockets[event->data.u32];

		if ((event->events & EPOLLERR) != 0)
			udp_errors_note(&self->sockets);
		if ((event->events & EPOLLOUT) != 0 || is_sender(self, sock))
			room_found(self, sock);
		if ((event->events & ~(uint32_t)EPOLLOUT) != 0 && !is_sender(self, sock) &&
		    self->arrival_count < arrivals_room(self))
			socket_receive(self, sock);
	}
}

static uint32_t udp_socket_receive(struct port *port, struct datagram *into, uint32_t max,
				   uint64_t now_ns)
{
	struct udp_socket_port *self = udp_socket_from_port(port);

	udp_sockets_segmentation(&self->sockets, now_ns);
	udp_errors_look(&self->sockets, port, now_ns);
	if (self->arrival_next == self->arrival_count) {
		arrivals_fetch(self, now_ns);
		note_bulk(self);
	}
	return udp_arrivals_take(self->arrivals, &self->arrival_next, self->arrival_count, into,
				 max, &port->counters, now_ns);
}

static uint32_t udp_socket_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
				    uint64_t now_ns)
{
	struct udp_socket_port *self = udp_socket_from_port(port);
	uint32_t taken = udp_batch_transmit(&self->batch, &self->sockets, port, udp_batch_sendmmsg,
					    datagrams, count, now_ns);

	if (taken < count)
		room_wait(self, self->batch.socket);
	return taken;
}

static uint64_t udp_socket_next_deadline_ns(const struct port *port)
{
	const struct udp_socket_port *self =
		RNIC_CONTAINER_OF(port, const struct udp_socket_port, port);

	return self->arrival_next < self->arrival_count ? 0 : UINT64_MAX;
}

static void udp_socket_watch(struct port *port,
			     void (*watch)(void *context, int fd, bool for_writing), void *context)
{
	watch(context, udp_socket_from_port(port)->epoll_fd, false);
}

/* Closing ends no watch of a socket that another process has too. */
static void slot_close(struct udp_socket_port *self, uint32_t index)
{
	struct udp_sockets *sockets = &self->sockets;

	epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, sockets->sockets[index].fd, NULL);
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		if (udp_sockets_sender(sockets, index, i)->fd >= 0)
			sender_unwatch(self, udp_sockets_sender(sockets, index, i));
	udp_sockets_remove(sockets, index);
}

static int udp_socket_set_gid(struct port *port, uint32_t index, const struct rnic_gid *gid,
			      const struct udp_lane_sockets *given, char text[PORT_TEXT_BYTES])
{
	struct udp_socket_port *self = udp_socket_from_port(port);
	struct udp_sockets *sockets = &self->sockets;
	int result;

	if (gid == NULL) {
		if (sockets->sockets[index].fd >= 0)
			slot_close(self, index);
		return 0;
	}
	result = udp_sockets_add(sockets, index, gid, given, text);
	if (result < 0)
		return result;
	result = socket_watch(self, EPOLL_CTL_ADD, &sockets->sockets[index]);
	if (result < 0) {
		udp_sockets_remove(sockets, index);
		return port_text_error(text, result, "cannot watch a UDP socket: %s",
				       strerror(-result));
	}
	return 0;
}

static void udp_socket_close(struct port *port)
{
	struct udp_socket_port *self = udp_socket_from_port(port);

	udp_sockets_close(&self->sockets);
	close(self->epoll_fd);
	munmap(self->buffers, BUFFERS_BYTES);
	free(self);
}

static void udp_socket_set_netdev(struct port *port, uint32_t netdev_index)
{
	udp_sockets_set_netdev(&udp_socket_from_port(port)->sockets, netdev_index);
}

static const struct port_ops udp_socket_ops = {
	.name = "socket",
	.receive = udp_socket_receive,
	.transmit = udp_socket_transmit,
	.next_deadline_ns = udp_socket_next_deadline_ns,
	.watch = udp_socket_watch,
	.set_gid = udp_socket_set_gid,
	.set_netdev = udp_socket_set_netdev,
	.close = udp_socket_close,
};

int udp_socket_open(struct port **out, const struct udp_options *options, uint64_t now_ns,
		    char text[PORT_TEXT_BYTES])
{
	struct udp_socket_port *self = calloc(1, sizeof(*self));
	int result;

	text[0] = '\0';
	if (self == NULL)
		return port_text_error(text, -ENOMEM, "no memory for the UDP port");
	self->port.ops = &udp_socket_ops;
	self->buffers = mmap(NULL, BUFFERS_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (self->buffers == MAP_FAILED) {
		result = port_text_error(text, -ENOMEM, "no memory for the UDP port's buffers");
		goto free_self;
	}
	for (uint32_t i = 0; i < ARRIVALS_MAX; i++)
		buffer_prepare(self, i);
	self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (self->epoll_fd < 0) {
		result = port_text_error(text, -errno, "cannot open an epoll descriptor: %s",
					 strerror(errno));
		goto unmap_buffers;
	}
	result = udp_sockets_open(&self->sockets, options, now_ns, text);
	if (result < 0)
		goto close_epoll;
	for (uint32_t i = 0; i < self->sockets.count; i++) {
		if (self->sockets.sockets[i].fd < 0)
			continue;
		result = socket_watch(self, EPOLL_CTL_ADD, &self->sockets.sockets[i]);
		if (result < 0) {
			port_text_error(text, result, "cannot watch a UDP socket: %s",
					strerror(-result));
			goto close_sockets;
		}
	}
	*out = &self->port;
	return 0;

close_sockets:
	udp_sockets_close(&self->sockets);
close_epoll:
	close(self->epoll_fd);
unmap_buffers:
	munmap(self->buffers, BUFFERS_BYTES);
free_self:
	free(self);
	return result;
}
