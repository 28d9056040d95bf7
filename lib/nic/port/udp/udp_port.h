/* SPDX-License-Identifier: MIT */
/*
 * The UDP port in its two kinds. Both behave alike (tests/unit/lib/nic/port/test_udp_ports.c runs
 * over both). One and the same thread must open, use and close a port.
 *
 * Each port has one descriptor to poll, for reading only: it also becomes readable when a full
 * socket has room again. With io_uring a wait on it may end early with EINTR. Outbound datagrams
 * may leave source_port and hop_limit at 0; these become the socket's port and
 * SEGMENT_HOP_LIMIT_DEFAULT. A packet to one host leaves with the hop limit of the kernel's route,
 * whatever its hop_limit says: `ip route ... hoplimit N` counts.
 */
#ifndef LIB_NIC_PORT_UDP_UDP_PORT_H
#define LIB_NIC_PORT_UDP_UDP_PORT_H

#include "lib/nic/port/udp/udp_sockets.h"

enum udp_port_kind { UDP_PORT_AUTO, UDP_PORT_URING, UDP_PORT_SOCKET };

/*
 * Opens a port of this kind; AUTO is io_uring where that works, else plain sockets. `text` is empty
 * on success, unless AUTO fell back: then it has the reason, for the log.
 *
 * Errors, with a sentence in `text`: those of udp_sockets_open(); for URING, -ENOSYS and -EPERM
 * when this kernel or container has no io_uring, -EOPNOTSUPP when it is too old; -ENOMEM.
 */
int port_open_udp(struct port **out, enum udp_port_kind kind, const struct udp_options *options,
		  uint64_t now_ns, char text[PORT_TEXT_BYTES]);

/* recvmmsg and sendmmsg. */
int udp_socket_open(struct port **out, const struct udp_options *options, uint64_t now_ns,
		    char text[PORT_TEXT_BYTES]);

/* Receives by io_uring; -ENOSYS in a build without it. */
int udp_uring_open(struct port **out, const struct udp_options *options, uint64_t now_ns,
		   char text[PORT_TEXT_BYTES]);

#endif
