/* SPDX-License-Identifier: MIT */
/*
 * Receives by one multishot recvmsg per socket; all share one ring of provided buffers: no system
 * call while nothing arrives. A sleeping thread polls the ring and not the sockets: any system call
 * or interrupt may let the kernel take a datagram off its socket, and then only the ring shows it.
 * Completions that wait for their thread end its sleep with EINTR.
 *
 * Sends by sendmmsg(2): a chain of linked requests needs one system call too, and the ring's own
 * work for each request on top.
 */
#include "lib/nic/port/port_text.h"
#include "lib/nic/port/udp/udp_batch.h"
#include "lib/nic/port/udp/udp_errors.h"
#include "lib/nic/port/udp/udp_port.h"

#include "proto/base/bits.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUFFER_COUNT 32 /* a power of two */
#define BUFFER_GROUP 0
#define NAME_BYTES   32 /* a socket address, with alignment for the bytes behind it */

/* The kernel's header before the datagram: lengths, name, control messages. */
#define BUFFER_CONTROL_BYTES (UDP_CONTROL_BYTES + UDP_ARRIVAL_PHASE_BYTES)
#define BUFFER_HEADER_BYTES                                                                        \
	(sizeof(struct io_uring_recvmsg_out) + NAME_BYTES + BUFFER_CONTROL_BYTES)
#define BUFFER_BYTES	  ((BUFFER_HEADER_BYTES + UDP_ARRIVAL_BYTES_MAX + 15) & ~(size_t)15)
#define BUFFER_RING_BYTES (BUFFER_COUNT * sizeof(struct io_uring_buf))
#define MAPPED_BYTES	  (BUFFER_RING_BYTES + BUFFER_COUNT * BUFFER_BYTES)

_Static_assert(BUFFER_HEADER_BYTES % 16 == UDP_ARRIVAL_PHASE_BYTES, "datagrams lie in phase");
_Static_assert(BUFFER_RING_BYTES % 16 == 0, "buffers are aligned");

/* A receive for each GID, and for each socket a wait for room. */
#define SUBMISSIONS_MAX 512
#define COMPLETIONS_MAX 1024

_Static_assert(SUBMISSIONS_MAX >= UDP_SOCKETS_MAX + UDP_DESCRIPTORS_MAX, "they all fit");

/* In user_data: the kind above, the index of a socket below. */
enum request_kind { REQUEST_RECEIVE, REQUEST_ROOM, REQUEST_KINDS };

struct udp_uring_port {
	struct port port;
	struct udp_sockets sockets;
	struct io_uring ring;
	struct msghdr receive_header; /* the layout of the header that multishot recvmsg writes */
	bool is_receiving[UDP_SOCKETS_MAX];
	uint32_t rotation; /* moves on with each start: the first socket may fill all buffers */
	bool is_waiting_for_room[UDP_DESCRIPTORS_MAX];
	bool is_submitting; /* the kernel did not take all queued requests yet */
	int receive_error;  /* of the last receive that ended */

	/* The buffer ring, and behind it the buffers, of which only the used ones are touched. */
	struct io_uring_buf_ring *buffer_ring;

	/* arrivals[i] lies in buffer arrival_buffers[i]; all go back to the ring together. */
	struct udp_arrival arrivals[BUFFER_COUNT];
	uint16_t arrival_buffers[BUFFER_COUNT];
	uint32_t arrival_count;
	uint32_t arrival_next;

	struct udp_batch batch;
};

static struct udp_uring_port *udp_uring_from_port(struct port *port)
{
	return RNIC_CONTAINER_OF(port, struct udp_uring_port, port);
}

static uint8_t *buffer_at(struct udp_uring_port *self, uint16_t i)
{
	return (uint8_t *)self->buffer_ring + BUFFER_RING_BYTES + i * BUFFER_BYTES;
}

static struct io_uring_sqe *sqe_get(struct udp_uring_port *self)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	assert(sqe != NULL);
	return sqe;
}

static void sqe_set_request(struct io_uring_sqe *sqe, enum request_kind kind, uint32_t index)
{
	sqe->user_data = (uint64_t)kind << 32 | index;
}

/*
 * A request that fails here and now (no memory, completions to be reaped first) stays queued and
 * goes with the next submission.
 */
static void ring_submit(struct udp_uring_port *self)
{
	io_uring_submit(&self->ring);
	self->is_submitting = io_uring_sq_ready(&self->ring) > 0;
}

static void arrival_add(struct udp_uring_port *self, const struct udp_socket *sock,
			const struct io_uring_cqe *cqe)
{
	uint16_t buffer = (uint16_t)(cqe->flags >> IORING_CQE_BUFFER_SHIFT);
	uint8_t *bytes = buffer_at(self, buffer);
	uint32_t i = self->arrival_count++;
	struct io_uring_recvmsg_out *received;
	struct msghdr header;

	assert(i < BUFFER_COUNT && buffer < BUFFER_COUNT);
	self->arrival_buffers[i] = buffer;
	self->arrivals[i] = (struct udp_arrival){0};
	received = io_uring_recvmsg_validate(bytes, cqe->res, &self->receive_header);
	if (received == NULL)
		return;
	header = (struct msghdr){
		.msg_name = io_uring_recvmsg_name(received),
		.msg_namelen = received->namelen,
		.msg_control = bytes + sizeof(*received) + NAME_BYTES,
		.msg_controllen = received->controllen,
		.msg_flags = (int)received->flags,
	};
	if (udp_arrival_read(&self->arrivals[i], sock, &header, bytes + BUFFER_HEADER_BYTES,
			     (size_t)cqe->res - BUFFER_HEADER_BYTES) < 0)
		self->port.counters.truncated++;
}

static void completion_receive(struct udp_uring_port *self, uint32_t index,
			       const struct io_uring_cqe *cqe)
{
	if ((cqe->flags & IORING_CQE_F_BUFFER) != 0)
		arrival_add(self, &self->sockets.sockets[index], cqe);
	if ((cqe->flags & IORING_CQE_F_MORE) == 0) {
		self->is_receiving[index] = false;
		self->receive_error = cqe->res;
		if (cqe->res < 0 && cqe->res != -ENOBUFS)
			udp_errors_note(&self->sockets);
	}
}

static void completion_room(struct udp_uring_port *self, uint32_t index,
			    const struct io_uring_cqe *cqe)
{
	if (cqe->res < 0 || (cqe->res & POLLERR) != 0)
		udp_errors_note(&self->sockets);
	self->is_waiting_for_room[index] = false;
	self->sockets.sockets[index].is_blocked = false;
}

static void (*const completion_handlers[REQUEST_KINDS])(struct udp_uring_port *self, uint32_t index,
							const struct io_uring_cqe *cqe) = {
	[REQUEST_RECEIVE] = completion_receive,
	[REQUEST_ROOM] = completion_room,
};

static void completions_reap(struct udp_uring_port *self)
{
	struct io_uring_cqe *cqe;
	unsigned int head, count = 0;

	io_uring_for_each_cqe(&self->ring, head, cqe)
	{
		uint64_t request = io_uring_cqe_get_data64(cqe);

		completion_handlers[request >> 32](self, (uint32_t)request, cqe);
		count++;
	}
	io_uring_cq_advance(&self->ring, count);
}

/* Gives the buffers of all arrivals, whose datagrams were taken, back to the kernel. */
static void buffers_return(struct udp_uring_port *self)
{
	int mask = io_uring_buf_ring_mask(BUFFER_COUNT);

	for (uint32_t i = 0; i < self->arrival_count; i++) {
		uint16_t buffer = self->arrival_buffers[i];

		io_uring_buf_ring_add(self->buffer_ring, buffer_at(self, buffer), BUFFER_BYTES,
				      buffer, mask, (int)i);
	}
	io_uring_buf_ring_advance(self->buffer_ring, (int)self->arrival_count);
	self->arrival_count = 0;
	self->arrival_next = 0;
}

/* Starts the receives that do not run: at first all, later those that ran out of buffers. */
static void receives_start(struct udp_uring_port *self)
{
	bool must_submit = self->is_submitting;

	self->rotation++;
	for (uint32_t offset = 0; offset < self->sockets.count; offset++) {
		uint32_t i = (self->rotation + offset) % self->sockets.count;
		struct io_uring_sqe *sqe;

		if (self->is_receiving[i] || self->sockets.sockets[i].fd < 0)
			continue;
		sqe = sqe_get(self);
		io_uring_prep_recvmsg_multishot(sqe, self->sockets.sockets[i].fd,
						&self->receive_header, 0);
		sqe->flags |= IOSQE_BUFFER_SELECT;
		sqe->buf_group = BUFFER_GROUP;
		sqe_set_request(sqe, REQUEST_RECEIVE, i);
		self->is_receiving[i] = true;
		must_submit = true;
	}
	if (must_submit) {
		ring_submit(self);
		self->port.counters.receive_calls++;
	}
}

static uint32_t udp_uring_receive(struct port *port, struct datagram *into, uint32_t max,
				  uint64_t now_ns)
{
	struct udp_uring_port *self = udp_uring_from_port(port);
	unsigned int flags;

	udp_sockets_segmentation(&self->sockets, now_ns);
	udp_errors_look(&self->sockets, port, now_ns);
	if (self->arrival_next == self->arrival_count) {
		buffers_return(self);
		receives_start(self);
		flags = IO_URING_READ_ONCE(*self->ring.sq.kflags);
		if ((flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0) {
			io_uring_get_events(&self->ring);
			port->counters.receive_calls++;
		}
		completions_reap(self);
	}
	return udp_arrivals_take(self->arrivals, &self->arrival_next, self->arrival_count, into,
				 max, &port->counters, now_ns);
}

static void room_wait(struct udp_uring_port *self, struct udp_socket *sock)
{
	uint32_t index = (uint32_t)(sock - self->sockets.sockets);
	struct io_uring_sqe *sqe;

	if (self->is_waiting_for_room[index])
		return;
	sqe = sqe_get(self);
	io_uring_prep_poll_add(sqe, sock->fd, POLLOUT);
	sqe_set_request(sqe, REQUEST_ROOM, index);
	self->is_waiting_for_room[index] = true;
	ring_submit(self);
}

static uint32_t udp_uring_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
				   uint64_t now_ns)
{
	struct udp_uring_port *self = udp_uring_from_port(port);
	uint32_t taken = udp_batch_transmit(&self->batch, &self->sockets, port, udp_batch_sendmmsg,
					    datagrams, count, now_ns);

	if (taken < count)
		room_wait(self, self->batch.socket);
	return taken;
}

/*
 * Work that the ring does not show: reaped arrivals, requests to submit, receives to start again.
 */
static uint64_t udp_uring_next_deadline_ns(const struct port *port)
{
	const struct udp_uring_port *self =
		RNIC_CONTAINER_OF(port, const struct udp_uring_port, port);

	if (self->arrival_next < self->arrival_count || self->is_submitting)
		return 0;
	for (uint32_t i = 0; i < self->sockets.count; i++)
		if (!self->is_receiving[i] && self->sockets.sockets[i].fd >= 0)
			return 0;
	return UINT64_MAX;
}

static void udp_uring_watch(struct port *port,
			    void (*watch)(void *context, int fd, bool for_writing), void *context)
{
	watch(context, udp_uring_from_port(port)->ring.ring_fd, false);
}

/* Until a request has ended it holds its socket open and may write to its buffer. */
static void requests_cancel(struct udp_uring_port *self)
{
	struct io_uring_sync_cancel_reg all = {
		.flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL,
		.timeout = {.tv_sec = -1, .tv_nsec = -1},
	};

	io_uring_register_sync_cancel(&self->ring, &all);
}

static bool has_requests(const struct udp_uring_port *self, uint32_t number)
{
	return (number < UDP_SOCKETS_MAX && self->is_receiving[number]) ||
	       self->is_waiting_for_room[number];
}

/*
 * Ends the requests of one socket, and reaps their last completions here: later they would look
 * like those of a new socket in the same place.
 */
static void socket_cancel(struct udp_uring_port *self, uint32_t number)
{
	struct io_uring_sync_cancel_reg requests = {
		.fd = self->sockets.sockets[number].fd,
		.flags = IORING_ASYNC_CANCEL_FD | IORING_ASYNC_CANCEL_ALL,
		.timeout = {.tv_sec = -1, .tv_nsec = -1},
	};

	while (has_requests(self, number)) {
		if (self->is_submitting)
			ring_submit(self);
		completions_reap(self);
		io_uring_register_sync_cancel(&self->ring, &requests);
		io_uring_get_events(&self->ring);
		completions_reap(self);
	}
}

static void slot_cancel(struct udp_uring_port *self, uint32_t index)
{
	socket_cancel(self, index);
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		socket_cancel(self, (uint32_t)(udp_sockets_sender(&self->sockets, index, i) -
					       self->sockets.sockets));
}

static int udp_uring_set_gid(struct port *port, uint32_t index, const struct rnic_gid *gid,
			     const struct udp_lane_sockets *given, char text[PORT_TEXT_BYTES])
{
	struct udp_uring_port *self = udp_uring_from_port(port);

	/* The next receive() starts a receive on the socket. */
	if (gid != NULL)
		return udp_sockets_add(&self->sockets, index, gid, given, text);
	if (self->sockets.sockets[index].fd >= 0) {
		slot_cancel(self, index);
		udp_sockets_remove(&self->sockets, index);
	}
	return 0;
}

static void udp_uring_close(struct port *port)
{
	struct udp_uring_port *self = udp_uring_from_port(port);

	requests_cancel(self);
	io_uring_queue_exit(&self->ring);
	udp_sockets_close(&self->sockets);
	munmap(self->buffer_ring, MAPPED_BYTES);
	free(self);
}

static void udp_uring_set_netdev(struct port *port, uint32_t netdev_index)
{
	udp_sockets_set_netdev(&udp_uring_from_port(port)->sockets, netdev_index);
}

static const struct port_ops udp_uring_ops = {
	.name = "uring",
	.receive = udp_uring_receive,
	.transmit = udp_uring_transmit,
	.next_deadline_ns = udp_uring_next_deadline_ns,
	.watch = udp_uring_watch,
	.set_gid = udp_uring_set_gid,
	.set_netdev = udp_uring_set_netdev,
	.close = udp_uring_close,
};

/*
 * The kernel makes completions when this thread enters it, without interrupting the thread.
 * (DEFER_TASKRUN would go further, but with it Linux 6.18 loses the wake-up of a multishot receive
 * when datagrams arrive faster than they are taken, and the socket stays full for ever.)
 */
static int ring_open(struct io_uring *ring, char text[PORT_TEXT_BYTES])
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_COOP_TASKRUN |
			 IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED,
		.cq_entries = COMPLETIONS_MAX,
	};
	int result = io_uring_queue_init_params(SUBMISSIONS_MAX, ring, &params);

	if (result == -EINVAL)
		return port_text_error(text, -EOPNOTSUPP, "this kernel's io_uring is too old");
	if (result < 0)
		return port_text_error(text, result, "io_uring is not available: %s",
				       strerror(-result));
	return 0;
}

static int buffers_register(struct udp_uring_port *self, char text[PORT_TEXT_BYTES])
{
	struct io_uring_buf_reg registration = {
		.ring_addr = (uintptr_t)self->buffer_ring,
		.ring_entries = BUFFER_COUNT,
		.bgid = BUFFER_GROUP,
	};
	int result = io_uring_register_buf_ring(&self->ring, &registration, 0);

	if (result < 0)
		return port_text_error(text, -EOPNOTSUPP,
				       "this kernel's io_uring has no buffer rings");
	io_uring_buf_ring_init(self->buffer_ring);
	for (uint16_t i = 0; i < BUFFER_COUNT; i++)
		self->arrival_buffers[i] = i;
	self->arrival_count = BUFFER_COUNT;
	buffers_return(self);
	return 0;
}

/*
 * Enables the ring for what the port does with it, and nothing else: a ring goes round the filters
 * of system calls that a process may have.
 */
static int ring_enable(struct io_uring *ring, char text[PORT_TEXT_BYTES])
{
	struct io_uring_restriction restrictions[] = {
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_RECVMSG},
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_POLL_ADD},
		{.opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED, .sqe_flags = IOSQE_BUFFER_SELECT},
		{.opcode = IORING_RESTRICTION_REGISTER_OP,
		 .register_op = IORING_REGISTER_SYNC_CANCEL},
	};

	/* liburing 2.3 declares functions for these, but does not have them. */
	if (syscall(SYS_io_uring_register, ring->ring_fd, IORING_REGISTER_RESTRICTIONS,
		    restrictions, RNIC_COUNT_OF(restrictions)) == 0 &&
	    syscall(SYS_io_uring_register, ring->ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0) ==
		    0)
		return 0;
	return port_text_error(text, -EOPNOTSUPP, "this kernel's io_uring cannot be restricted");
}

/* Starts receives, on a socket of no use while the port has none, and ends those again. */
static void receives_probe(struct udp_uring_port *self)
{
	struct udp_sockets *sockets = &self->sockets;
	const bool is_empty = sockets->count == 0;

	if (is_empty) {
		sockets->sockets[0].fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		sockets->count = 1;
	}
	receives_start(self);
	io_uring_get_events(&self->ring);
	completions_reap(self);
	if (!is_empty)
		return;
	sockets->count = 0;
	if (sockets->sockets[0].fd < 0)
		return;
	socket_cancel(self, 0);
	close(sockets->sockets[0].fd);
	sockets->sockets[0].fd = -1;
}

/* A kernel without multishot recvmsg ends the request at once. */
static int receives_try(struct udp_uring_port *self, char text[PORT_TEXT_BYTES])
{
	receives_probe(self);
	if (self->receive_error == -EINVAL)
		return port_text_error(text, -EOPNOTSUPP,
				       "this kernel's io_uring has no multishot recvmsg");
	return 0;
}

int udp_uring_open(struct port **out, const struct udp_options *options, uint64_t now_ns,
		   char text[PORT_TEXT_BYTES])
{
	struct udp_uring_port *self = calloc(1, sizeof(*self));
	int result;

	text[0] = '\0';
	if (self == NULL)
		return port_text_error(text, -ENOMEM, "no memory for the UDP port");
	self->port.ops = &udp_uring_ops;
	self->receive_header.msg_namelen = NAME_BYTES;
	self->receive_header.msg_controllen = BUFFER_CONTROL_BYTES;
	self->buffer_ring = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (self->buffer_ring == MAP_FAILED) {
		result = port_text_error(text, -ENOMEM, "no memory for the UDP port's buffers");
		goto free_self;
	}
	result = ring_open(&self->ring, text);
	if (result < 0)
		goto unmap_buffers;
	result = buffers_register(self, text);
	if (result == 0)
		result = ring_enable(&self->ring, text);
	if (result < 0)
		goto close_ring;
	result = udp_sockets_open(&self->sockets, options, now_ns, text);
	if (result < 0)
		goto close_ring;
	result = receives_try(self, text);
	if (result < 0)
		goto close_sockets;
	*out = &self->port;
	return 0;

close_sockets:
	requests_cancel(self);
	udp_sockets_close(&self->sockets);
close_ring:
	io_uring_queue_exit(&self->ring);
unmap_buffers:
	munmap(self->buffer_ring, MAPPED_BYTES);
free_self:
	free(self);
	return result;
}
