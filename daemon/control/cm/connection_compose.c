/* SPDX-License-Identifier: MIT */
/* Composes a connection's queued messages. */
#include "daemon/control/cm/cm_connection.h"

#include "daemon/control/cm/cm_state.h"
#include "proto/mad/ip_cm.h"

#include <assert.h>
#include <string.h>

#define DEFAULT_PKEY   0xffff
#define LID_PERMISSIVE 0xffff

static void put_addresses(const struct cm_connection *connection, uint8_t *private_data)
{
	const struct rnic_ip_cm addresses = {
		.source = connection->path.source,
		.dest = connection->path.dest,
		.source_port = connection->local_port,
	};

	rnic_ip_cm_encode(&addresses, private_data);
	memcpy(private_data + RNIC_IP_CM_BYTES, connection->private_data,
	       connection->private_bytes);
}

static void compose_req(const struct cm_connection *connection, struct rnic_cm_req *req)
{
	bool is_xrc = connection->qp_type == RNIC_QP_TYPE_XRC_INITIATOR;

	*req = (struct rnic_cm_req){
		.local_comm_id = connection->comm_id,
		.vendor_id = connection->local.ece_vendor_id,
		.service_id = rnic_service_id(connection->port_space, connection->peer_port),
		.local_ca_guid = connection->cm->config.ca_guid,
		.local_qpn = connection->local.qpn,
		.responder_resources = connection->local.responder_resources,
		.initiator_depth = connection->local.initiator_depth,
		.remote_response_timeout = connection->response_timeout,
		.flow_control = connection->local.has_flow_control,
		.starting_psn = connection->local.psn,
		.local_response_timeout = connection->response_timeout,
		.retry_count = connection->local.retry_count,
		.pkey = DEFAULT_PKEY,
		.path_mtu = connection->path.mtu,
		.rnr_retry_count = connection->local.rnr_retry_count,
		.max_cm_retries = connection->max_retries,
		.has_srq = connection->local.has_srq,
		.extended_transport = is_xrc ? RNIC_CM_EXTENDED_TRANSPORT_XRC : 0,
		.primary_local_lid = LID_PERMISSIVE,
		.primary_remote_lid = LID_PERMISSIVE,
		.primary_flow_label = connection->path.flow_label,
		.primary_rate = connection->path.rate,
		.primary_traffic_class = connection->path.traffic_class,
		.primary_hop_limit = connection->path.hop_limit,
		.primary_service_level = connection->path.service_level,
		.primary_ack_timeout = connection->ack_timeout,
	};
	if (is_xrc)
		req->transport = RNIC_CM_TRANSPORT_EXTENDED;
	else if (connection->qp_type == RNIC_QP_TYPE_UC)
		req->transport = RNIC_CM_TRANSPORT_UC;
	memcpy(req->primary_local_gid, connection->path.source.bytes, 16);
	memcpy(req->primary_remote_gid, connection->path.dest.bytes, 16);
	put_addresses(connection, req->private_data);
}

static void compose_rep(const struct cm_connection *connection, struct rnic_cm_rep *rep)
{
	const uint32_t vendor_id = connection->local.ece_vendor_id;

	*rep = (struct rnic_cm_rep){
		.local_comm_id = connection->comm_id,
		.remote_comm_id = connection->peer_comm_id,
		.local_qpn = connection->local.qpn,
		.vendor_id_high = (uint8_t)(vendor_id >> 16),
		.vendor_id_middle = (uint8_t)(vendor_id >> 8),
		.vendor_id_low = (uint8_t)vendor_id,
		.starting_psn = connection->local.psn,
		.responder_resources = connection->local.responder_resources,
		.initiator_depth = connection->local.initiator_depth,
		.target_ack_delay = 0,
		.flow_control = connection->local.has_flow_control,
		.rnr_retry_count = connection->local.rnr_retry_count,
		.has_srq = connection->local.has_srq,
		.local_ca_guid = connection->cm->config.ca_guid,
	};
	memcpy(rep->private_data, connection->private_data, sizeof(rep->private_data));
}

static void compose_rej(const struct cm_connection *connection, struct rnic_cm_rej *rej)
{
	*rej = (struct rnic_cm_rej){
		.local_comm_id = connection->comm_id,
		.remote_comm_id = connection->peer_comm_id,
		.message = connection->subject,
		.reason = connection->reason,
	};
	memcpy(rej->private_data, connection->private_data, sizeof(rej->private_data));
}

static void compose_sidr_rep(const struct cm_connection *connection, struct rnic_cm_sidr_rep *rep)
{
	*rep = (struct rnic_cm_sidr_rep){
		.request_id = connection->peer_comm_id,
		.status = (uint8_t)connection->reason,
		.qpn = connection->local.qpn,
		.service_id = rnic_service_id(connection->port_space, connection->local_port),
		.qkey = connection->local.qkey,
	};
	memcpy(rep->private_data, connection->private_data, sizeof(rep->private_data));
}

void connection_compose(const struct cm_connection *connection, enum rnic_cm_kind kind,
			struct rnic_cm_message *message)
{
	uint32_t comm_id = connection->comm_id, peer_comm_id = connection->peer_comm_id;

	message->kind = kind;
	message->transaction_id = connection->transaction_id;
	switch (kind) {
	case RNIC_CM_REQ:
		message->attribute_modifier = connection->local.ece_options;
		compose_req(connection, &message->req);
		break;
	case RNIC_CM_MRA:
		message->mra = (struct rnic_cm_mra){
			.local_comm_id = comm_id,
			.remote_comm_id = peer_comm_id,
			.message = connection->is_active ? RNIC_CM_ABOUT_REP : RNIC_CM_ABOUT_REQ,
			.service_timeout = CONNECTION_SERVICE_TIMEOUT,
		};
		break;
	case RNIC_CM_REJ:
		compose_rej(connection, &message->rej);
		break;
	case RNIC_CM_REP:
		message->attribute_modifier = connection->local.ece_options;
		compose_rep(connection, &message->rep);
		break;
	case RNIC_CM_RTU:
		message->rtu = (struct rnic_cm_rtu){comm_id, peer_comm_id, {0}};
		break;
	case RNIC_CM_DREQ:
		message->dreq = (struct rnic_cm_dreq){
			.local_comm_id = comm_id,
			.remote_comm_id = peer_comm_id,
			.remote_qpn = connection->peer.qpn,
		};
		break;
	case RNIC_CM_DREP:
		message->transaction_id = connection->disconnect_transaction_id;
		message->drep = (struct rnic_cm_drep){comm_id, peer_comm_id, {0}};
		break;
	case RNIC_CM_SIDR_REQ:
		message->sidr_req = (struct rnic_cm_sidr_req){
			.request_id = comm_id,
			.pkey = DEFAULT_PKEY,
			.service_id =
				rnic_service_id(connection->port_space, connection->peer_port),
		};
		put_addresses(connection, message->sidr_req.private_data);
		break;
	case RNIC_CM_SIDR_REP:
		compose_sidr_rep(connection, &message->sidr_rep);
		break;
	case RNIC_CM_LAP:
		assert(false); /* the manager never offers alternate paths */
		break;
	case RNIC_CM_APR:
		message->transaction_id = connection->disconnect_transaction_id;
		message->apr = (struct rnic_cm_apr){
			.local_comm_id = comm_id,
			.remote_comm_id = peer_comm_id,
			.status = RNIC_CM_APR_UNSUPPORTED,
		};
		break;
	}
}

struct cm_qp_parameters connection_peer_of_req(const struct rnic_cm_message *message)
{
	const struct rnic_cm_req *req = &message->req;

	return (struct cm_qp_parameters){
		.qpn = req->local_qpn,
		.psn = req->starting_psn,
		.qkey = req->local_qkey,
		.responder_resources = req->initiator_depth,
		.initiator_depth = req->responder_resources,
		.has_flow_control = req->flow_control,
		.has_srq = req->has_srq,
		.retry_count = req->retry_count,
		.rnr_retry_count = req->rnr_retry_count,
		.ece_vendor_id = req->vendor_id,
		.ece_options = message->attribute_modifier,
	};
}

struct cm_qp_parameters connection_peer_of_rep(const struct rnic_cm_message *message)
{
	const struct rnic_cm_rep *rep = &message->rep;

	return (struct cm_qp_parameters){
		.qpn = rep->local_qpn,
		.psn = rep->starting_psn,
		.qkey = rep->local_qkey,
		.responder_resources = rep->initiator_depth,
		.initiator_depth = rep->responder_resources,
		.has_flow_control = rep->flow_control,
		.has_srq = rep->has_srq,
		.rnr_retry_count = rep->rnr_retry_count,
		.ece_vendor_id = (uint32_t)rep->vendor_id_high << 16 |
				 (uint32_t)rep->vendor_id_middle << 8 | rep->vendor_id_low,
		.ece_options = message->attribute_modifier,
	};
}
