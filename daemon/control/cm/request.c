/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm/request.h"

#include "daemon/control/cm/cm_connection.h"
#include "daemon/control/cm/cm_state.h"
#include "proto/mad/ip_cm.h"
#include "proto/wire/gid.h"

#include <string.h>

#define MTU_CODE_MAX 5

/* The target of a request. */
struct target {
	uint16_t port_space; /* 0: the service ID is not understood */
	uint16_t port;
	uint16_t source_port;
	struct cm_binding *binding;
};

/*
 * Answers a REQ or REP with a REJ (IBTA 1.4, 12.6.7). A refused REQ has no connection here, so our
 * identifier is 0.
 */
static void refuse(const struct request_origin *origin, const struct rnic_cm_message *message,
		   uint16_t reason)
{
	struct rnic_cm_message *answer = cm_add_reply(origin->cm, &origin->local, &origin->peer);
	bool is_req = message->kind == RNIC_CM_REQ;

	if (answer == NULL)
		return;
	answer->kind = RNIC_CM_REJ;
	answer->transaction_id = message->transaction_id;
	answer->rej = (struct rnic_cm_rej){
		.local_comm_id = is_req ? 0 : message->rep.remote_comm_id,
		.remote_comm_id = is_req ? message->req.local_comm_id : message->rep.local_comm_id,
		.message = is_req ? RNIC_CM_ABOUT_REQ : RNIC_CM_ABOUT_REP,
		.reason = reason,
	};
	/* For an MTU: the largest that there is (IBTA 1.4, table 109). */
	if (reason == RNIC_CM_REJECT_INVALID_MTU) {
		answer->rej.info_bytes = 1;
		answer->rej.info[0] = MTU_CODE_MAX << 4;
	}
}

static void refuse_datagram(const struct request_origin *origin,
			    const struct rnic_cm_message *message)
{
	struct rnic_cm_message *answer = cm_add_reply(origin->cm, &origin->local, &origin->peer);

	if (answer == NULL)
		return;
	answer->kind = RNIC_CM_SIDR_REP;
	answer->transaction_id = message->transaction_id;
	answer->sidr_rep = (struct rnic_cm_sidr_rep){
		.request_id = message->sidr_req.request_id,
		.status = RNIC_CM_SIDR_UNSUPPORTED,
		.service_id = message->sidr_req.service_id,
	};
}

/* Tells the owner of the refusal: no holder hears of the request. */
static void note_refusal(const struct request_origin *origin, const struct rnic_cm_message *message,
			 uint16_t reason)
{
	const struct cm_config *config = &origin->cm->config;
	const bool is_req = message->kind == RNIC_CM_REQ;
	const struct cm_message_note note = {
		.kind = is_req ? RNIC_CM_REJ : RNIC_CM_SIDR_REP,
		.is_sent = true,
		.reason = is_req ? reason : RNIC_CM_SIDR_UNSUPPORTED,
		.port = (uint16_t)(is_req ? message->req.service_id : message->sidr_req.service_id),
		.peer_qpn = is_req ? message->req.local_qpn : 0,
		.owner = CM_OWNER_NONE,
	};

	if (config->sink->message != NULL)
		config->sink->message(config->sink_context, &note);
}

/* Refuses a REQ or SIDR_REQ without a connection. The status for a SIDR_REQ is fixed. */
static void request_refuse(const struct request_origin *origin,
			   const struct rnic_cm_message *message, uint16_t reason)
{
	note_refusal(origin, message, reason);
	if (message->kind == RNIC_CM_SIDR_REQ)
		refuse_datagram(origin, message);
	else
		refuse(origin, message, reason);
}

/* Finds the listener and the sender's port. 0, or the reason to refuse. */
static uint16_t find_target(const struct request_origin *origin, uint64_t service_id,
			    const uint8_t *private_data, struct target *target)
{
	struct rnic_ip_cm addresses;

	*target = (struct target){0};
	if (!rnic_service_id_split(service_id, &target->port_space, &target->port))
		return RNIC_CM_REJECT_INVALID_SERVICE_ID;
	target->binding = binding_find_listener(&origin->cm->bindings, target->port_space,
						target->port, &origin->local);
	if (target->binding == NULL)
		return RNIC_CM_REJECT_INVALID_SERVICE_ID;
	if (rnic_ip_cm_decode(&addresses, private_data) != 0)
		return RNIC_CM_REJECT_UNSUPPORTED;
	/* On RoCE a GID is an IP address, and an answer goes to the packet's source. */
	if (!rnic_gid_equal(&addresses.source, &origin->peer) ||
	    !rnic_gid_equal(&addresses.dest, &origin->local))
		return RNIC_CM_REJECT_INVALID_GID;
	target->source_port = addresses.source_port;
	return 0;
}

/* The type of QP that answers the REQ's transport (IBTA 1.4, 12.7.12 and annex A14). */
static bool find_type(const struct rnic_cm_req *req, uint8_t *qp_type)
{
	switch (req->transport) {
	case RNIC_CM_TRANSPORT_RC:
		*qp_type = RNIC_QP_TYPE_RC;
		return true;
	case RNIC_CM_TRANSPORT_UC:
		*qp_type = RNIC_QP_TYPE_UC;
		return true;
	case RNIC_CM_TRANSPORT_EXTENDED:
		*qp_type = RNIC_QP_TYPE_XRC_TARGET;
		return req->extended_transport == RNIC_CM_EXTENDED_TRANSPORT_XRC;
	default:
		return false;
	}
}

static bool are_gids_those_of_packet(const struct request_origin *origin,
				     const struct rnic_cm_req *req)
{
	return memcmp(req->primary_local_gid, origin->peer.bytes, sizeof(origin->peer.bytes)) ==
		       0 &&
	       memcmp(req->primary_remote_gid, origin->local.bytes, sizeof(origin->local.bytes)) ==
		       0;
}

/* 0, or the reason to refuse. */
static uint16_t check_req(const struct request_origin *origin, const struct rnic_cm_req *req,
			  struct target *target, uint8_t *qp_type)
{
	struct cm_connection *living;
	uint16_t reason = find_target(origin, req->service_id, req->private_data, target);

	if (reason != 0)
		return reason;
	if (!find_type(req, qp_type))
		return RNIC_CM_REJECT_INVALID_TRANSPORT;
	if (!are_gids_those_of_packet(origin, req))
		return RNIC_CM_REJECT_INVALID_GID;
	/*
	 * Any path MTU that exists is accepted, also one beyond our interface's, as by Linux:
	 * neither cm_req_handler() of cm.c nor cma_ib_req_handler() of cma.c looks at it (6.12).
	 * What does not fit the way is lost, and the QP's retries end.
	 */
	if (req->path_mtu < 1 || req->path_mtu > MTU_CODE_MAX)
		return RNIC_CM_REJECT_INVALID_MTU;
	/*
	 * IBTA 1.4, 12.9.8.3.1: the peer may have forgotten the old connection of its QP. Anybody
	 * can say so. The old connection ends if the peer is silent, and a later REQ gets in.
	 */
	living = connection_find_living(origin->cm, &origin->peer, req->local_qpn);
	if (living == NULL)
		return 0;
	connection_step(living, EVENT_NAMED, &(struct connection_input){0});
	return RNIC_CM_REJECT_STALE_CONNECTION;
}

/*
 * The key of the share in which the request counts: the peer's address or, where a user of our own
 * host asks, that user. The random identifier of the user's connection proves who asks. A user's
 * key begins as a multicast address does, so that no host has it.
 */
static struct rnic_gid request_asker(const struct request_origin *origin, uint32_t comm_id)
{
	const struct cm_connection *asking = connection_find(origin->cm, comm_id);
	struct rnic_gid key = {{0xff}};

	if (asking == NULL || !asking->is_active ||
	    !rnic_gid_equal(&asking->path.source, &origin->peer) ||
	    !rnic_gid_equal(&asking->path.dest, &origin->local))
		return origin->peer;
	memcpy(key.bytes + sizeof(key.bytes) - sizeof(asking->asker), &asking->asker,
	       sizeof(asking->asker));
	return key;
}

/* Creates a connection for the request and counts it in the backlog. NULL: forget the request. */
static struct cm_connection *request_admit(const struct request_origin *origin,
					   const struct target *target, uint32_t comm_id)
{
	const struct rnic_gid asker = request_asker(origin, comm_id);
	struct cm *cm = origin->cm;
	struct cm_binding *binding = target->binding;
	struct cm_connection *connection;

	if (!proven_address_admits(cm, binding, &asker))
		return NULL;
	if (connection_create(cm, &connection) != 0) {
		cm->counters[CM_COUNTER_REFUSED]++;
		return NULL;
	}
	connection->port_space = target->port_space;
	connection->local_port = target->port;
	connection->peer_port = target->source_port;
	connection->path.source = origin->local;
	connection->path.dest = origin->peer;
	connection->path.hop_limit = CONNECTION_HOP_LIMIT;
	connection->peer_udp_port = origin->port;
	if (proven_address_await(cm, &connection->address, binding, &asker) != 0) {
		cm->counters[CM_COUNTER_REFUSED]++;
		connection_free(connection);
		return NULL;
	}
	connection->binding = binding;
	list_add_tail(&binding->pending, &connection->pending_node);
	binding->pending_count++;
	return connection;
}

static void fill_path(struct cm_path *path, const struct rnic_cm_req *req)
{
	path->flow_label = req->primary_flow_label;
	path->traffic_class = req->primary_traffic_class;
	if (req->primary_hop_limit != 0)
		path->hop_limit = req->primary_hop_limit;
	path->service_level = req->primary_service_level;
	path->mtu = req->path_mtu;
	path->rate = req->primary_rate;
	path->packet_lifetime =
		(uint8_t)(req->primary_ack_timeout == 0 ? 0 : req->primary_ack_timeout - 1);
}

/* Offers the connection to the listener. */
static void offer(struct cm_connection *connection, const struct target *target,
		  const uint8_t *private_data, uint32_t private_bytes)
{
	struct cm_event event = {
		.type = CM_EVENT_CONNECT_REQUEST,
		.user = target->binding->user,
		.binding = target->binding,
		.peer = connection->peer,
		.private_data = private_data + RNIC_IP_CM_BYTES,
		.private_bytes = private_bytes - RNIC_IP_CM_BYTES,
	};

	if (!connection_tell(connection, &event)) {
		connection->cm->counters[CM_COUNTER_REFUSED]++;
		connection_free(connection);
	}
}

/* --- waiting for a listener ------------------------------------------------------------------- */

static uint32_t comm_id_of(const struct rnic_cm_message *message)
{
	return message->kind == RNIC_CM_REQ ? message->req.local_comm_id
					    : message->sidr_req.request_id;
}

/* Whether the peer gives us time to wait, and to answer afterwards. A SIDR_REQ states no time. */
static bool is_patient(const struct cm *cm, const struct rnic_cm_message *message)
{
	return cm->config.listener_wait_ns > 0 &&
	       (message->kind != RNIC_CM_REQ ||
		connection_timeout_ns(message->req.remote_response_timeout) >=
			2 * cm->config.listener_wait_ns);
}

/* Keeps the request, unless it is kept already. False: the request may not wait; refuse it. */
static bool request_keep(const struct request_origin *origin, const struct rnic_cm_message *message,
			 const struct target *target)
{
	struct cm *cm = origin->cm;
	const struct pending_listen request = {
		.peer = origin->peer,
		.local = origin->local,
		.message = *message,
		.peer_comm_id = comm_id_of(message),
		.refuse_ns = cm->now_ns + cm->config.listener_wait_ns,
		.port_space = target->port_space,
		.port = target->port,
		.peer_udp_port = origin->port,
	};

	if (!is_patient(cm, message))
		return false;
	if (pending_listen_find(&cm->pending_listens, &origin->peer, request.peer_comm_id,
				message->kind) != NULL) {
		cm->counters[CM_COUNTER_DUPLICATES]++;
		return true;
	}
	if (!pending_listen_add(&cm->pending_listens, &request))
		return false;
	cm->counters[CM_COUNTER_PENDING_LISTENS]++;
	return true;
}

/* The peer withdraws its request of that identifier. */
static void request_forget(const struct request_origin *origin, uint32_t peer_comm_id)
{
	struct pending_listens *pending = &origin->cm->pending_listens;
	struct pending_listen *request =
		pending_listen_find(pending, &origin->peer, peer_comm_id, RNIC_CM_REQ);

	if (request != NULL &&
	    rnic_peer_ports_admit(origin->cm->config.peer_ports, request->peer_udp_port,
				  origin->port, RNIC_GENERAL_SERVICES_QPN,
				  RNIC_GENERAL_SERVICES_QPN))
		pending_listen_remove(pending, request);
}

/* Keeps a request that may wait for a listener, and refuses any other. */
static void refuse_or_keep(const struct request_origin *origin,
			   const struct rnic_cm_message *message, const struct target *target,
			   uint16_t reason)
{
	const bool may_wait = target->port_space != 0 && target->binding == NULL;

	if (!may_wait || !request_keep(origin, message, target))
		request_refuse(origin, message, reason);
}

void request_receive(const struct request_origin *origin, const struct rnic_cm_message *message)
{
	const struct rnic_cm_req *req = &message->req;
	struct cm_connection *connection;
	struct target target;
	uint8_t qp_type;
	uint16_t reason = check_req(origin, req, &target, &qp_type);

	if (reason != 0) {
		refuse_or_keep(origin, message, &target, reason);
		return;
	}
	connection = request_admit(origin, &target, req->local_comm_id);
	if (connection == NULL)
		return;
	connection->qp_type = qp_type;
	connection->peer = connection_peer_of_req(message);
	connection->peer_comm_id = req->local_comm_id;
	connection->transaction_id = message->transaction_id;
	fill_path(&connection->path, req);
	connection->response_timeout = req->remote_response_timeout;
	connection->max_retries = req->max_cm_retries;
	connection->ack_timeout = req->primary_ack_timeout;
	connection->retry_timeout_ns = connection_timeout_ns(req->local_response_timeout) +
				       connection_timeout_ns(req->primary_ack_timeout);
	connection_list_peer(connection);
	connection_enter(connection, STATE_REQ_RECEIVED);
	offer(connection, &target, req->private_data, sizeof(req->private_data));
}

void request_receive_datagram(const struct request_origin *origin,
			      const struct rnic_cm_message *message)
{
	const struct rnic_cm_sidr_req *req = &message->sidr_req;
	struct cm_connection *connection;
	struct target target;
	uint16_t reason = find_target(origin, req->service_id, req->private_data, &target);

	if (reason != 0) {
		refuse_or_keep(origin, message, &target, reason);
		return;
	}
	connection = request_admit(origin, &target, req->request_id);
	if (connection == NULL)
		return;
	connection->qp_type = RNIC_QP_TYPE_UD;
	connection->is_datagram = true;
	connection->peer_comm_id = req->request_id;
	connection->transaction_id = message->transaction_id;
	connection_list_peer(connection);
	connection_enter(connection, STATE_SIDR_RECEIVED);
	offer(connection, &target, req->private_data, sizeof(req->private_data));
}

uint64_t request_pending_deadline_ns(const struct cm *cm)
{
	const struct pending_listen *oldest = pending_listen_oldest(&cm->pending_listens);

	if (oldest == NULL)
		return UINT64_MAX;
	return cm->bindings.has_new_listener ? 0 : oldest->refuse_ns;
}

static void request_hand_over(const struct request_origin *origin, struct pending_listen *request)
{
	const struct rnic_cm_message message = request->message;

	pending_listen_remove(&origin->cm->pending_listens, request);
	if (message.kind == RNIC_CM_REQ)
		request_receive(origin, &message);
	else
		request_receive_datagram(origin, &message);
}

void request_pending_tick(struct cm *cm)
{
	struct list *node, *following;

	if (request_pending_deadline_ns(cm) > cm->now_ns)
		return;
	list_for_each_safe (node, following, &cm->pending_listens.waiting) {
		struct pending_listen *request = list_entry(node, struct pending_listen, node);
		const struct request_origin origin = {cm, request->peer, request->local,
						      request->peer_udp_port};

		if (binding_find_listener(&cm->bindings, request->port_space, request->port,
					  &origin.local) != NULL) {
			request_hand_over(&origin, request);
		} else if (request->refuse_ns <= cm->now_ns) {
			request_refuse(&origin, &request->message,
				       RNIC_CM_REJECT_INVALID_SERVICE_ID);
			pending_listen_remove(&cm->pending_listens, request);
		}
	}
	cm->bindings.has_new_listener = false;
}

void request_answer_unknown(const struct request_origin *origin,
			    const struct rnic_cm_message *message)
{
	struct rnic_cm_message *answer;

	origin->cm->counters[CM_COUNTER_UNEXPECTED]++;
	switch (message->kind) {
	case RNIC_CM_REQ:
	case RNIC_CM_REP:
		refuse(origin, message, RNIC_CM_REJECT_INVALID_COMM_ID);
		break;
	case RNIC_CM_DREQ:
		answer = cm_add_reply(origin->cm, &origin->local, &origin->peer);
		if (answer == NULL)
			return;
		answer->kind = RNIC_CM_DREP;
		answer->transaction_id = message->transaction_id;
		answer->drep.local_comm_id = message->dreq.remote_comm_id;
		answer->drep.remote_comm_id = message->dreq.local_comm_id;
		break;
	case RNIC_CM_REJ:
		request_forget(origin, message->rej.local_comm_id);
		break;
	default:
		break;
	}
}
