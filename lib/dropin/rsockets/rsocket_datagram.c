/* SPDX-License-Identifier: MIT */
/*
 * Datagram sockets as a kind of rsocket: making and ending them, and the descriptors for their
 * poll().
 */
#include "lib/dropin/rsockets/rsocket_datagram.h"

#include "lib/dropin/rdmacm/rdma_translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sends are complete when they have left; no peer confirms them. */
#define CLOSE_NS ((int64_t)1000000000)

/* --- what there is to wait for --------------------------------------------------------------- */

static void rsocket_datagram_progress(struct rnic_rsocket *rs)
{
	struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);

	rnic_rsocket_take_packets(datagram);
	/*
	 * Looking for envelopes costs a system call each time, so the socket does not look while
	 * packets come in.
	 */
	if (!datagram->has_news && datagram->is_bound)
		datagram->has_news = rnic_rsocket_take_envelopes(datagram);
	if (datagram->has_news)
		rnic_rsocket_ring(rs);
	datagram->has_news = false;
}

static short rsocket_datagram_events(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);
	short events = 0;

	if (datagram->parcel_count > 0)
		events |= POLLIN | POLLRDNORM;
	if (datagram->id == NULL || datagram->free_count > 0)
		events |= POLLOUT | POLLWRNORM;
	if (rs->error != 0)
		events |= POLLERR;
	return events;
}

static struct ibv_context *rsocket_datagram_device(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);

	return datagram->id != NULL ? datagram->id->verbs : NULL;
}

static int rsocket_datagram_watch(struct rnic_rsocket *rs, struct pollfd *watched)
{
	struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);
	int count = 0;

	watched[count++] = (struct pollfd){.fd = rs->fd, .events = POLLIN};
	if (datagram->cq == NULL)
		return count;
	watched[count++] = (struct pollfd){.fd = datagram->completions->fd, .events = POLLIN};
	if (!datagram->is_armed && ibv_req_notify_cq(datagram->cq, 0) == 0)
		datagram->is_armed = true;
	return count;
}

static void rsocket_datagram_woke(struct rnic_rsocket *rs)
{
	struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);
	struct ibv_cq *cq;
	void *context;

	if (rnic_rsocket_take_envelopes(datagram))
		datagram->has_news = true;
	if (datagram->completions == NULL)
		return;
	if (ibv_get_cq_event(datagram->completions, &cq, &context) == 0) {
		ibv_ack_cq_events(cq, 1);
		datagram->is_armed = false;
		rnic_rsocket_ring(rs); /* others wait for it too, and one arms anew */
	} else if (errno != EAGAIN && errno != EINTR) {
		rs->error = ENETDOWN;
	}
}

/* --- addresses ------------------------------------------------------------------------------- */

static int bind_to(struct rnic_rsocket *rs, const struct sockaddr *address, socklen_t bytes)
{
	if (bind(rs->fd, address, bytes) != 0)
		return -errno;
	rnic_rsocket_datagram(rs)->is_bound = true;
	return 0;
}

/*
 * The kernel does not learn of the connection: it would choose a source address that the device
 * does not have.
 */
static int rsocket_datagram_connect_to(struct rnic_rsocket *rs, const struct sockaddr *address,
				       socklen_t bytes)
{
	struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);
	struct sockaddr_storage to = {0};
	struct rnic_rsocket_peer *peer;
	int error;

	if (address == NULL || bytes < sizeof(address->sa_family) || bytes > sizeof(to))
		return -EINVAL;
	memcpy(&to, address, bytes);
	if (to.ss_family != AF_UNSPEC) {
		if (bytes < rnic_cma_sockaddr_bytes((struct sockaddr *)&to))
			return -EINVAL;
		rnic_rsocket_unmap(&to);
		error = rnic_rsocket_find_peer(datagram, &to, &peer);
		if (error != 0)
			return error;
	}
	datagram->connected = to;
	return 0;
}

static int rsocket_datagram_name(struct rnic_rsocket *rs, bool is_peer,
				 struct sockaddr_storage *address)
{
	struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);
	const bool is_connected = datagram->connected.ss_family != AF_UNSPEC;
	struct rnic_rsocket_peer *peer;
	socklen_t bytes = sizeof(*address);
	int error;

	if (is_peer && !is_connected)
		return -ENOTCONN;
	if (is_peer) {
		*address = datagram->connected;
	} else if (is_connected) {
		error = rnic_rsocket_find_peer(datagram, &datagram->connected, &peer);
		if (error != 0)
			return error;
		*address = peer->source;
	} else if (getsockname(rs->fd, (struct sockaddr *)address, &bytes) != 0) {
		return -errno;
	}
	rnic_rsocket_map(address, rs->domain);
	return 0;
}

static int rsocket_datagram_tell_option(struct rnic_rsocket *rs, int level, int name,
					const void *value, socklen_t bytes)
{
	return setsockopt(rs->fd, level, name, value, bytes) == 0 ? 0 : -errno;
}

/* --- ending ---------------------------------------------------------------------------------- */

static int rsocket_datagram_shut_down(struct rnic_rsocket *rs, int how)
{
	(void)how;
	return rnic_rsocket_datagram(rs)->connected.ss_family != AF_UNSPEC ? 0 : -ENOTCONN;
}

static bool rsocket_datagram_is_sent(const struct rnic_rsocket *rs)
{
	const struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);

	return datagram->id == NULL || datagram->free_count == datagram->send_count;
}

static void close_datagram(struct rnic_rsocket *rs)
{
	rnic_rsocket_lock(rs);
	rnic_rsocket_await(rs, rsocket_datagram_is_sent, rnic_rsocket_now_ns() + CLOSE_NS);
	rs->is_closed = true;
	rnic_rsocket_ring(rs);
	rnic_rsocket_unlock(rs);
}

static void rsocket_datagram_destroy(struct rnic_rsocket *rs)
{
	struct rnic_rsocket_datagram *datagram = rnic_rsocket_datagram(rs);

	rnic_rsocket_forget_peers(datagram);
	for (uint32_t i = 0; i < datagram->parcel_count; i++)
		free(datagram->parcels[(datagram->parcel_head + i) % datagram->parcel_room]
			     .allocated);
	free(datagram->parcels);
	rnic_rsocket_ud_destroy(datagram);
	if (rs->fd >= 0)
		close(rs->fd);
	rnic_rsocket_fini(rs);
	free(datagram);
}

static const struct rnic_rsocket_kind datagram_kind = {
	.bind = bind_to,
	.connect = rsocket_datagram_connect_to,
	.shut_down = rsocket_datagram_shut_down,
	.send = rnic_rsocket_datagram_send,
	.receive = rnic_rsocket_datagram_receive,
	.name = rsocket_datagram_name,
	.tell_option = rsocket_datagram_tell_option,
	.close = close_datagram,
	.destroy = rsocket_datagram_destroy,
	.progress = rsocket_datagram_progress,
	.events = rsocket_datagram_events,
	.watch = rsocket_datagram_watch,
	.device = rsocket_datagram_device,
	.woke = rsocket_datagram_woke,
};

int rnic_rsocket_create_datagram(int domain, struct rnic_rsocket **created)
{
	struct rnic_rsocket_datagram *datagram = calloc(1, sizeof(*datagram));
	int error;

	if (datagram == NULL)
		return -ENOMEM;
	rnic_rsocket_init(&datagram->rs, &datagram_kind, domain, rnic_rsocket_default_options());
	datagram->rs.fd = socket(domain, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (datagram->rs.fd < 0) {
		error = -errno;
		rsocket_datagram_destroy(&datagram->rs);
		return error;
	}
	*created = &datagram->rs;
	return 0;
}
