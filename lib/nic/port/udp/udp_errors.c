/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/udp_errors.h"

#include "proto/wire/gid.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>

/* Room for struct sock_extended_err and an address behind it, and for a TTL or the like. */
#define CONTROL_BYTES 256

/* Errors that other processors may still have added when the socket stopped collecting them. */
#define LATE_ERRORS_MAX 8

/* Stopping clears the queue, but not the error that the next call would fail with. */
static void deafen(struct udp_socket *sock)
{
	int error;
	socklen_t error_bytes = sizeof(error);

	udp_socket_hear(sock, false);
	getsockopt(sock->fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes);
	sock->late_errors = LATE_ERRORS_MAX;
}

/* RFC 792 and RFC 1812, 5.2.7.1; for other codes the kernel's errno says as much. */
static int error_of_ipv4(const struct sock_extended_err *extended)
{
	if (extended->ee_type == ICMP_TIME_EXCEEDED)
		return -ETIME;
	if (extended->ee_type != ICMP_DEST_UNREACH)
		return -(int)extended->ee_errno;
	switch (extended->ee_code) {
	case ICMP_NET_ANO:
	case ICMP_HOST_ANO:
	case ICMP_PKT_FILTERED:
		return -EACCES;
	default:
		return -(int)extended->ee_errno;
	}
}

/* RFC 4443. */
static int error_of_ipv6(const struct sock_extended_err *extended)
{
	if (extended->ee_type == ICMP6_TIME_EXCEEDED)
		return -ETIME;
	if (extended->ee_type == ICMP6_DST_UNREACH &&
	    extended->ee_code == ICMP6_DST_UNREACH_NOROUTE)
		return -ENETUNREACH;
	return -(int)extended->ee_errno;
}

static struct rnic_gid gid_of_address(const union udp_address *address)
{
	static const struct rnic_gid none;

	switch (address->any.sa_family) {
	case AF_INET:
		return rnic_gid_from_ipv4((const uint8_t *)&address->ipv4.sin_addr);
	case AF_INET6:
		return rnic_gid_from_ipv6(address->ipv6.sin6_addr.s6_addr);
	default:
		return none;
	}
}

void udp_errors_report(struct port *port, const struct port_report *report)
{
	for (uint32_t i = 0; i < port->report_count; i++) {
		const struct port_report *known = &port->reports[i];

		if (known->error == report->error && rnic_gid_equal(&known->dest, &report->dest))
			return;
	}
	if (port->report_count < PORT_REPORTS_MAX)
		port->reports[port->report_count++] = *report;
}

/*
 * A refusal by the kernel itself has no origin in the network: the sender got it as its own error.
 */
static void udp_errors_read_error(struct port *port, const union udp_address *dest,
				  const struct cmsghdr *control)
{
	struct sock_extended_err extended;
	union udp_address from = {.any = {.sa_family = AF_UNSPEC}};
	size_t bytes = control->cmsg_len - CMSG_LEN(0);
	struct port_report report = {.dest = gid_of_address(dest)};

	if (control->cmsg_len < CMSG_LEN(sizeof(extended)))
		return;
	memcpy(&extended, CMSG_DATA(control), sizeof(extended));
	bytes -= sizeof(extended);
	memcpy(&from, CMSG_DATA(control) + sizeof(extended),
	       bytes < sizeof(from) ? bytes : sizeof(from));
	report.from = gid_of_address(&from);
	if (extended.ee_origin == SO_EE_ORIGIN_ICMP)
		report.error = error_of_ipv4(&extended);
	else if (extended.ee_origin == SO_EE_ORIGIN_ICMP6)
		report.error = error_of_ipv6(&extended);
	if (report.error == -EMSGSIZE)
		report.mtu_bytes = extended.ee_info;
	if (report.error != 0 && !rnic_gid_is_zero(&report.dest))
		udp_errors_report(port, &report);
}

/* Takes one error from the queue of `sock`; false when there is none. */
static bool take_one(const struct udp_socket *sock, struct port *port)
{
	uint8_t space[CONTROL_BYTES] __attribute__((aligned(__alignof__(struct cmsghdr))));
	union udp_address dest = {.any = {.sa_family = AF_UNSPEC}};
	struct msghdr header = {
		.msg_name = &dest,
		.msg_namelen = sizeof(dest),
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	struct cmsghdr *control;

	if (recvmsg(sock->fd, &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (control = CMSG_FIRSTHDR(&header); control != NULL;
	     control = CMSG_NXTHDR(&header, control))
		if ((control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_RECVERR) ||
		    (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_RECVERR))
			udp_errors_read_error(port, &dest, control);
	return true;
}

static void take_all(struct udp_socket *sock, struct port *port)
{
	while (sock->hears && take_one(sock, port))
		if (++sock->heard >= UDP_ERRORS_MAX)
			deafen(sock);
}

static void socket_look(struct udp_socket *sock, struct port *port, bool is_time)
{
	if (is_time && !sock->hears)
		udp_socket_hear(sock, true);
	if (is_time)
		sock->heard = 0;
	take_all(sock, port);
}

/* Of a slot with send sockets, those hear; else the slot's one socket does. */
static void slot_look(struct udp_sockets *sockets, uint32_t index, struct port *port, bool is_time)
{
	bool has_senders = false;

	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++) {
		struct udp_socket *sender = udp_sockets_sender(sockets, index, i);

		if (sender->fd < 0)
			continue;
		has_senders = true;
		socket_look(sender, port, is_time);
	}
	if (!has_senders && sockets->sockets[index].fd >= 0)
		socket_look(&sockets->sockets[index], port, is_time);
}

void udp_errors_look(struct udp_sockets *sockets, struct port *port, uint64_t now_ns)
{
	bool is_time = now_ns >= sockets->errors_look_ns;

	if (!is_time && !sockets->has_errors)
		return;
	sockets->has_errors = false;
	for (uint32_t i = 0; i < sockets->count; i++) {
		slot_look(sockets, i, port, is_time);
		if (is_time && sockets->sockets[i].fd >= 0)
			udp_socket_count_dropped(&sockets->sockets[i], &port->counters);
	}
	if (is_time)
		sockets->errors_look_ns = now_ns + UDP_ERRORS_LOOK_NS;
}

void udp_errors_note(struct udp_sockets *sockets)
{
	sockets->has_errors = true;
}

/* The kernel's errno for ICMP (its tables icmp_err_convert and the like for IPv6). */
static bool is_from_network(int error)
{
	switch (error) {
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
	case -EHOSTDOWN:
	case -ENETUNREACH:
	case -ENONET:
	case -EMSGSIZE:
	case -EACCES:
	case -ENOPROTOOPT:
	case -EOPNOTSUPP:
	case -EPROTO:
		return true;
	default:
		return false;
	}
}

bool udp_errors_explain(struct udp_sockets *sockets, struct udp_socket *sock, struct port *port,
			int error, uint32_t failures)
{
	if (!is_from_network(error))
		return false;
	if (!sock->hears)
		return sock->late_errors > 0 && sock->late_errors-- > 0;
	sockets->has_errors = true;
	take_all(sock, port);
	if (failures > 1 && sock->hears)
		deafen(sock);
	return true;
}
