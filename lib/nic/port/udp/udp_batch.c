/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/udp/udp_batch.h"

#include "lib/nic/port/udp/udp_errors.h"
#include "proto/wire/gid.h"

#include <errno.h>

/* The time that a socket is full before the port looks for the cause. */
#define FULL_NS UINT64_C(10000000)

static void message_build(struct udp_message *message, struct msghdr *header,
			  const struct udp_sockets *sockets)
{
	const struct datagram *datagrams = message->datagrams;
	const struct rnic_addresses *addresses = &datagrams[0].addresses;
	uint32_t count = message->datagram_count;
	uint16_t segment_bytes = (uint16_t)(datagrams[0].length + RNIC_ICRC_BYTES);

	for (uint32_t i = 0; i < count; i++)
		message->pieces[i] =
			(struct iovec){datagrams[i].bytes, datagrams[i].length + RNIC_ICRC_BYTES};
	*header = (struct msghdr){
		.msg_name = &message->address,
		.msg_namelen = udp_address_write(&message->address, &addresses->dest,
						 sockets->udp_port, sockets->netdev_index),
		.msg_iov = message->pieces,
		.msg_iovlen = count,
		.msg_control = message->control,
		.msg_controllen = udp_control_write(message->control, addresses,
						    count > 1 ? segment_bytes : 0),
	};
}

/* The number of the first of `count` datagrams, at least one, for one message. */
static uint32_t batch_gso_batch_length(const struct udp_sockets *sockets, uint64_t now_ns,
				       const struct datagram *datagrams, uint32_t count)
{
	const struct segmentation *segmentation = &sockets->segmentation;

	if (!segmentation->is_on ||
	    segmentation_is_avoided(segmentation, &datagrams[0].addresses.dest, now_ns))
		return 1;
	return segment_gso_batch_length(datagrams, count);
}

/*
 * Fills the batch from the front of `datagrams`, of which the first `single_count` go one by one;
 * the batch stays empty when the first one can never be sent.
 */
static void batch_fill(struct udp_batch *batch, struct udp_sockets *sockets, uint64_t now_ns,
		       struct datagram *datagrams, uint32_t count, uint32_t single_count)
{
	uint32_t offset = 0;

	batch->count = 0;
	batch->socket = udp_sockets_find(sockets, &datagrams[0]);
	if (batch->socket == NULL)
		return;
	while (offset < count && batch->count < UDP_BATCH_MESSAGES_MAX) {
		struct udp_message *message = &batch->messages[batch->count];
		const struct rnic_addresses *addresses = &datagrams[offset].addresses;

		if ((offset > 0 && neighbours_has(&sockets->neighbours, &addresses->dest)) ||
		    (offset > 0 &&
		     udp_sockets_find(sockets, datagrams + offset) != batch->socket) ||
		    rnic_gid_is_ipv4(&addresses->source) != rnic_gid_is_ipv4(&addresses->dest))
			break;
		message->datagrams = datagrams + offset;
		message->datagram_count =
			offset < single_count
				? 1
				: batch_gso_batch_length(sockets, now_ns, datagrams + offset,
							 count - offset);
		segment_seal(message->datagrams, message->datagram_count,
			     batch->socket->source_port);
		message_build(message, &batch->headers[batch->count].msg_hdr, sockets);
		offset += message->datagram_count;
		batch->count++;
	}
}

/* Counts and reports the first `sent` messages and returns the number of their datagrams. */
static uint32_t batch_settle(struct udp_batch *batch, uint32_t sent, struct udp_sockets *sockets,
			     struct port_counters *counters, uint64_t now_ns)
{
	uint32_t datagram_count = 0;

	for (uint32_t i = 0; i < batch->count; i++) {
		struct udp_message *message = &batch->messages[i];

		if (i >= sent) {
			segment_unseal(message->datagrams, message->datagram_count);
			continue;
		}
		for (uint32_t j = 0; j < message->datagram_count; j++)
			counters->sent_bytes += message->pieces[j].iov_len;
		datagram_count += message->datagram_count;
		segment_report(sockets->sink, message->datagrams, message->datagram_count, now_ns);
	}
	counters->sent_datagrams += datagram_count;
	return datagram_count;
}

uint32_t udp_batch_sendmmsg(struct port *port, struct udp_batch *batch, int *error)
{
	uint32_t sent = 0;

	batch->was_cut = false;
	while (sent < batch->count) {
		int count = sendmmsg(batch->socket->fd, batch->headers + sent, batch->count - sent,
				     MSG_DONTWAIT);

		port->counters.send_calls++;
		if (count < 0 && errno == ENOBUFS) {
			count = 1; /* no room in the interface's queue: lost, as on a wire */
		} else if (count < 0) {
			*error = -errno;
			break;
		}
		sent += (uint32_t)count;
		batch->was_cut |= sent < batch->count;
	}
	return sent;
}

/*
 * Whether the kernel may take the packets of `message`, or some, one by one. EIO: the route leads
 * through IPsec or a device without checksum offload, and the kernel will not cut. EINVAL and
 * EMSGSIZE also come for routes that take no packet, or none of this length.
 */
static bool may_be_taken_apart(int error, const struct udp_message *message)
{
	return message->datagram_count > 1 &&
	       (error == -EIO || error == -EINVAL || error == -EOPNOTSUPP || error == -EMSGSIZE);
}

/* Counts `count` datagrams from `first` on, which can never be sent. */
static void udp_batch_refuse(struct port *port, const struct datagram *first, uint32_t count,
			     int error)
{
	port->counters.send_refused += count;
	port->refusal = (struct port_refusal){
		.error = error,
		.bytes = first->length + RNIC_ICRC_BYTES,
		.dest = first->addresses.dest,
	};
}

/* Whether the datagram is lost because its neighbour does not answer. */
static bool is_held_back(struct udp_sockets *sockets, struct port *port,
			 const struct datagram *datagram, uint64_t now_ns)
{
	struct neighbours *neighbours = &sockets->neighbours;
	const struct rnic_addresses *addresses = &datagram->addresses;

	if (neighbours->count == 0 || !neighbours_try_hold(neighbours, &addresses->dest, now_ns))
		return false;
	udp_errors_report(port, &(struct port_report){.error = -EHOSTUNREACH,
						      .dest = addresses->dest,
						      .from = addresses->source});
	port->counters.send_refused++;
	return true;
}

/*
 * A device sends the content of a buffer within moments, so a buffer that stays full has a cause.
 */
static void note_full(struct udp_sockets *sockets, struct udp_socket *sock, uint64_t now_ns)
{
	sock->is_blocked = true;
	if (sock->full_since_ns == 0)
		sock->full_since_ns = now_ns;
	if (now_ns - sock->full_since_ns >= FULL_NS)
		neighbours_look(&sockets->neighbours, now_ns);
}

uint32_t udp_batch_transmit(struct udp_batch *batch, struct udp_sockets *sockets, struct port *port,
			    udp_batch_send *send, struct datagram *datagrams, uint32_t count,
			    uint64_t now_ns)
{
	uint32_t single_end =
		0; /* datagrams up to here go one by one: the kernel refused their GSO batch */
	uint32_t taken = 0;
	uint32_t failures = 0; /* in a row, to send the next datagram */
	bool is_trial = false; /* it is the first of such a GSO batch */

	udp_sockets_segmentation(sockets, now_ns);
	if (sockets->neighbours.count > 0)
		neighbours_look(&sockets->neighbours, now_ns);
	while (taken < count) {
		int error = 0;
		uint32_t sent;

		if (is_held_back(sockets, port, &datagrams[taken], now_ns)) {
			taken++;
			continue;
		}
		batch_fill(batch, sockets, now_ns, datagrams + taken, count - taken,
			   single_end > taken ? single_end - taken : 0);
		if (batch->count == 0) {
			udp_batch_refuse(port, datagrams + taken, 1, -EADDRNOTAVAIL);
			taken++;
			continue;
		}
		sent = send(port, batch, &error);
		if (batch->was_cut && error != -EAGAIN)
			udp_errors_note(sockets);
		if (sent > 0)
			batch->socket->full_since_ns = 0;
		if (is_trial && sent > 0)
			segmentation_avoid(&sockets->segmentation, &datagrams[taken].addresses.dest,
					   now_ns);
		is_trial = is_trial && sent == 0;
		failures = sent == 0 ? failures + 1 : 1;
		taken += batch_settle(batch, sent, sockets, &port->counters, now_ns);
		if (sent == batch->count)
			continue;
		if (error == -EAGAIN) {
			note_full(sockets, batch->socket, now_ns);
			break;
		}
		if (udp_errors_explain(sockets, batch->socket, port, error, failures))
			continue;
		is_trial = false;
		if (may_be_taken_apart(error, &batch->messages[sent])) {
			single_end = taken + batch->messages[sent].datagram_count;
			is_trial = true;
			continue;
		}
		udp_batch_refuse(port, datagrams + taken, batch->messages[sent].datagram_count,
				 error);
		taken += batch->messages[sent].datagram_count;
		failures = 0;
	}
	return taken;
}
