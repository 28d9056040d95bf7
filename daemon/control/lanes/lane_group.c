/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/lane_group.h"

#include "daemon/control/lanes/port_holder.h"
#include "lib/nic/port/port_text.h"
#include "lib/nic/port/udp/udp_sockets.h"
#include "proto/base/bits.h"
#include "proto/wire/gid.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* The top byte of the BTH's destination queue pair number, from the start of the UDP payload. */
#define DEST_LANE_OFFSET 5

/* The index of lane L is L less this; lane 0 has index 0. */
#define LANE_TO_INDEX (RNIC_LANE_FIRST - 1)

/* What one drain drops at most: some times the number that a receive buffer holds. */
#define DRAIN_DATAGRAMS_MAX 65536
#define DRAIN_TURN	    64

/* --- options ---------------------------------------------------------------------------------- */

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0 ? 0 : -errno;
}

static bool is_ipv4_group(const struct lane_group *group)
{
	return rnic_gid_is_ipv4(&group->options.gid);
}

static int options_error(char text[PORT_TEXT_BYTES], int error)
{
	return port_text_error(text, error, "this kernel's UDP sockets lack an option: %s",
			       strerror(-error));
}

/*
 * The index is the lane's where the group has that lane, and 0, lane 0, otherwise. The comparison
 * is needed: for an index beyond the group the kernel chooses by hash. Only a group that is being
 * opened may get the program.
 */
static int attach_steering(int fd, uint32_t socket_count)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, DEST_LANE_OFFSET),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, LANE_TO_INDEX),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, socket_count, 1, 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {RNIC_COUNT_OF(code), code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) == 0
		       ? 0
		       : -errno;
}

/* Nobody reads a send socket's datagrams: the kernel drops them, and keeps the room for errors. */
static int drop_arrivals(int fd)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
	const struct sock_fprog program = {RNIC_COUNT_OF(code), code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0
		       ? 0
		       : -errno;
}

/* The smallest buffer, so that strangers cannot fill the kernel's memory with unread datagrams. */
static void keep_nothing(int fd)
{
	set_option(fd, SOL_SOCKET, SO_RCVBUF, 0);
}

/* --- opening and closing ---------------------------------------------------------------------- */

uint32_t lane_group_sockets_permitted(uint32_t descriptors_each)
{
	struct rlimit files;
	rlim_t permitted = 1;

	assert(descriptors_each > 0);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		permitted = files.rlim_max / 2 / descriptors_each;
	if (permitted > LANE_GROUP_SOCKETS_MAX)
		return LANE_GROUP_SOCKETS_MAX;
	return permitted < 1 ? 1 : (uint32_t)permitted;
}

static int taken_error(char text[PORT_TEXT_BYTES], int error, const struct lane_group *group)
{
	char name[RNIC_GID_TEXT_BYTES];
	struct port_holder holder;

	if (error != EADDRINUSE)
		return udp_bind_error(text, error, &group->options.gid, group->options.udp_port);
	if (!port_holder_find(&holder, &group->options.gid, group->options.udp_port)) {
		udp_bind_error(text, error, &group->options.gid, group->options.udp_port);
		return -EBUSY;
	}
	/* A device process hangs so in memory of a file system whose server is dead. */
	return port_text_error(text, -error, "UDP port %u on %s is taken by PID %d (%s)%s",
			       group->options.udp_port, rnic_gid_text(&group->options.gid, name),
			       (int)holder.pid, holder.program,
			       holder.hangs ? ", which hangs in the kernel; if a FUSE server is "
					      "the cause, write 1 to its "
					      "/sys/fs/fuse/connections/*/abort"
					    : "");
}

/*
 * Opens the next socket of the group. The first one is bound without SO_REUSEPORT, so that the bind
 * fails when anybody else has the port, of a group or not.
 */
static int open_member(struct lane_group *group, char text[PORT_TEXT_BYTES])
{
	const struct lane_group_options *options = &group->options;
	const bool is_first = group->socket_count == 0;
	union udp_address address;
	socklen_t address_bytes = udp_address_write(&address, &options->gid, options->udp_port,
						    options->netdev_index);
	int fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int result;

	if (fd < 0)
		return port_text_error(text, -errno, "cannot open a UDP socket: %s",
				       strerror(errno));
	result = udp_socket_set_options(fd, &options->gid, options->netdev_index);
	if (result == 0 && !is_first)
		result = set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (result != 0) {
		options_error(text, result);
		goto close_fd;
	}
	set_option(fd, IPPROTO_UDP, UDP_GRO, options->is_gro_on);
	keep_nothing(fd);
	if (bind(fd, &address.any, address_bytes) != 0) {
		result = taken_error(text, errno, group);
		goto close_fd;
	}
	if (is_first)
		result = set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (result != 0) {
		options_error(text, result);
		goto close_fd;
	}
	group->fds[group->socket_count++] = fd;
	return 0;

close_fd:
	close(fd);
	return result;
}

bool lane_group_can_steer(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool can_steer;

	if (fd < 0)
		return false;
	can_steer = set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) == 0 && attach_steering(fd, 2) == 0;
	close(fd);
	return can_steer;
}

int lane_group_open(struct lane_group *group, const struct lane_group_options *options,
		    char text[PORT_TEXT_BYTES])
{
	int result;

	assert(options->socket_count >= 1 && options->socket_count <= LANE_GROUP_SOCKETS_MAX);
	*group = (struct lane_group){.options = *options};
	if (group->options.udp_port == 0)
		group->options.udp_port = RNIC_UDP_PORT;
	text[0] = '\0';
	do {
		result = open_member(group, text);
		if (result != 0)
			goto close_group;
	} while (group->socket_count < options->socket_count);
	if (!lane_group_is_steered(group))
		return 0;
	result = attach_steering(group->fds[0], group->socket_count);
	if (result != 0) {
		port_text_error(text, result, "cannot tell the lanes of UDP port %u apart: %s",
				group->options.udp_port, strerror(-result));
		goto close_group;
	}
	return 0;

close_group:
	lane_group_close(group);
	return result;
}

void lane_group_close(struct lane_group *group)
{
	while (group->socket_count > 0)
		close(group->fds[--group->socket_count]);
}

bool lane_group_is_steered(const struct lane_group *group)
{
	return group->socket_count > 1;
}

/* --- lanes ------------------------------------------------------------------------------------ */

static uint32_t lane_socket_index(const struct lane_group *group, uint8_t lane)
{
	uint32_t index = lane == 0 ? 0 : (uint32_t)lane - LANE_TO_INDEX;

	assert(lane == 0 || (lane >= RNIC_LANE_FIRST && lane <= RNIC_LANE_LAST));
	if (!lane_group_is_steered(group)) {
		assert(lane == 0 || lane == RNIC_LANE_FIRST);
		index = 0;
	}
	assert(index < group->socket_count);
	return index;
}

static int receive_fd_of(const struct lane_group *group, uint8_t lane)
{
	return group->fds[lane_socket_index(group, lane)];
}

uint8_t lane_group_holder(const struct lane_group *group, uint32_t index)
{
	if (!group->is_given[index])
		return 0;
	return (uint8_t)(lane_group_is_steered(group) ? index + LANE_TO_INDEX : RNIC_LANE_FIRST);
}

/* The number of datagrams in a received buffer, which UDP_GRO may have merged from several. */
static uint32_t count_datagrams(struct msghdr *header, uint32_t length)
{
	struct cmsghdr *control;
	int segment_bytes = 0;

	for (control = CMSG_FIRSTHDR(header); control != NULL;
	     control = CMSG_NXTHDR(header, control))
		if (control->cmsg_level == IPPROTO_UDP && control->cmsg_type == UDP_GRO &&
		    control->cmsg_len >= CMSG_LEN(sizeof(segment_bytes)))
			memcpy(&segment_bytes, CMSG_DATA(control), sizeof(segment_bytes));
	if (segment_bytes <= 0 || length <= (uint32_t)segment_bytes)
		return 1;
	return (length + (uint32_t)segment_bytes - 1) / (uint32_t)segment_bytes;
}

static void drain(struct lane_group *group, int fd)
{
	_Alignas(struct cmsghdr) uint8_t controls[DRAIN_TURN][UDP_CONTROL_BYTES];
	struct mmsghdr messages[DRAIN_TURN];
	int count;

	/* The bound is for a holder of a duplicate that enlarges the buffer under a flood. */
	for (uint32_t calls = 0; calls < DRAIN_DATAGRAMS_MAX / DRAIN_TURN; calls++) {
		for (uint32_t i = 0; i < DRAIN_TURN; i++)
			messages[i] = (struct mmsghdr){
				.msg_hdr = {.msg_control = controls[i],
					    .msg_controllen = sizeof(controls[i])}};
		count = recvmmsg(fd, messages, DRAIN_TURN, MSG_DONTWAIT | MSG_TRUNC, NULL);
		/* An error of the network is taken by its report. */
		if (count < 0 && errno != EAGAIN && errno != EINTR)
			continue;
		if (count <= 0)
			break;
		for (int i = 0; i < count; i++)
			group->drained +=
				count_datagrams(&messages[i].msg_hdr, messages[i].msg_len);
	}
}

/*
 * Undoes what a holder may have done to its socket: a device process cannot, but whoever got a
 * duplicate from it can. The steering program stays as it is: the kernels of some years use freed
 * memory when another one comes while datagrams arrive.
 *
 * The buffer shrinks before the drain, which then ends under a flood too.
 */
static void reset_receive_socket(struct lane_group *group, int fd)
{
	const bool is_ipv4 = is_ipv4_group(group);

	keep_nothing(fd);
	set_option(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
	/* This drops the errors that wait as well. */
	set_option(fd, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, is_ipv4 ? IP_RECVERR : IPV6_RECVERR, 0);
	drain(group, fd);
}

/*
 * Binds to the port of the lane and the destination. Its guard shares the port with this user's
 * sockets by SO_REUSEPORT. So the port is free once more when the address comes back, though the
 * lane's holder may not have closed the socket that had it before: peers take a queue pair's
 * packets from one port (peer_ports.h).
 */
static int bind_send_socket(int fd, const struct lane_group *group, uint8_t lane, uint32_t index)
{
	const struct lane_group_options *options = &group->options;
	const uint16_t port = port_guards_port(options->guards, lane, index);
	union udp_address address;
	socklen_t address_bytes =
		udp_address_write(&address, &options->gid, port, options->netdev_index);
	int result = port_guards_own(options->guards, fd);

	if (result == 0)
		result = set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (result != 0)
		return result;
	if (bind(fd, &address.any, address_bytes) == 0)
		return 0;
	/* A port without a guard. */
	if (errno != EADDRINUSE)
		return -errno;
	udp_address_write(&address, &options->gid, 0, options->netdev_index);
	return bind(fd, &address.any, address_bytes) == 0 ? 0 : -errno;
}

/*
 * The send socket stays unconnected and never fragments, so that the kernel numbers its IPv4
 * packets as segment.h says.
 */
static int open_send_socket(const struct lane_group *group, uint8_t lane, uint32_t index,
			    char text[PORT_TEXT_BYTES])
{
	int fd = socket(is_ipv4_group(group) ? AF_INET : AF_INET6,
			SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int result;

	if (fd < 0)
		return port_text_error(text, -errno, "cannot open a UDP socket: %s",
				       strerror(errno));
	result = udp_socket_set_options(fd, &group->options.gid, group->options.netdev_index);
	if (result == 0 && !lane_group_is_steered(group))
		drop_arrivals(fd); /* where the kernel takes no program, something may arrive */
	else if (result == 0)
		result = drop_arrivals(fd);
	if (result != 0) {
		options_error(text, result);
		goto close_fd;
	}
	result = bind_send_socket(fd, group, lane, index);
	if (result != 0) {
		port_text_error(text, result, "cannot bind a send socket of lane 0x%02x: %s", lane,
				strerror(-result));
		goto close_fd;
	}
	return fd;

close_fd:
	close(fd);
	return result;
}

/* Lane 0 sends to lane 0 alone. */
static uint32_t sender_count(uint8_t lane)
{
	return lane == 0 ? 1 : RNIC_LANE_SEND_SOCKETS;
}

static void forget_sockets(struct udp_lane_sockets *out)
{
	out->receive_fd = -1;
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		out->send_fds[i] = -1;
}

int lane_group_take_sender(struct lane_group *group, struct udp_lane_sockets *out,
			   char text[PORT_TEXT_BYTES])
{
	int result;

	assert(!lane_group_is_steered(group));
	forget_sockets(out);
	port_guards_hold(group->options.guards, 0);
	result = open_send_socket(group, 0, 0, text);
	if (result < 0)
		return result;
	out->receive_fd = result;
	return 0;
}

int lane_group_take(struct lane_group *group, uint8_t lane, struct udp_lane_sockets *out,
		    char text[PORT_TEXT_BYTES])
{
	int fd = receive_fd_of(group, lane);
	int result;

	forget_sockets(out);
	reset_receive_socket(group, fd);
	port_guards_hold(group->options.guards, lane);
	for (uint32_t i = 0; i < sender_count(lane); i++) {
		result = open_send_socket(group, lane, i, text);
		if (result < 0)
			goto close_sockets;
		out->send_fds[i] = result;
	}
	out->receive_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (out->receive_fd < 0) {
		result = port_text_error(text, -errno, "cannot duplicate a UDP socket: %s",
					 strerror(errno));
		goto close_sockets;
	}
	if (lane != 0)
		group->is_given[lane_socket_index(group, lane)] = true;
	/*
	 * This comes before the buffer grows. Else datagrams would arrive one by one and fill the
	 * buffer, and the kernel would drop those for the new holder.
	 */
	set_option(fd, IPPROTO_UDP, UDP_GRO, group->options.is_gro_on);
	/* Its last holder may have changed its options. */
	result = udp_socket_set_options(fd, &group->options.gid, group->options.netdev_index);
	if (result != 0) {
		options_error(text, result);
		goto close_sockets;
	}
	return 0;

close_sockets:
	keep_nothing(fd);
	udp_lane_sockets_close(out);
	return result;
}

void lane_group_give_back(struct lane_group *group, uint8_t lane)
{
	group->is_given[lane_socket_index(group, lane)] = false;
	reset_receive_socket(group, receive_fd_of(group, lane));
}

bool lane_group_is_intact(const struct lane_group *group, uint8_t lane)
{
	struct pollfd polled = {.fd = receive_fd_of(group, lane), .events = POLLRDHUP};
	union udp_address peer;
	socklen_t bytes = sizeof(peer);

	/* There is no other socket to have instead. */
	if (!lane_group_is_steered(group))
		return true;
	if (poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP)) != 0)
		return false;
	return getpeername(polled.fd, &peer.any, &bytes) != 0;
}

void lane_group_set_gro(struct lane_group *group, bool is_on)
{
	group->options.is_gro_on = is_on;
	for (uint32_t i = 0; i < group->socket_count; i++)
		set_option(group->fds[i], IPPROTO_UDP, UDP_GRO, is_on);
}
