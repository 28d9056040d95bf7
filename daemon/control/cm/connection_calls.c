/* SPDX-License-Identifier: MIT */
/* The holder's calls of cm.h, and their actions. */
#include "daemon/control/cm/connection_action.h"

#include "daemon/control/cm/cm_state.h"
#include "proto/base/bits.h"
#include "proto/mad/ip_cm.h"
#include "proto/wire/gid.h"
#include "proto/wire/psn.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define QPN_MAX		  0xffffff
#define VENDOR_ID_MAX	  0xffffff
#define TIMEOUT_CODE_MAX  31
#define MAX_RETRIES_MAX	  15
#define RETRY_COUNT_MAX	  7
#define MTU_CODE_MAX	  5
#define SIDR_STATUS_MAX	  255
#define FLOW_LABEL_MAX	  0xfffff
#define RATE_MAX	  0x3f
#define SERVICE_LEVEL_MAX 15

/* --- connecting ------------------------------------------------------------------------------- */

static bool is_qp_good(const struct cm_qp_parameters *qp)
{
	return qp->qpn <= QPN_MAX && qp->psn <= QPN_MAX && qp->retry_count <= RETRY_COUNT_MAX &&
	       qp->rnr_retry_count <= RETRY_COUNT_MAX && qp->ece_vendor_id <= VENDOR_ID_MAX;
}

static bool is_host(const struct rnic_gid *gid)
{
	return !rnic_gid_is_zero(gid) && !rnic_gid_is_multicast(gid);
}

static bool is_path_good(const struct cm_path *path)
{
	return is_host(&path->source) && is_host(&path->dest) &&
	       rnic_gid_is_ipv4(&path->source) == rnic_gid_is_ipv4(&path->dest) &&
	       path->flow_label <= FLOW_LABEL_MAX && path->rate <= RATE_MAX && path->mtu >= 1 &&
	       path->service_level <= SERVICE_LEVEL_MAX && path->mtu <= MTU_CODE_MAX &&
	       path->packet_lifetime < TIMEOUT_CODE_MAX;
}

static bool is_type_good(uint8_t qp_type)
{
	return qp_type == RNIC_QP_TYPE_RC || qp_type == RNIC_QP_TYPE_UC ||
	       qp_type == RNIC_QP_TYPE_UD || qp_type == RNIC_QP_TYPE_XRC_INITIATOR;
}

static uint32_t connect_private_limit(const struct cm_connect *connect)
{
	return connect->qp_type == RNIC_QP_TYPE_UD ? CM_DATAGRAM_CONNECT_PRIVATE_BYTES
						   : CM_CONNECT_PRIVATE_BYTES;
}

static bool is_connect_good(const struct cm_connect *connect)
{
	return rnic_port_space_exists(connect->port_space) && is_type_good(connect->qp_type) &&
	       is_path_good(&connect->path) && is_qp_good(&connect->qp) &&
	       connect->response_timeout <= TIMEOUT_CODE_MAX &&
	       connect->max_retries <= MAX_RETRIES_MAX &&
	       connect->private_bytes <= connect_private_limit(connect);
}

static void connection_calls_fill(struct cm_connection *connection,
				  const struct cm_connect *connect)
{
	connection->user = connect->user;
	connection->asker = connect->owner;
	connection->qp_type = connect->qp_type;
	connection->is_active = true;
	connection->is_datagram = connect->qp_type == RNIC_QP_TYPE_UD;
	connection->port_space = connect->port_space;
	connection->local_port = connect->source_port;
	connection->peer_port = connect->dest_port;
	connection->path = connect->path;
	if (connection->path.hop_limit == 0)
		connection->path.hop_limit = CONNECTION_HOP_LIMIT;
	connection->local = connect->qp;
	connection->transaction_id = random_source_next(&connection->cm->config.random);
	connection->ends_by_call = connect->ends_by_call;
	connection->response_timeout = connect->response_timeout;
	connection->max_retries = connect->max_retries;
	connection->ack_timeout = (uint8_t)(connect->path.packet_lifetime + 1);
	/* The time for the answer and for two packets. */
	connection->retry_timeout_ns = connection_timeout_ns(connect->response_timeout) +
				       connection_timeout_ns(connection->ack_timeout);
}

int cm_connect(struct cm *cm, const struct cm_connect *connect, uint64_t now_ns,
	       struct cm_connection **out)
{
	struct cm_connection *connection;
	int result;

	if (!is_connect_good(connect))
		return -EINVAL;
	cm->now_ns = now_ns;
	result = connection_create(cm, &connection);
	if (result != 0)
		return result;
	connection_calls_fill(connection, connect);
	connection_keep_private(connection, connect->private_data, connect->private_bytes,
				connect_private_limit(connect));
	connection_enter(connection, connection->is_datagram ? STATE_SIDR_SENT : STATE_REQ_SENT);
	connection_send_reliably(connection,
				 connection->is_datagram ? RNIC_CM_SIDR_REQ : RNIC_CM_REQ);
	*out = connection;
	return 0;
}

/* --- answering -------------------------------------------------------------------------------- */

int cm_accept(struct cm_connection *connection, const struct cm_accept *accept, uint64_t now_ns)
{
	const struct connection_input input = {
		.accept = accept,
		.private_data = accept->private_data,
		.private_bytes = accept->private_bytes,
	};

	if (!is_qp_good(&accept->qp))
		return -EINVAL;
	connection->cm->now_ns = now_ns;
	return connection_step(connection, EVENT_ACCEPT, &input);
}

int action_accept(struct cm_connection *connection, const struct connection_input *input)
{
	int result = connection_keep_private(connection, input->private_data, input->private_bytes,
					     CM_ACCEPT_PRIVATE_BYTES);

	if (result != 0)
		return result;
	connection->local = input->accept->qp;
	connection->ends_by_call = input->accept->ends_by_call;
	/* The active side sets the retry count of both QPs (IBTA 1.4, 12.7.29). */
	connection->local.retry_count = connection->peer.retry_count;
	connection_answered(connection);
	connection_enter(connection, STATE_REP_SENT);
	connection_send_reliably(connection, RNIC_CM_REP);
	return 0;
}

int cm_reject(struct cm_connection *connection, uint16_t reason, const uint8_t *private_data,
	      uint32_t private_bytes, uint64_t now_ns)
{
	const struct connection_input input = {
		.reason = reason,
		.private_data = private_data,
		.private_bytes = private_bytes,
	};

	if (reason == 0 || (connection->is_datagram && reason > SIDR_STATUS_MAX))
		return -EINVAL;
	connection->cm->now_ns = now_ns;
	return connection_step(connection, EVENT_REJECT, &input);
}

int action_reject(struct cm_connection *connection, const struct connection_input *input)
{
	int result = connection_keep_private(connection, input->private_data, input->private_bytes,
					     CM_REJECT_PRIVATE_BYTES);

	if (result != 0)
		return result;
	connection->subject = connection->is_active ? RNIC_CM_ABOUT_REP : RNIC_CM_ABOUT_REQ;
	connection->reason = input->reason;
	connection_answered(connection);
	connection_enter(connection, STATE_REJECTED);
	connection_queue_message(connection, RNIC_CM_REJ);
	connection_arm(connection, connection_linger_ns(connection));
	return 0;
}

int cm_establish(struct cm_connection *connection, uint64_t now_ns)
{
	connection->cm->now_ns = now_ns;
	return connection_step(connection, EVENT_ESTABLISH, &(struct connection_input){0});
}

int action_establish(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	connection->is_established = true;
	connection_enter(connection, STATE_ESTABLISHED);
	connection_send_rtu(connection);
	return 0;
}

void cm_note_traffic(struct cm_connection *connection, uint64_t now_ns)
{
	connection->cm->now_ns = now_ns;
	connection_step(connection, EVENT_TRAFFIC, &(struct connection_input){0});
}

int action_traffic(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	proven_address_heard(connection->cm, &connection->address, true);
	connection->is_established = true;
	connection->must_tell_established = true;
	connection_enter(connection, STATE_ESTABLISHED);
	connection_arm(connection, 0);
	return 0;
}

/* --- ending ----------------------------------------------------------------------------------- */

int cm_disconnect(struct cm_connection *connection, uint64_t now_ns)
{
	connection->cm->now_ns = now_ns;
	return connection_step(connection, EVENT_DISCONNECT, &(struct connection_input){0});
}

int action_disconnect(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	connection_enter(connection, STATE_DREQ_SENT);
	connection_send_reliably(connection, RNIC_CM_DREQ);
	connection_give_way(connection);
	return 0;
}

int action_leave(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	connection_give_way(connection);
	return 0;
}

int action_not_connected(struct cm_connection *connection, const struct connection_input *input)
{
	(void)connection;
	(void)input;
	return -ENOTCONN;
}

int action_not_standing(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	return connection->is_established && !connection->is_datagram ? 0 : -ENOTCONN;
}

void cm_destroy(struct cm_connection *connection, uint64_t now_ns)
{
	if (connection == NULL)
		return;
	assert(!connection->is_abandoned);
	connection->is_abandoned = true;
	connection->user = NULL;
	connection->cm->now_ns = now_ns;
	connection_step(connection, EVENT_DESTROY, &(struct connection_input){0});
}

int action_free(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	connection_free(connection);
	return 0;
}

int action_give_up(struct cm_connection *connection, const struct connection_input *input)
{
	connection_say_timeout(connection);
	return action_free(connection, input);
}

int action_decline(struct cm_connection *connection, const struct connection_input *input)
{
	const struct connection_input refusal = {.reason = RNIC_CM_REJECT_CONSUMER};

	(void)input;
	return action_reject(connection, &refusal);
}

/*
 * The peer may have missed our REP, or may be established already. The REJ serves the first case,
 * the DREQ the second; the peer ignores the other message.
 */
int action_take_back(struct cm_connection *connection, const struct connection_input *input)
{
	connection->subject = RNIC_CM_ABOUT_OTHER;
	connection->reason = RNIC_CM_REJECT_CONSUMER;
	memset(connection->private_data, 0, sizeof(connection->private_data));
	action_disconnect(connection, input);
	connection_queue_message(connection, RNIC_CM_REJ);
	return 0;
}

uint32_t cm_choose_psn(struct cm *cm)
{
	return (uint32_t)random_source_next(&cm->config.random) & RNIC_PSN_MASK;
}

/* --- the queue pair --------------------------------------------------------------------------- */

static void fill_ready_to_receive(const struct cm_connection *connection,
				  struct rnic_qp_attributes *attributes)
{
	const struct cm_path *path = &connection->path;

	attributes->path = (struct rnic_path){
		.dest_gid = path->dest,
		.flow_label = path->flow_label,
		.hop_limit = path->hop_limit,
		.traffic_class = path->traffic_class,
		.service_level = path->service_level,
		.port = 1,
		.is_global = 1,
	};
	attributes->path_mtu = path->mtu;
	attributes->dest_qpn = connection->peer.qpn;
	attributes->rq_psn = connection->local.psn;
	attributes->max_dest_rd_atomic = connection->local.responder_resources;
}

static void fill_ready_to_send(const struct cm_connection *connection,
			       struct rnic_qp_attributes *attributes)
{
	attributes->sq_psn = connection->peer.psn;
	attributes->timeout = connection->ack_timeout;
	attributes->retry_count = connection->local.retry_count;
	attributes->rnr_retry = connection->peer.rnr_retry_count;
	attributes->max_rd_atomic = connection->local.initiator_depth;
}

static uint32_t attributes_to_receive(uint8_t qp_type)
{
	uint32_t mask = RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU |
			RNIC_QP_ATTR_DEST_QPN | RNIC_QP_ATTR_RQ_PSN;

	if (qp_type == RNIC_QP_TYPE_RC || qp_type == RNIC_QP_TYPE_XRC_TARGET)
		mask |= RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER;
	return mask;
}

static uint32_t attributes_to_send(uint8_t qp_type)
{
	uint32_t mask = RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_SQ_PSN;

	switch (qp_type) {
	case RNIC_QP_TYPE_RC:
	case RNIC_QP_TYPE_XRC_INITIATOR:
		return mask | RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_RETRY_COUNT |
		       RNIC_QP_ATTR_RNR_RETRY | RNIC_QP_ATTR_MAX_RD_ATOMIC;
	case RNIC_QP_TYPE_XRC_TARGET:
		return mask | RNIC_QP_ATTR_TIMEOUT;
	default:
		return mask;
	}
}

int cm_qp_attributes(const struct cm_connection *connection, enum rnic_qp_state state,
		     struct rnic_qp_attributes *attributes, uint32_t *mask)
{
	bool is_peer_known = connection->peer_comm_id != 0 && !connection->is_datagram;

	if (!is_peer_known || (state != RNIC_QP_STATE_RTR && state != RNIC_QP_STATE_RTS))
		return -EINVAL;
	memset(attributes, 0, sizeof(*attributes));
	attributes->state = (uint32_t)state;
	fill_ready_to_receive(connection, attributes);
	fill_ready_to_send(connection, attributes);
	*mask = state == RNIC_QP_STATE_RTR ? attributes_to_receive(connection->qp_type)
					   : attributes_to_send(connection->qp_type);
	return 0;
}
