/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/udp_sockets.h"

#include "lib/nic/port/port_text.h"
#include "proto/base/bits.h"
#include "proto/wire/gid.h"

#include <assert.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/*
 * What a long path has under way arrives while a process waits for a processor: at 10 Gb/s, 10 ms
 * hold 12.5 MB, and a process may wait as long. The kernel charges a packet with more than its
 * bytes, up to twice what is asked for here, and only for packets that wait.
 */
#define RECEIVE_BUFFER_BYTES (12 << 20)

#define SEND_BUFFER_BYTES (8 << 20)

struct socket_option {
	int level;
	int name;
	int value;
	bool is_required;
};

/*
 * With PMTUDISC_PROBE the socket never fragments, as with DO, but heeds the interface's MTU alone.
 * Anybody can forge the message that lowers the kernel's path MTU for ten minutes.
 *
 * MULTICAST_ALL off: a socket gets only the group datagrams from the interface on which it joined.
 */
static const struct socket_option ipv4_options[] = {
	{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE, true},
	{IPPROTO_IP, IP_RECVTOS, 1, true},
	{IPPROTO_IP, IP_RECVTTL, 1, true},
	{IPPROTO_IP, IP_MULTICAST_ALL, 0, true},
};

/*
 * Linux rxe sends no UDP checksum over IPv6, hence NO_CHECK6_RX. Only FREEBIND can bind an address
 * that the kernel still probes for duplicates. A bound socket, whose options are set anew, refuses
 * V6ONLY and has it.
 */
static const struct socket_option ipv6_options[] = {
	{IPPROTO_IPV6, IPV6_V6ONLY, 1, false},
	{IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE, true},
	{IPPROTO_IPV6, IPV6_RECVTCLASS, 1, true},
	{IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1, true},
	{IPPROTO_UDP, UDP_NO_CHECK6_RX, 1, true},
	{IPPROTO_IPV6, IPV6_FREEBIND, 1, false},
	{IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0, false},
};

/*
 * The FORCE options need a privilege and may exceed the system's limit; the kernel cuts the others
 * to it.
 */
static const struct socket_option buffer_options[] = {
	{SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER_BYTES, false},
	{SOL_SOCKET, SO_SNDBUF, SEND_BUFFER_BYTES, false},
	{SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES, false},
	{SOL_SOCKET, SO_SNDBUFFORCE, SEND_BUFFER_BYTES, false},
};

static int set_each_option(int fd, const struct socket_option *options, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)) != 0 &&
		    options[i].is_required)
			return -errno;
	}
	return 0;
}

socklen_t udp_address_write(union udp_address *address, const struct rnic_gid *gid,
			    uint16_t udp_port, uint32_t netdev_index)
{
	memset(address, 0, sizeof(*address));
	if (rnic_gid_is_ipv4(gid)) {
		address->ipv4.sin_family = AF_INET;
		address->ipv4.sin_port = htons(udp_port);
		memcpy(&address->ipv4.sin_addr, rnic_gid_ipv4(gid), sizeof(address->ipv4.sin_addr));
		return sizeof(address->ipv4);
	}
	address->ipv6.sin6_family = AF_INET6;
	address->ipv6.sin6_port = htons(udp_port);
	memcpy(&address->ipv6.sin6_addr, gid->bytes, sizeof(address->ipv6.sin6_addr));
	if (rnic_gid_is_link_local(gid) || rnic_gid_is_multicast(gid))
		address->ipv6.sin6_scope_id = netdev_index;
	return sizeof(address->ipv6);
}

/* Datagrams to multicast groups leave by the device's interface, whatever the routes say. */
static void set_multicast_interface(int fd, bool is_ipv4, uint32_t netdev_index)
{
	const struct ip_mreqn ipv4 = {.imr_ifindex = (int)netdev_index};
	const int ipv6 = (int)netdev_index;

	if (is_ipv4)
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &ipv4, sizeof(ipv4));
	else
		setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &ipv6, sizeof(ipv6));
}

int udp_socket_set_options(int fd, const struct rnic_gid *gid, uint32_t netdev_index)
{
	bool is_ipv4 = rnic_gid_is_ipv4(gid);
	int result = is_ipv4 ? set_each_option(fd, ipv4_options, RNIC_COUNT_OF(ipv4_options))
			     : set_each_option(fd, ipv6_options, RNIC_COUNT_OF(ipv6_options));

	if (result < 0)
		return result;
	set_each_option(fd, buffer_options, RNIC_COUNT_OF(buffer_options));
	set_multicast_interface(fd, is_ipv4, netdev_index);
	return 0;
}

static int join_group(int fd, const union udp_address *group, uint32_t netdev_index)
{
	struct group_req request = {.gr_interface = netdev_index};
	bool is_ipv4 = group->any.sa_family == AF_INET;

	memcpy(&request.gr_group, group, is_ipv4 ? sizeof(group->ipv4) : sizeof(group->ipv6));
	return setsockopt(fd, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, MCAST_JOIN_GROUP, &request,
			  sizeof(request)) == 0
		       ? 0
		       : -errno;
}

/*
 * With SO_REUSEPORT the sockets of one user share the group, and each gets every datagram. With
 * SO_REUSEADDR any user's program could join them and hear.
 */
int udp_group_open(struct udp_socket *sock, const struct rnic_gid *group, uint32_t netdev_index)
{
	static const struct socket_option shared = {SOL_SOCKET, SO_REUSEPORT, 1, true};
	bool is_ipv4 = rnic_gid_is_ipv4(group);
	union udp_address address;
	socklen_t address_bytes = udp_address_write(&address, group, RNIC_UDP_PORT, netdev_index);
	int fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int result;

	if (fd < 0)
		return -errno;
	result = is_ipv4 ? set_each_option(fd, ipv4_options, RNIC_COUNT_OF(ipv4_options))
			 : set_each_option(fd, ipv6_options, RNIC_COUNT_OF(ipv6_options));
	if (result == 0)
		result = set_each_option(fd, &shared, 1);
	set_each_option(fd, buffer_options, RNIC_COUNT_OF(buffer_options));
	if (result == 0 && bind(fd, &address.any, address_bytes) != 0)
		result = -errno;
	if (result == 0)
		result = join_group(fd, &address, netdev_index);
	if (result != 0) {
		close(fd);
		return result;
	}
	*sock = (struct udp_socket){.gid = *group, .fd = fd};
	return 0;
}

int udp_bind_error(char text[PORT_TEXT_BYTES], int error, const struct rnic_gid *gid,
		   uint16_t udp_port)
{
	char name[RNIC_GID_TEXT_BYTES];

	rnic_gid_text(gid, name);
	if (error == EADDRINUSE)
		return port_text_error(text, -error,
				       "UDP port %u on %s is taken by another program; ss -lnup "
				       "shows by which",
				       udp_port, name);
	if (error == EADDRNOTAVAIL)
		return port_text_error(text, -error, "%s is not an address of this machine", name);
	return port_text_error(text, -error, "cannot use UDP port %u on %s: %s", udp_port, name,
			       strerror(error));
}

void udp_socket_hear(struct udp_socket *sock, bool is_on)
{
	const bool is_ipv4 = rnic_gid_is_ipv4(&sock->gid);
	const int value = is_on;

	sock->hears = setsockopt(sock->fd, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
				 is_ipv4 ? IP_RECVERR : IPV6_RECVERR, &value, sizeof(value)) == 0 &&
		      is_on;
}

/* Wraps; 0 where the kernel does not say. */
static uint32_t socket_dropped(int fd)
{
	uint32_t values[SK_MEMINFO_VARS] = {0};
	socklen_t bytes = sizeof(values);

	return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, values, &bytes) == 0
		       ? values[SK_MEMINFO_DROPS]
		       : 0;
}

void udp_socket_count_dropped(struct udp_socket *sock, struct port_counters *counters)
{
	const uint32_t dropped = socket_dropped(sock->fd);

	counters->receive_dropped += dropped - sock->dropped;
	sock->dropped = dropped;
}

static int socket_open(struct udp_socket *sock, const struct rnic_gid *gid,
		       const struct udp_sockets *sockets, char text[PORT_TEXT_BYTES])
{
	union udp_address address;
	socklen_t address_bytes =
		udp_address_write(&address, gid, sockets->udp_port, sockets->netdev_index);
	int fd, result;

	fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return port_text_error(text, -errno, "cannot open a UDP socket: %s",
				       strerror(errno));
	result = udp_socket_set_options(fd, gid, sockets->netdev_index);
	if (result < 0) {
		port_text_error(text, result, "this kernel's UDP sockets lack an option: %s",
				strerror(-result));
		goto close_fd;
	}
	if (bind(fd, &address.any, address_bytes) != 0) {
		result = udp_bind_error(text, errno, gid, sockets->udp_port);
		goto close_fd;
	}
	*sock = (struct udp_socket){.gid = *gid, .fd = fd, .source_port = sockets->udp_port};
	udp_socket_hear(sock, true);
	return 0;

close_fd:
	close(fd);
	return result;
}

static void set_gro(int fd, bool is_on)
{
	const struct socket_option gro = {IPPROTO_UDP, UDP_GRO, is_on, false};

	set_each_option(fd, &gro, 1);
}

static int socket_take(struct udp_socket *sock, const struct rnic_gid *gid, int fd)
{
	union udp_address address;
	socklen_t address_bytes = sizeof(address);

	if (getsockname(fd, &address.any, &address_bytes) != 0)
		return -errno;
	*sock = (struct udp_socket){
		.gid = *gid,
		.fd = fd,
		.source_port = ntohs(rnic_gid_is_ipv4(gid) ? address.ipv4.sin_port
							   : address.ipv6.sin6_port),
		.dropped = socket_dropped(fd),
	};
	return 0;
}

static void slot_forget(struct udp_sockets *sockets, uint32_t index)
{
	sockets->sockets[index] = (struct udp_socket){.fd = -1};
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		*udp_sockets_sender(sockets, index, i) = (struct udp_socket){.fd = -1};
}

/*
 * A receive socket of a group would hear the errors about any member's datagrams, so it is deaf
 * unless it sends.
 */
static int slot_take(struct udp_sockets *sockets, uint32_t index, const struct rnic_gid *gid,
		     const struct udp_lane_sockets *given, char text[PORT_TEXT_BYTES])
{
	bool has_senders = false;
	int result = socket_take(&sockets->sockets[index], gid, given->receive_fd);

	for (uint32_t i = 0; result == 0 && i < RNIC_LANE_SEND_SOCKETS; i++) {
		if (given->send_fds[i] < 0)
			continue;
		result =
			socket_take(udp_sockets_sender(sockets, index, i), gid, given->send_fds[i]);
		has_senders = true;
	}
	if (result < 0) {
		struct udp_lane_sockets unusable = *given;

		udp_lane_sockets_close(&unusable);
		slot_forget(sockets, index);
		return port_text_error(text, result, "the UDP sockets given are unusable: %s",
				       strerror(-result));
	}
	udp_socket_hear(&sockets->sockets[index], !has_senders);
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		if (given->send_fds[i] >= 0)
			udp_socket_hear(udp_sockets_sender(sockets, index, i), true);
	return 0;
}

int udp_sockets_add(struct udp_sockets *sockets, uint32_t index, const struct rnic_gid *gid,
		    const struct udp_lane_sockets *given, char text[PORT_TEXT_BYTES])
{
	int result;

	assert(index < UDP_SOCKETS_MAX && sockets->sockets[index].fd < 0);
	if (given != NULL)
		result = slot_take(sockets, index, gid, given, text);
	else
		result = socket_open(&sockets->sockets[index], gid, sockets, text);
	if (result < 0)
		return result;
	set_gro(sockets->sockets[index].fd, sockets->is_gro_on);
	if (index >= sockets->count)
		sockets->count = index + 1;
	return 0;
}

void udp_sockets_set_netdev(struct udp_sockets *sockets, uint32_t netdev_index)
{
	sockets->netdev_index = netdev_index;
	neighbours_init(&sockets->neighbours, sockets->neighbours.ask, netdev_index);
}

void udp_sockets_remove(struct udp_sockets *sockets, uint32_t index)
{
	assert(index < sockets->count && sockets->sockets[index].fd >= 0);
	close(sockets->sockets[index].fd);
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		if (udp_sockets_sender(sockets, index, i)->fd >= 0)
			close(udp_sockets_sender(sockets, index, i)->fd);
	slot_forget(sockets, index);
}

int udp_sockets_open(struct udp_sockets *sockets, const struct udp_options *options,
		     uint64_t now_ns, char text[PORT_TEXT_BYTES])
{
	int result;

	assert(options->gid_count <= UDP_SOCKETS_MAX);
	*sockets = (struct udp_sockets){
		.netdev_index = options->netdev_index,
		.udp_port = options->udp_port == 0 ? RNIC_UDP_PORT : options->udp_port,
		.sink = options->sink,
	};
	for (uint32_t i = 0; i < UDP_DESCRIPTORS_MAX; i++)
		sockets->sockets[i].fd = -1;
	neighbours_init(&sockets->neighbours, options->ask_neighbours, options->netdev_index);
	segmentation_open(&sockets->segmentation, options->segmentation, now_ns);
	for (uint32_t i = 0; i < options->gid_count; i++) {
		if (rnic_gid_is_zero(&options->gids[i]))
			continue;
		result = udp_sockets_add(sockets, i, &options->gids[i], NULL, text);
		if (result < 0)
			goto close_sockets;
	}
	udp_sockets_segmentation(sockets, now_ns);
	return 0;

close_sockets:
	udp_sockets_close(sockets);
	return result;
}

void udp_sockets_close(struct udp_sockets *sockets)
{
	for (uint32_t i = 0; i < sockets->count; i++)
		if (sockets->sockets[i].fd >= 0)
			udp_sockets_remove(sockets, i);
	sockets->count = 0;
	segmentation_close(&sockets->segmentation);
}

struct udp_socket *udp_sockets_find(struct udp_sockets *sockets, const struct datagram *datagram)
{
	const struct rnic_gid *source = &datagram->addresses.source;

	for (uint32_t i = 0; i < sockets->count; i++) {
		struct udp_socket *sock = &sockets->sockets[i], *sender;

		if (sock->fd < 0 || !rnic_gid_equal(&sock->gid, source))
			continue;
		sender = udp_sockets_sender(sockets, i,
					    rnic_lane_send_socket(segment_dest_qpn(datagram)));
		return sender->fd >= 0 ? sender : sock;
	}
	return NULL;
}

bool udp_sockets_segmentation(struct udp_sockets *sockets, uint64_t now_ns)
{
	bool is_on = segmentation_is_on(&sockets->segmentation, now_ns);

	if (is_on != sockets->is_gro_on) {
		for (uint32_t i = 0; i < sockets->count; i++)
			if (sockets->sockets[i].fd >= 0)
				set_gro(sockets->sockets[i].fd, is_on);
		sockets->is_gro_on = is_on;
	}
	return is_on;
}

static uint8_t *control_append(uint8_t *at, int level, int type, const void *value, size_t bytes)
{
	struct cmsghdr header = {
		.cmsg_len = CMSG_LEN(bytes), .cmsg_level = level, .cmsg_type = type};

	memset(at, 0, CMSG_SPACE(bytes));
	memcpy(at, &header, sizeof(header));
	memcpy(at + CMSG_LEN(0), value, bytes);
	return at + CMSG_SPACE(bytes);
}

size_t udp_control_write(uint8_t control[UDP_CONTROL_BYTES], const struct rnic_addresses *addresses,
			 uint16_t segment_bytes)
{
	int traffic_class = addresses->traffic_class;
	int hop_limit = addresses->hop_limit;
	const bool is_ipv4 = rnic_gid_is_ipv4(&addresses->source);
	uint8_t *at = control;

	if (is_ipv4)
		at = control_append(at, IPPROTO_IP, IP_TOS, &traffic_class, sizeof(int));
	else
		at = control_append(at, IPPROTO_IPV6, IPV6_TCLASS, &traffic_class, sizeof(int));
	if (rnic_gid_is_multicast(&addresses->dest))
		at = control_append(at, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
				    is_ipv4 ? IP_TTL : IPV6_HOPLIMIT, &hop_limit, sizeof(int));
	if (segment_bytes != 0)
		at = control_append(at, IPPROTO_UDP, UDP_SEGMENT, &segment_bytes,
				    sizeof(segment_bytes));
	return (size_t)(at - control);
}

/* IP_TOS arrives as one byte, the others as an int. */
static int control_value(const struct cmsghdr *control)
{
	int value;

	if (control->cmsg_len < CMSG_LEN(sizeof(value)))
		return *CMSG_DATA(control);
	memcpy(&value, CMSG_DATA(control), sizeof(value));
	return value;
}

static void control_read(struct udp_arrival *arrival, const struct cmsghdr *control)
{
	int level = control->cmsg_level, type = control->cmsg_type;
	int value = control_value(control);

	if ((level == IPPROTO_IP && type == IP_TOS) ||
	    (level == IPPROTO_IPV6 && type == IPV6_TCLASS))
		arrival->addresses.traffic_class = (uint8_t)value;
	else if ((level == IPPROTO_IP && type == IP_TTL) ||
		 (level == IPPROTO_IPV6 && type == IPV6_HOPLIMIT))
		arrival->addresses.hop_limit = (uint8_t)value;
	else if (level == IPPROTO_UDP && type == UDP_GRO && value > 0)
		arrival->segment_bytes = (uint32_t)value;
}

int udp_arrival_read(struct udp_arrival *arrival, const struct udp_socket *sock,
		     struct msghdr *header, uint8_t *bytes, size_t length)
{
	const union udp_address *from = header->msg_name;
	struct cmsghdr *control;

	if ((header->msg_flags & MSG_TRUNC) != 0 || length > UDP_ARRIVAL_BYTES_MAX)
		return -EMSGSIZE;
	*arrival = (struct udp_arrival){
		.addresses.dest = sock->gid,
		.bytes = bytes,
		.length = (uint32_t)length,
		.segment_bytes = (uint32_t)length,
	};
	if (rnic_gid_is_ipv4(&sock->gid)) {
		arrival->addresses.source =
			rnic_gid_from_ipv4((const uint8_t *)&from->ipv4.sin_addr);
		arrival->addresses.source_port = ntohs(from->ipv4.sin_port);
	} else {
		arrival->addresses.source = rnic_gid_from_ipv6(from->ipv6.sin6_addr.s6_addr);
		arrival->addresses.source_port = ntohs(from->ipv6.sin6_port);
	}
	for (control = CMSG_FIRSTHDR(header); control != NULL;
	     control = CMSG_NXTHDR(header, control))
		control_read(arrival, control);
	return 0;
}

bool udp_arrival_next(struct udp_arrival *arrival, struct datagram *out, uint64_t now_ns)
{
	uint32_t left = arrival->length - arrival->offset;

	if (left == 0)
		return false;
	*out = (struct datagram){
		.addresses = arrival->addresses,
		.bytes = arrival->bytes + arrival->offset,
		.length = left < arrival->segment_bytes ? left : arrival->segment_bytes,
		.gso_batch_position = (uint16_t)(arrival->offset / arrival->segment_bytes),
		.received_ns = now_ns,
	};
	arrival->offset += out->length;
	return true;
}

uint32_t udp_arrivals_take(struct udp_arrival *arrivals, uint32_t *next, uint32_t count,
			   struct datagram *into, uint32_t max, struct port_counters *counters,
			   uint64_t now_ns)
{
	uint32_t taken = 0;

	while (*next < count && taken < max) {
		if (!udp_arrival_next(&arrivals[*next], &into[taken], now_ns)) {
			++*next;
			continue;
		}
		counters->received_bytes += into[taken++].length;
	}
	counters->received_datagrams += taken;
	/* Skips exhausted buffers: the owner would take one for pending work. */
	while (*next < count && arrivals[*next].offset == arrivals[*next].length)
		++*next;
	return taken;
}
