/* SPDX-License-Identifier: MIT */
/* Datagrams out and in, over the queue pair and in envelopes over UDP. */
#include "lib/dropin/rdmacm/rdma_translate.h"
#include "lib/dropin/rsockets/rsocket_datagram.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define ENVELOPES_AT_ONCE 16

/*
 * After so long this side asks the peer again for its number. Another program may have the peer's
 * address by now, and a sender to the old number would never know.
 */
#define QPN_VALID_NS ((int64_t)5 * 1000000000)

/* Room for the one control message that names the address which a datagram goes from. */
union control {
	struct cmsghdr header;
	uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

static ssize_t rsocket_mailbox_total_bytes(const struct msghdr *message)
{
	size_t total = 0;

	for (size_t i = 0; i < message->msg_iovlen; i++) {
		if (message->msg_iov[i].iov_len > (size_t)SSIZE_MAX - total)
			return -EINVAL;
		total += message->msg_iov[i].iov_len;
	}
	return (ssize_t)total;
}

static void gather(const struct msghdr *message, uint8_t *to)
{
	for (size_t i = 0; i < message->msg_iovlen; i++) {
		if (message->msg_iov[i].iov_len > 0)
			memcpy(to, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
		to += message->msg_iov[i].iov_len;
	}
}

static void rsocket_mailbox_scatter(const uint8_t *from, size_t bytes, const struct msghdr *message)
{
	for (size_t i = 0; i < message->msg_iovlen && bytes > 0; i++) {
		const size_t now = MIN(bytes, message->msg_iov[i].iov_len);

		if (now > 0)
			memcpy(message->msg_iov[i].iov_base, from, now);
		from += now;
		bytes -= now;
	}
}

/* --- UDP ------------------------------------------------------------------------------------- */

/* The peer answers to the source address of a datagram, so that address must be our device's. */
static void set_source(struct msghdr *message, union control *control,
		       const struct sockaddr_storage *source)
{
	struct cmsghdr *header = &control->header;

	memset(control, 0, sizeof(*control));
	message->msg_control = control;
	if (((const struct sockaddr *)message->msg_name)->sa_family == AF_INET6) {
		struct sockaddr_storage mapped = *source;
		struct in6_pktinfo info = {0};

		rnic_rsocket_map(&mapped, AF_INET6);
		info.ipi6_addr = ((const struct sockaddr_in6 *)&mapped)->sin6_addr;
		message->msg_controllen = CMSG_SPACE(sizeof(info));
		header->cmsg_level = IPPROTO_IPV6;
		header->cmsg_type = IPV6_PKTINFO;
		header->cmsg_len = CMSG_LEN(sizeof(info));
		memcpy(CMSG_DATA(header), &info, sizeof(info));
	} else {
		const struct in_pktinfo info = {
			.ipi_spec_dst = ((const struct sockaddr_in *)source)->sin_addr,
		};

		message->msg_controllen = CMSG_SPACE(sizeof(info));
		header->cmsg_level = IPPROTO_IP;
		header->cmsg_type = IP_PKTINFO;
		header->cmsg_len = CMSG_LEN(sizeof(info));
		memcpy(CMSG_DATA(header), &info, sizeof(info));
	}
}

static int send_envelope(struct rnic_rsocket_datagram *datagram,
			 const struct rnic_rsocket_peer *peer, enum rnic_rsocket_envelope_kind kind,
			 const uint8_t *payload, size_t bytes, int flags)
{
	const struct rnic_rsocket_envelope envelope = {
		.kind = kind,
		.qpn = datagram->id->qp->qp_num,
		.address = rnic_rsocket_address_of(&peer->source),
	};
	struct sockaddr_storage to = peer->address;
	uint8_t header[RNIC_RSOCKET_ENVELOPE_MAX_BYTES];
	struct iovec pieces[2] = {
		{.iov_base = header},
		{.iov_base = (void *)payload, .iov_len = bytes},
	};
	struct msghdr message = {.msg_name = &to, .msg_iov = pieces, .msg_iovlen = 2};
	union control control;

	pieces[0].iov_len = rnic_rsocket_envelope_encode(&envelope, header);
	rnic_rsocket_map(&to, datagram->rs.domain);
	message.msg_namelen = rnic_cma_sockaddr_bytes((const struct sockaddr *)&to);
	set_source(&message, &control, &peer->source);
	return sendmsg(datagram->rs.fd, &message, flags & (MSG_DONTWAIT | MSG_NOSIGNAL)) < 0
		       ? -errno
		       : 0;
}

static void store_copy(struct rnic_rsocket_datagram *datagram, const struct sockaddr_storage *from,
		       const uint8_t *payload, uint32_t bytes)
{
	struct rnic_rsocket_parcel parcel = {.from = *from, .bytes = bytes, .slot = -1};

	parcel.allocated = malloc(bytes + 1);
	if (parcel.allocated == NULL)
		return;
	memcpy(parcel.allocated, payload, bytes);
	parcel.payload = parcel.allocated;
	if (!rnic_rsocket_store(datagram, &parcel)) {
		datagram->rs.drops++;
		free(parcel.allocated);
	}
}

/* A sender of envelopes does not know our queue pair, and tells us of its own. */
static void take_envelope(struct rnic_rsocket_datagram *datagram, struct sockaddr_storage *from,
			  const uint8_t *data, uint32_t bytes)
{
	struct rnic_rsocket_envelope envelope;
	struct rnic_rsocket_peer *peer;
	int header = rnic_rsocket_envelope_decode(data, bytes, &envelope);

	rnic_rsocket_unmap(from);
	if (header < 0 || rnic_rsocket_find_peer(datagram, from, &peer) != 0)
		return;
	peer->qpn = envelope.qpn;
	peer->heard_ns = rnic_rsocket_now_ns();
	if (envelope.kind != RNIC_RSOCKET_ENVELOPE_DATA)
		return;
	/* If the answer is lost, the next envelope brings another one. */
	send_envelope(datagram, peer, RNIC_RSOCKET_ENVELOPE_REPLY, NULL, 0, MSG_DONTWAIT);
	store_copy(datagram, from, data + header, bytes - (uint32_t)header);
}

bool rnic_rsocket_take_envelopes(struct rnic_rsocket_datagram *datagram)
{
	bool has_any = false;

	for (int i = 0; i < ENVELOPES_AT_ONCE; i++) {
		uint8_t data[RNIC_RSOCKET_DATAGRAM_BYTES];
		struct sockaddr_storage from = {0};
		socklen_t from_bytes = sizeof(from);
		const ssize_t bytes =
			recvfrom(datagram->rs.fd, data, sizeof(data), MSG_DONTWAIT | MSG_TRUNC,
				 (struct sockaddr *)&from, &from_bytes);

		if (bytes < 0)
			break;
		has_any = true;
		if ((size_t)bytes <= sizeof(data))
			take_envelope(datagram, &from, data, (uint32_t)bytes);
	}
	return has_any;
}

/* --- sending --------------------------------------------------------------------------------- */

static bool rsocket_mailbox_can_send(const struct rnic_rsocket *rs)
{
	return rnic_rsocket_datagram(rs)->free_count > 0;
}

static int send_packet(struct rnic_rsocket_datagram *datagram, const struct rnic_rsocket_peer *peer,
		       const struct msghdr *message, size_t bytes)
{
	const struct rnic_rsocket_label label = {
		.port = rnic_rsocket_port_of(&peer->source),
		.address = rnic_rsocket_address_of(&peer->source),
	};
	const uint32_t slot = datagram->free_slots[datagram->free_count - 1];
	uint8_t *at = datagram->send_slots + (size_t)slot * RNIC_RSOCKET_DATAGRAM_BYTES;
	const size_t header = rnic_rsocket_label_encode(&label, at);
	int error;

	gather(message, at + header);
	error = rnic_rsocket_ud_send(datagram, peer, slot, (uint32_t)(header + bytes));
	if (error == 0)
		datagram->free_count--;
	return error;
}

static bool is_known(const struct rnic_rsocket_peer *peer)
{
	return peer->heard_ns != 0 && rnic_rsocket_now_ns() - peer->heard_ns < QPN_VALID_NS;
}

static bool fits_packet(const struct rnic_rsocket_datagram *datagram, size_t bytes)
{
	return bytes + RNIC_RSOCKET_LABEL_MAX_BYTES <= datagram->packet_bytes;
}

/* -EAGAIN, -EINTR: there is no room for the packet yet. */
static int send_to(struct rnic_rsocket_datagram *datagram, const struct sockaddr_storage *to,
		   const struct msghdr *message, size_t bytes, int flags)
{
	struct rnic_rsocket *rs = &datagram->rs;
	const int64_t deadline = rnic_rsocket_deadline(rs, flags, rs->options.send_timeout_ns);
	uint8_t copy[RNIC_RSOCKET_DATAGRAM_BYTES];
	struct rnic_rsocket_peer *peer;
	int error = rnic_rsocket_find_peer(datagram, to, &peer);

	if (error == 0 && !is_known(peer)) {
		rs->kind->progress(rs);
		error = rnic_rsocket_find_peer(datagram, to, &peer);
	}
	/* While this call waits, and finds the peer anew, others send, and others become peers. */
	while (error == 0 && is_known(peer) && fits_packet(datagram, bytes)) {
		error = rnic_rsocket_await(rs, rsocket_mailbox_can_send, deadline);
		if (error == 0)
			error = rnic_rsocket_find_peer(datagram, to, &peer);
		if (error == 0 && is_known(peer) && rsocket_mailbox_can_send(rs))
			return send_packet(datagram, peer, message, bytes);
	}
	if (error != 0)
		return error;
	gather(message, copy);
	return send_envelope(datagram, peer, RNIC_RSOCKET_ENVELOPE_DATA, copy, bytes,
			     deadline == 0 ? MSG_DONTWAIT | MSG_NOSIGNAL : MSG_NOSIGNAL);
}

static int destination(const struct rnic_rsocket_datagram *datagram, const struct msghdr *message,
		       struct sockaddr_storage *to)
{
	*to = datagram->connected;
	if (message->msg_name != NULL && message->msg_namelen > 0) {
		memset(to, 0, sizeof(*to));
		if (message->msg_namelen > sizeof(*to))
			return -EINVAL;
		memcpy(to, message->msg_name, message->msg_namelen);
		if (rnic_cma_sockaddr_bytes((struct sockaddr *)to) == 0)
			return -EAFNOSUPPORT;
		if (message->msg_namelen < rnic_cma_sockaddr_bytes((struct sockaddr *)to))
			return -EINVAL;
	}
	rnic_rsocket_unmap(to);
	return to->ss_family != AF_UNSPEC ? 0 : -EDESTADDRREQ;
}

ssize_t rnic_rsocket_datagram_send(struct rnic_rsocket *rs, const struct msghdr *message, int flags)
{
	struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);
	const ssize_t bytes = rsocket_mailbox_total_bytes(message);
	struct sockaddr_storage to;
	int error;

	if (bytes < 0)
		return bytes;
	if ((size_t)bytes > RNIC_RSOCKET_DATAGRAM_BYTES - RNIC_RSOCKET_ENVELOPE_MAX_BYTES)
		return -EMSGSIZE;
	rnic_rsocket_lock(rs);
	error = destination(datagram, message, &to);
	if (error == 0)
		error = send_to(datagram, &to, message, (size_t)bytes, flags);
	rnic_rsocket_unlock(rs);
	return error == 0 ? bytes : error;
}

/* --- receiving ------------------------------------------------------------------------------- */

bool rnic_rsocket_store(struct rnic_rsocket_datagram *datagram,
			const struct rnic_rsocket_parcel *parcel)
{
	if (datagram->connected.ss_family != AF_UNSPEC &&
	    !rnic_rsocket_is_same(&datagram->connected, &parcel->from))
		return false;
	if (datagram->parcel_room == 0) {
		datagram->parcels = calloc(datagram->receive_count, sizeof(*datagram->parcels));
		if (datagram->parcels == NULL)
			return false;
		datagram->parcel_room = datagram->receive_count;
	}
	if (datagram->parcel_count == datagram->parcel_room)
		return false;
	datagram->parcels[(datagram->parcel_head + datagram->parcel_count) %
			  datagram->parcel_room] = *parcel;
	datagram->parcel_count++;
	return true;
}

static void drop_first(struct rnic_rsocket_datagram *datagram)
{
	const struct rnic_rsocket_parcel *parcel = &datagram->parcels[datagram->parcel_head];

	if (parcel->slot >= 0)
		rnic_rsocket_ud_post_receive(datagram, (uint32_t)parcel->slot);
	free(parcel->allocated);
	datagram->parcel_head = (datagram->parcel_head + 1) % datagram->parcel_room;
	datagram->parcel_count--;
}

static void give_sender(const struct rnic_rsocket_datagram *datagram,
			const struct sockaddr_storage *from, struct msghdr *message)
{
	struct sockaddr_storage sender = *from;
	socklen_t bytes;

	rnic_rsocket_map(&sender, datagram->rs.domain);
	bytes = rnic_cma_sockaddr_bytes((struct sockaddr *)&sender);
	if (message->msg_name != NULL)
		memcpy(message->msg_name, &sender, MIN(message->msg_namelen, bytes));
	message->msg_namelen = bytes;
}

static ssize_t receive_first(struct rnic_rsocket_datagram *datagram, struct msghdr *message,
			     size_t room, int flags)
{
	const struct rnic_rsocket_parcel *parcel = &datagram->parcels[datagram->parcel_head];
	const uint32_t bytes = parcel->bytes;

	rsocket_mailbox_scatter(parcel->payload, bytes, message);
	give_sender(datagram, &parcel->from, message);
	message->msg_controllen = 0;
	message->msg_flags = bytes > room ? MSG_TRUNC : 0;
	if (!(flags & MSG_PEEK))
		drop_first(datagram);
	return bytes > room && !(flags & MSG_TRUNC) ? (ssize_t)room : (ssize_t)bytes;
}

static bool has_parcel(const struct rnic_rsocket *rs)
{
	return rnic_rsocket_datagram(rs)->parcel_count > 0 || rs->error != 0;
}

ssize_t rnic_rsocket_datagram_receive(struct rnic_rsocket *rs, struct msghdr *message, int flags)
{
	struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);
	ssize_t result = rsocket_mailbox_total_bytes(message);
	const size_t room = (size_t)result;
	int error = 0;

	if (result < 0)
		return result;
	rnic_rsocket_lock(rs);
	if (!has_parcel(rs))
		error = rnic_rsocket_await(
			rs, has_parcel,
			rnic_rsocket_deadline(rs, flags, rs->options.receive_timeout_ns));
	if (error != 0) {
		result = error;
	} else if (datagram->parcel_count > 0) {
		result = receive_first(datagram, message, room, flags);
	} else {
		result = -rs->error;
		rs->error = 0;
	}
	rnic_rsocket_unlock(rs);
	return result;
}
