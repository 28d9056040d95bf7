/* SPDX-License-Identifier: MIT */
/*
 * Connections within a host, without the connection manager: both ends share one daemon, so they
 * know all there is to know. The first packet numbers are the numbers of the queue pairs.
 */
#include "lib/apis/dial/dial.h"
#include "lib/apis/rdma/handle_objects.h"

#include <string.h>

#define ACK_TIMEOUT_CODE 15 /* 134 ms, as the connection manager chooses (IBTA 1.4, 9.7.6.1.3) */
#define RNR_TIMER_CODE	 12 /* 0.64 ms */
#define MOST_RETRIES	 7  /* for RNR: without end */
#define QP_NUMBER_MAX	 0xffffff
#define HOP_LIMIT	 64

#define RTR_ATTRIBUTES                                                                             \
	(RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU | RNIC_QP_ATTR_DEST_QPN |    \
	 RNIC_QP_ATTR_RQ_PSN | RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER)
#define RTS_ATTRIBUTES                                                                             \
	(RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_SQ_PSN | RNIC_QP_ATTR_TIMEOUT |                         \
	 RNIC_QP_ATTR_RETRY_COUNT | RNIC_QP_ATTR_RNR_RETRY | RNIC_QP_ATTR_MAX_RD_ATOMIC)

static bool handle_link_is_empty(const struct rnic_gid *gid)
{
	static const struct rnic_gid empty;

	return memcmp(gid, &empty, sizeof(empty)) == 0;
}

/*
 * Finds the device's own address, the same for both ends. -EADDRNOTAVAIL: the device has none
 * (yet).
 */
static int find_own_address(struct rnic_context *context, const struct rnic_port_attributes *port,
			    struct rnic_path *path)
{
	int error = rnic_query_gid(context, port->own_gid_index, &path->dest_gid, NULL);

	if (error != 0)
		return error;
	path->source_gid_index = (uint8_t)port->own_gid_index;
	return handle_link_is_empty(&path->dest_gid) ? -EADDRNOTAVAIL : 0;
}

/* Brings `from`, in INIT, into RTS as the peer of `to`. */
static int handle_link_bring_up(struct rnic_context *context, struct rnic_qp *from, uint32_t to)
{
	struct rnic_qp_attributes attributes = {
		.dest_qpn = to,
		.rq_psn = to,
		.sq_psn = rnic_qp_number(from),
		.max_rd_atomic = RNIC_DIAL_READ_DEPTH,
		.max_dest_rd_atomic = RNIC_DIAL_READ_DEPTH,
		.min_rnr_timer = RNR_TIMER_CODE,
		.timeout = ACK_TIMEOUT_CODE,
		.retry_count = MOST_RETRIES,
		.rnr_retry = MOST_RETRIES,
		.path = {.is_global = 1, .port = 1, .hop_limit = HOP_LIMIT},
	};
	struct rnic_port_attributes port;
	int error = rnic_query_port(context, &port);

	if (error == 0)
		error = find_own_address(context, &port, &attributes.path);
	if (error != 0)
		return error;
	attributes.path_mtu = (uint8_t)port.active_mtu;
	return rnic_connect_qp(from, &attributes, RTR_ATTRIBUTES, RTS_ATTRIBUTES);
}

void rnic_handle_fail(struct rnic_handle_qp *qp)
{
	if (qp->link == RNIC_HANDLE_FAILED)
		return;
	qp->link = RNIC_HANDLE_FAILED;
	rnic_dial_fail_qp(qp->native);
	if (qp->sender == NULL)
		qp->sender = qp->native;
	if (qp->sender != qp->native)
		rnic_dial_fail_qp(qp->sender);
}

int rnic_handle_link_to_itself(struct rnic_handle_qp *qp)
{
	struct rnic_context *context = qp->domain->context;
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_RC,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.capacities = {.max_send_wr = qp->sends.depth,
			       .max_recv_wr = 1,
			       .max_send_sge = 1,
			       .max_recv_sge = 1},
	};
	struct rnic_qp *sender;
	int error = rnic_create_qp(qp->domain->pd, &options, &sender);

	if (error != 0)
		return error;
	error = rnic_dial_prepare(sender);
	if (error == 0)
		error = handle_link_bring_up(context, sender, rnic_qp_number(qp->native));
	if (error == 0)
		error = handle_link_bring_up(context, qp->native, rnic_qp_number(sender));
	if (error != 0) {
		rnic_destroy_qp(sender);
		return error;
	}
	qp->sender = sender;
	qp->link = RNIC_HANDLE_OWN_PEER;
	return 0;
}

static int link_to(struct rnic_handle_qp *qp, int peer_number)
{
	int error = handle_link_bring_up(qp->domain->context, qp->native, (uint32_t)peer_number);

	if (error != 0)
		return error;
	qp->sender = qp->native;
	qp->peer_number = peer_number;
	qp->link = RNIC_HANDLE_PEER;
	return 0;
}

static bool has_peer(const struct rnic_handle_qp *qp, int number)
{
	return qp->link == RNIC_HANDLE_OWN_PEER
		       ? number == qp->handle.number
		       : qp->link == RNIC_HANDLE_PEER && number == qp->peer_number;
}

static bool may_have_peer(const struct rnic_handle_qp *qp, int number)
{
	return qp->link == RNIC_HANDLE_UNCONNECTED || has_peer(qp, number);
}

static int link_one(struct rnic_handle_qp *qp, int peer_number)
{
	if (has_peer(qp, peer_number))
		return 0;
	if (!may_have_peer(qp, peer_number))
		return -EISCONN;
	if (peer_number == qp->handle.number)
		return rnic_handle_link_to_itself(qp);
	return link_to(qp, peer_number);
}

/*
 * Connects two different queue pairs of this process. The one with the lower address is locked
 * first.
 */
static int link_both(struct rnic_handle_qp *qp, struct rnic_handle_qp *peer)
{
	struct rnic_handle_qp *first = qp < peer ? qp : peer;
	struct rnic_handle_qp *second = qp < peer ? peer : qp;
	int error = 0;

	if (qp->domain != peer->domain)
		return -ENODEV;
	pthread_mutex_lock(&first->lock);
	pthread_mutex_lock(&second->lock);
	if (!may_have_peer(qp, peer->handle.number) || !may_have_peer(peer, qp->handle.number))
		error = -EISCONN;
	if (error == 0)
		error = link_one(peer, qp->handle.number);
	if (error == 0)
		error = link_one(qp, peer->handle.number);
	if (error == 0) {
		qp->is_peer_heard = true;
		peer->is_peer_heard = true;
	}
	pthread_mutex_unlock(&second->lock);
	pthread_mutex_unlock(&first->lock);
	return error;
}

static int connect_by_number(int qp_num, int peer_qp_num)
{
	struct rnic_handle_qp *qp = rnic_handle_hold_qp(qp_num);
	struct rnic_handle_qp *peer;
	int error;

	if (qp == NULL)
		return -EBADF;
	peer = rnic_handle_hold_qp(peer_qp_num);
	if (peer != NULL && peer != qp) {
		error = link_both(qp, peer);
	} else {
		pthread_mutex_lock(&qp->lock);
		error = link_one(qp, peer_qp_num);
		pthread_mutex_unlock(&qp->lock);
	}
	if (peer != NULL)
		rnic_handle_release(&peer->handle);
	rnic_handle_release(&qp->handle);
	return error;
}

int rnic_rdma_connect_qp(int qp_num, int peer_qp_num)
{
	int cancellation;

	if (peer_qp_num < 0 || peer_qp_num > QP_NUMBER_MAX)
		return rnic_handle_result(-EINVAL);
	cancellation = rnic_handle_enter();
	return rnic_handle_leave(cancellation, connect_by_number(qp_num, peer_qp_num));
}
