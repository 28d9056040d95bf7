/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/udp_port.h"

#include "lib/nic/port/port_text.h"

#include <errno.h>
#include <stdio.h>

#ifndef RNIC_HAVE_URING
int udp_uring_open(struct port **out, const struct udp_options *options, uint64_t now_ns,
		   char text[PORT_TEXT_BYTES])
{
	(void)out;
	(void)options;
	(void)now_ns;
	return port_text_error(text, -ENOSYS, "io_uring was left out of this build");
}
#endif

/* Whether io_uring failed, and not an address or the UDP port. */
static bool is_uring_missing(int error)
{
	return error == -ENOSYS || error == -EPERM || error == -EOPNOTSUPP || error == -ENOMEM;
}

int port_open_udp(struct port **out, enum udp_port_kind kind, const struct udp_options *options,
		  uint64_t now_ns, char text[PORT_TEXT_BYTES])
{
	char socket_text[PORT_TEXT_BYTES];
	int result;

	text[0] = '\0';
	if (kind == UDP_PORT_SOCKET)
		return udp_socket_open(out, options, now_ns, text);
	result = udp_uring_open(out, options, now_ns, text);
	if (kind == UDP_PORT_URING || !is_uring_missing(result))
		return result;
	result = udp_socket_open(out, options, now_ns, socket_text);
	if (result < 0)
		snprintf(text, PORT_TEXT_BYTES, "%s", socket_text);
	return result;
}
