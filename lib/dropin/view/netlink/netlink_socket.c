/* SPDX-License-Identifier: MIT */
#include "lib/dropin/view/netlink/netlink_socket.h"

#include "lib/client/native/disable.h"
#include "lib/dropin/view/netlink/netlink_monitor.h"
#include "lib/dropin/view/netlink/netlink_source.h"
#include "lib/dropin/view/netlink/nldev_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define NETLINK_NAME_PREFIX "rnic-netlink-" /* of an abstract address */
#define NETLINK_QUEUE_BYTES (1 << 20)	    /* the kernel grants less */
#define NETLINK_FIRST_PORT  UINT32_C(0xfffff000)
#define NETLINK_NOTE_MAGIC  UINT64_C(0x65746f6e6b6c6e72)

/*
 * This file calls the kernel for its own sockets: in librnic-view.so, send() and the like are those
 * of netlink_calls.c, which would take the file's messages for a program's.
 */

/*
 * A message of this library in the queue, which says where a dump goes on. A program can put one
 * there by a bare system call; the note then brings rows that the program may see anyway.
 */
struct netlink_note {
	uint64_t magic;
	struct nldev_request request;
	uint32_t cursor;
	uint32_t reserved;
};

/* Options of the program, as bits of the socket's priority: any user may set 0 to 6. */
enum netlink_option {
	NETLINK_WANTS_SHORT_ERRORS = 1 << 0,
	NETLINK_WANTS_REASONS = 1 << 1,
	NETLINK_HAS_NEWS = 1 << 2,
};

/* Whether this process may have such a socket; a child of fork() has those of its parent. */
static atomic_bool netlink_is_used;
static atomic_uint netlink_ports;

/* ---- which sockets ---- */

bool netlink_socket_is_wanted(int domain, int type, int protocol)
{
	const int kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);

	return domain == AF_NETLINK && protocol == NETLINK_RDMA &&
	       (kind == SOCK_RAW || kind == SOCK_DGRAM) && getenv("RNIC_SOCKET") != NULL &&
	       !rnic_is_disabled();
}

/* Reads the port number from the socket's own address: "rnic-netlink-PORT-RANDOM". */
static bool netlink_find_port(int fd, uint32_t *port)
{
	const size_t prefix = strlen(NETLINK_NAME_PREFIX);
	struct sockaddr_un name;
	socklen_t bytes = sizeof(name);
	const int errno_before = errno;
	char digits[9] = "";
	bool is_one;

	if (!atomic_load_explicit(&netlink_is_used, memory_order_relaxed))
		return false;
	memset(&name, 0, sizeof(name));
	is_one = fd >= 0 && syscall(SYS_getsockname, fd, &name, &bytes) == 0 &&
		 name.sun_family == AF_UNIX && name.sun_path[0] == '\0' &&
		 memcmp(name.sun_path + 1, NETLINK_NAME_PREFIX, prefix) == 0;
	errno = errno_before;
	if (!is_one)
		return false;
	memcpy(digits, name.sun_path + 1 + prefix, sizeof(digits) - 1);
	*port = (uint32_t)strtoul(digits, NULL, 16);
	return true;
}

bool netlink_socket_is(int fd)
{
	uint32_t port;

	return netlink_find_port(fd, &port);
}

/* ---- making a socket ---- */

/*
 * Throws away what a stranger has sent before connect(). Since then the socket takes messages from
 * itself alone.
 */
static void netlink_drain(int fd)
{
	char byte;

	while (syscall(SYS_recvfrom, fd, &byte, sizeof(byte), MSG_DONTWAIT, NULL, NULL) >= 0)
		;
}

static int netlink_make_with(int type, uint32_t port)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	const int queue_bytes = NETLINK_QUEUE_BYTES;
	uint64_t random = 0;
	int fd, length, error;

	fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | (type & (SOCK_CLOEXEC | SOCK_NONBLOCK)),
			  0);
	if (fd < 0)
		return -1;
	if (getrandom(&random, sizeof(random), 0) < 0)
		random = 0;
	length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
			  NETLINK_NAME_PREFIX "%08x-%016llx", port, (unsigned long long)random);
	length += (int)offsetof(struct sockaddr_un, sun_path) + 1;
	if (syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDBUF, &queue_bytes, sizeof(queue_bytes)) <
		    0 ||
	    syscall(SYS_bind, fd, &name, length) < 0 ||
	    syscall(SYS_connect, fd, &name, length) < 0) {
		error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	netlink_drain(fd);
	return fd;
}

int netlink_socket_make(int type)
{
	const unsigned before = atomic_fetch_add(&netlink_ports, 1);
	/*
	 * As in the kernel: the first socket has the number of the process, the next have numbers
	 * that no process has.
	 */
	const uint32_t port = before == 0 ? (uint32_t)getpid() : NETLINK_FIRST_PORT - before;
	int fd = netlink_make_with(type, port);

	if (fd >= 0)
		atomic_store(&netlink_is_used, true);
	return fd;
}

/* ---- options ---- */

static int netlink_options(int fd)
{
	socklen_t bytes = sizeof(int);
	int options = 0;

	if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PRIORITY, &options, &bytes) < 0)
		return 0;
	return options;
}

static int netlink_set_options(int fd, int options)
{
	return (int)syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_PRIORITY, &options, sizeof(options));
}

/* The bit of an option of SOL_NETLINK; 0: it has none. */
static int netlink_bit_of(int name)
{
	switch (name) {
	case NETLINK_CAP_ACK:
		return NETLINK_WANTS_SHORT_ERRORS;
	case NETLINK_EXT_ACK:
		return NETLINK_WANTS_REASONS;
	default:
		return 0;
	}
}

static int netlink_fail(int error)
{
	errno = error;
	return -1;
}

/* Joins groups by their bits. There is news of devices in one group, and none in others. */
static int netlink_join(int fd, uint32_t groups)
{
	int error;

	if (groups != NETLINK_MONITOR_MASK)
		return netlink_fail(EOPNOTSUPP);
	if ((netlink_options(fd) & NETLINK_HAS_NEWS) != 0)
		return 0;
	error = netlink_monitor_begin(fd);
	if (error < 0)
		return netlink_fail(-error);
	return netlink_set_options(fd, netlink_options(fd) | NETLINK_HAS_NEWS);
}

int netlink_socket_set_option(int fd, int name, const void *value, socklen_t bytes)
{
	const int bit = netlink_bit_of(name);
	const int others = netlink_options(fd) & ~bit;
	int wanted = 0;

	if (name == NETLINK_ADD_MEMBERSHIP) {
		if (bytes < sizeof(wanted) || value == NULL)
			return netlink_fail(EINVAL);
		memcpy(&wanted, value, sizeof(wanted));
		return netlink_join(fd, wanted > 0 && wanted <= 32 ? 1U << (wanted - 1) : 0);
	}
	if (bit == 0)
		return 0;
	/* As the kernel: too short a value is 0. */
	if (bytes >= sizeof(wanted) && value == NULL) {
		errno = EFAULT;
		return -1;
	}
	if (bytes >= sizeof(wanted))
		memcpy(&wanted, value, sizeof(wanted));
	return netlink_set_options(fd, wanted != 0 ? others | bit : others);
}

int netlink_socket_get_option(int fd, int name, int *value)
{
	const int bit = netlink_bit_of(name);

	if (bit == 0) {
		errno = ENOPROTOOPT;
		return -1;
	}
	*value = (netlink_options(fd) & bit) != 0;
	return 0;
}

/* ---- names ---- */

/* Puts a socket with another port number in the place of `fd`. */
static int netlink_replace(int fd, uint32_t port)
{
	const int flags = fcntl(fd, F_GETFL), fd_flags = fcntl(fd, F_GETFD);
	int type = (flags & O_NONBLOCK) != 0 ? SOCK_NONBLOCK : 0;
	int made, result;

	if (flags < 0 || fd_flags < 0)
		return -1;
	made = netlink_make_with(type | SOCK_CLOEXEC, port);
	if (made < 0)
		return -1;
	/* The news goes to the socket of before, and ends with it. */
	netlink_set_options(made, netlink_options(fd) & ~NETLINK_HAS_NEWS);
	result = dup3(made, fd, (fd_flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
	close(made);
	return result < 0 ? -1 : 0;
}

int netlink_socket_bind(int fd, const struct sockaddr *address, socklen_t bytes)
{
	struct sockaddr_nl wanted;
	uint32_t port;

	if (address == NULL || bytes < sizeof(wanted)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&wanted, address, sizeof(wanted));
	if (wanted.nl_family != AF_NETLINK) {
		errno = EINVAL;
		return -1;
	}
	if (wanted.nl_pid != 0 && netlink_find_port(fd, &port) && port != wanted.nl_pid &&
	    netlink_replace(fd, wanted.nl_pid) != 0)
		return -1;
	return wanted.nl_groups == 0 ? 0 : netlink_join(fd, wanted.nl_groups);
}

static void netlink_copy_name(const struct sockaddr_nl *name, void *address, socklen_t *bytes)
{
	memcpy(address, name, *bytes < sizeof(*name) ? *bytes : sizeof(*name));
	*bytes = sizeof(*name);
}

int netlink_socket_name(int fd, bool is_peer, struct sockaddr *address, socklen_t *bytes)
{
	struct sockaddr_nl name = {.nl_family = AF_NETLINK};
	uint32_t port;

	if (address == NULL || bytes == NULL) {
		errno = EFAULT;
		return -1;
	}
	if (!is_peer && netlink_find_port(fd, &port))
		name.nl_pid = port;
	netlink_copy_name(&name, address, bytes);
	return 0;
}

/* ---- questions and answers ---- */

struct netlink_talk {
	struct netlink_source source;
	int fd;
};

static int netlink_read(void *context, uint32_t place, uint32_t kind, struct admin_page *page)
{
	struct netlink_talk *talk = context;

	return netlink_source_read(&talk->source, place, kind, page);
}

static int netlink_send(void *context, const void *message, size_t bytes)
{
	const struct netlink_talk *talk = context;
	ssize_t sent;

	do
		sent = syscall(SYS_sendto, talk->fd, message, bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
			       NULL, 0);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -ENOBUFS : 0;
}

static void netlink_begin(struct netlink_talk *talk, struct nldev_peer *peer, int fd)
{
	const int options = netlink_options(fd);

	talk->fd = fd;
	netlink_source_open(&talk->source);
	*peer = (struct nldev_peer){
		.read = netlink_read,
		.send = netlink_send,
		.context = talk,
		.devices = &talk->source.list,
		.wants_short_errors = (options & NETLINK_WANTS_SHORT_ERRORS) != 0,
		.wants_reasons = (options & NETLINK_WANTS_REASONS) != 0,
	};
	netlink_find_port(fd, &peer->port_id);
}

/* Leaves a note in the queue if the dump goes on. Negative errno. */
static int netlink_conclude(struct netlink_talk *talk, const struct nldev_request *request,
			    int64_t result)
{
	struct netlink_note note;

	if (result <= 0)
		return (int)result;
	memset(&note, 0, sizeof(note));
	note.magic = NETLINK_NOTE_MAGIC;
	note.request = *request;
	note.cursor = (uint32_t)result;
	return netlink_send(talk, &note, sizeof(note));
}

/*
 * Answers every whole message, as the kernel does, and ignores the rest. When an answer finds no
 * room, the send fails: the program has not read the answers before.
 */
ssize_t netlink_socket_answer(int fd, const void *bytes, size_t length)
{
	const uint8_t *next = bytes;
	const int errno_before = errno;
	struct netlink_talk talk;
	struct nldev_peer peer;
	size_t left = length;
	int result = 0;

	netlink_begin(&talk, &peer, fd);
	while (result == 0) {
		struct nldev_request request;
		int error;
		size_t taken = nldev_read_request(next, left, &request, &error);

		if (taken == 0)
			break;
		result = netlink_conclude(&talk, &request,
					  nldev_answer(&peer, &request, next, error));
		if (taken >= left)
			break;
		next += taken;
		left -= taken;
	}
	netlink_source_close(&talk.source);
	errno = result < 0 ? -result : errno_before;
	return result < 0 ? -1 : (ssize_t)length;
}

/* ---- receiving ---- */

union netlink_incoming {
	struct netlink_note note;
	uint8_t bytes[NLDEV_MESSAGE_BYTES];
};

/* Takes or peeks the next message. Returns its whole length, which may be more than the room. */
static ssize_t netlink_take(int fd, union netlink_incoming *incoming, int flags)
{
	return syscall(SYS_recvfrom, fd, incoming, sizeof(*incoming), flags | MSG_TRUNC, NULL,
		       NULL);
}

static bool netlink_is_note(const union netlink_incoming *incoming, ssize_t length)
{
	return length == (ssize_t)sizeof(incoming->note) &&
	       incoming->note.magic == NETLINK_NOTE_MAGIC;
}

/* Writes the next page into the queue, from which the note has gone. Negative errno. */
static int netlink_go_on(int fd, const struct netlink_note *note)
{
	struct netlink_talk talk;
	struct nldev_peer peer;
	int result;

	netlink_begin(&talk, &peer, fd);
	result = netlink_conclude(&talk, &note->request,
				  nldev_answer_rest(&peer, &note->request, note->cursor));
	netlink_source_close(&talk.source);
	return result;
}

/*
 * Takes the note that a peek has met, and goes on. When another thread or process was quicker, this
 * takes a message, and puts it back at the end of the queue: readers who share a socket do not know
 * the order anyway.
 */
static int netlink_go_on_from_queue(int fd)
{
	const struct netlink_talk talk = {.fd = fd};
	union netlink_incoming incoming;
	const ssize_t length = netlink_take(fd, &incoming, MSG_DONTWAIT);

	if (length < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (netlink_is_note(&incoming, length))
		return netlink_go_on(fd, &incoming.note);
	return netlink_send((void *)&talk, incoming.bytes,
			    (size_t)length < sizeof(incoming) ? (size_t)length : sizeof(incoming));
}

/* Copies the message to the program, as recvmsg() does. */
static ssize_t netlink_hand_over(struct msghdr *message, const union netlink_incoming *incoming,
				 size_t length, int flags)
{
	const size_t held = length < sizeof(*incoming) ? length : sizeof(*incoming);
	size_t copied = 0;

	for (size_t i = 0; i < message->msg_iovlen && copied < held; i++) {
		const struct iovec *piece = &message->msg_iov[i];
		const size_t part = piece->iov_len < held - copied ? piece->iov_len : held - copied;

		if (part > 0)
			memcpy(piece->iov_base, incoming->bytes + copied, part);
		copied += part;
	}
	if (message->msg_name != NULL)
		netlink_copy_name(&(const struct sockaddr_nl){.nl_family = AF_NETLINK},
				  message->msg_name, &message->msg_namelen);
	message->msg_controllen = 0;
	message->msg_flags = copied < length ? MSG_TRUNC : 0;
	return (ssize_t)((flags & MSG_TRUNC) != 0 ? length : copied);
}

/*
 * Looks for the note in what it has received, not before: two threads, or a program and its child,
 * may receive at once, and only one of them gets the note.
 */
ssize_t netlink_socket_receive(int fd, struct msghdr *message, int flags)
{
	const int errno_before = errno;
	union netlink_incoming incoming;
	ssize_t length;

	while ((length = netlink_take(fd, &incoming, flags)) >= 0 &&
	       netlink_is_note(&incoming, length)) {
		const int error = (flags & MSG_PEEK) != 0 ? netlink_go_on_from_queue(fd)
							  : netlink_go_on(fd, &incoming.note);

		errno = error < 0 ? -error : errno_before;
		if (error < 0)
			return -1;
	}
	return length < 0 ? -1 : netlink_hand_over(message, &incoming, (size_t)length, flags);
}
