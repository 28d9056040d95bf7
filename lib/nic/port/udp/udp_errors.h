/* SPDX-License-Identifier: MIT */
/*
 * What the network says of datagrams that were sent and did not arrive: ICMP, which a UDP socket
 * that wants to hear of it keeps in its error queue. It becomes port_report, for people; nothing
 * else follows from it, since whoever can guess addresses can send it.
 *
 * A socket tells of each error once more, by failing the next call, whichever that is: a send that
 * fails so has not been tried, and is to be repeated (udp_errors_explain()). So that a flood of
 * ICMP does not become one of failing calls, a socket hears UDP_ERRORS_MAX errors each time that
 * udp_errors_look() looks, and then nothing until the next time.
 */
#ifndef NIC_PORT_UDP_UDP_ERRORS_H
#define NIC_PORT_UDP_UDP_ERRORS_H

#include "port/udp/udp_sockets.h"

#define UDP_ERRORS_MAX	   8
#define UDP_ERRORS_LOOK_NS UINT64_C(100000000)

/*
 * Takes errors from the queues of all sockets to the reports of `port`, and has those that went
 * deaf hear again: every UDP_ERRORS_LOOK_NS, or when udp_errors_note() was called. To be called
 * before each receive.
 */
void udp_errors_look(struct udp_sockets *sockets, struct port *port, uint64_t now_ns);

/* Adds a report, unless one of the same kind about the same destination is there. */
void udp_errors_report(struct port *port, const struct port_report *report);

/* A call failed, or took less than it was given: there may be an error in a queue. */
void udp_errors_note(struct udp_sockets *sockets);

/*
 * Whether `error` (negative errno), with which sending by `sock` failed for the `failures`-th time
 * in a row, may be an error that the socket told of: the same is to be sent again. After two such
 * failures the socket is deaf, and soon errors are those of the send.
 */
bool udp_errors_explain(struct udp_sockets *sockets, struct udp_socket *sock, struct port *port,
			int error, uint32_t failures);

#endif
