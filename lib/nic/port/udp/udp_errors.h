/* SPDX-License-Identifier: MIT */
/*
 * The network's reports about datagrams that did not arrive: ICMP, which a UDP socket keeps in its
 * error queue on request. A report becomes port_report, for people; nothing else follows from it,
 * because anybody who can guess addresses can send one.
 *
 * A socket reports each error once more, by failing the next call of any kind. A send that fails so
 * was not tried, and the caller must repeat it (udp_errors_explain()). A flood of ICMP must not
 * become a flood of failing calls: between two looks of udp_errors_look() a socket collects
 * UDP_ERRORS_MAX errors, and then none until the next look.
 */
#ifndef LIB_NIC_PORT_UDP_UDP_ERRORS_H
#define LIB_NIC_PORT_UDP_UDP_ERRORS_H

#include "lib/nic/port/udp/udp_sockets.h"

#define UDP_ERRORS_MAX	   8
#define UDP_ERRORS_LOOK_NS UINT64_C(100000000)

/*
 * Moves errors from the queues of all sockets to the reports of `port`, and makes sockets that
 * stopped collect again: every UDP_ERRORS_LOOK_NS, or after udp_errors_note(). Counts what was
 * dropped, too, every UDP_ERRORS_LOOK_NS. Call it before each receive.
 */
void udp_errors_look(struct udp_sockets *sockets, struct port *port, uint64_t now_ns);

/* Adds a report, unless there is one of the same kind about the same destination. */
void udp_errors_report(struct port *port, const struct port_report *report);

/* A call failed, or took fewer datagrams than offered: a queue may have an error. */
void udp_errors_note(struct udp_sockets *sockets);

/*
 * Sending by `sock` failed for the `failures`-th time in a row, with `error` (negative errno).
 * Whether `error` may be a report of the network: the caller then repeats the send. After two such
 * failures the socket stops collecting, and soon errors are those of the send.
 */
bool udp_errors_explain(struct udp_sockets *sockets, struct udp_socket *sock, struct port *port,
			int error, uint32_t failures);

#endif
