/* SPDX-License-Identifier: MIT */
/*
 * Puts outbound datagrams into sendmsg(2) headers, for both UDP ports: grouping, sealing, and
 * handling the datagrams that the network took, refused, or could not take now. A parameter gives a
 * batch of headers to the kernel, for tests; both ports use sendmmsg(2).
 *
 * A batch belongs to one socket; its messages are consecutive GSO batches of the offered datagrams.
 */
#ifndef LIB_NIC_PORT_UDP_UDP_BATCH_H
#define LIB_NIC_PORT_UDP_UDP_BATCH_H

#include "lib/nic/port/udp/udp_sockets.h"

#define UDP_BATCH_MESSAGES_MAX 16

struct udp_message {
	struct datagram *datagrams;
	uint32_t datagram_count;
	union udp_address address;
	uint8_t control[UDP_CONTROL_BYTES] __attribute__((aligned(__alignof__(struct cmsghdr))));
	struct iovec pieces[SEGMENT_GSO_BATCH_DATAGRAMS_MAX];
};

struct udp_batch {
	struct udp_socket *socket;
	uint32_t count;
	bool was_cut; /* a call took fewer messages than offered, without a reason */
	struct mmsghdr headers[UDP_BATCH_MESSAGES_MAX];
	struct udp_message messages[UDP_BATCH_MESSAGES_MAX];
};

/*
 * Sends the batch's messages in order up to the first that the kernel does not take. Returns the
 * number of taken messages; when not all, `*error` is the negative errno of the first refused one.
 */
typedef uint32_t udp_batch_send(struct port *port, struct udp_batch *batch, int *error);

udp_batch_send udp_batch_sendmmsg; /* by system calls that do not wait */

/*
 * Implements port_ops.transmit, with `batch` as working memory. When it stops early, the socket
 * concerned has `is_blocked` set; the code that waits for the socket clears the flag.
 */
uint32_t udp_batch_transmit(struct udp_batch *batch, struct udp_sockets *sockets, struct port *port,
			    udp_batch_send *send, struct datagram *datagrams, uint32_t count,
			    uint64_t now_ns);

#endif
