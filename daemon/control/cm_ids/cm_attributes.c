/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm_ids/cm_attributes.h"

#include "daemon/control/cm_ids/cm_identifier.h"

#include <errno.h>

/* The peer's access to memory, within the rights of the regions' keys. */
#define CONNECTED_ACCESS                                                                           \
	(RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_ATOMIC)

/*
 * The attributes that do not depend on a peer: those for INIT, and all those of datagram services.
 */
static int initial_attributes(const struct client_cm_id *id, uint32_t state,
			      struct rnic_ctl_cm_qp_attributes_reply *reply)
{
	const bool is_datagram = id->qp_type == RNIC_QP_TYPE_UD;

	reply->attributes.state = state;
	reply->mask |= RNIC_QP_ATTR_STATE;
	if (state == RNIC_QP_STATE_INIT) {
		reply->attributes.port = 1;
		reply->attributes.qkey = is_datagram ? CM_UDP_QKEY : 0;
		reply->attributes.access_flags = is_datagram ? 0 : CONNECTED_ACCESS;
		reply->mask |= RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT |
			       (is_datagram ? RNIC_QP_ATTR_QKEY : RNIC_QP_ATTR_ACCESS_FLAGS);
		return 0;
	}
	if (!is_datagram)
		return -EINVAL;
	if (state == RNIC_QP_STATE_RTS)
		reply->mask |= RNIC_QP_ATTR_SQ_PSN;
	return 0;
}

/* Adds the attributes for the transition to `state`. */
static int add_attributes(const struct client_cm_id *id, uint32_t state,
			  struct rnic_ctl_cm_qp_attributes_reply *reply)
{
	uint32_t mask;
	int result;

	if (id->connection == NULL || id->qp_type == RNIC_QP_TYPE_UD || state == RNIC_QP_STATE_INIT)
		return initial_attributes(id, state, reply);
	result = cm_qp_attributes(id->connection, (enum rnic_qp_state)state, &reply->attributes,
				  &mask);
	if (result == 0)
		reply->mask |= mask;
	return result;
}

/*
 * The client has not answered yet but readies its QP: assume that its answer agrees to the request.
 */
static void assume_agreement(const struct client_cm_id *id, struct rnic_qp_attributes *attributes)
{
	attributes->max_dest_rd_atomic = id->asked.responder_resources;
	attributes->max_rd_atomic = id->asked.initiator_depth;
	attributes->retry_count = id->asked.retry_count;
	attributes->rnr_retry = id->asked.rnr_retry_count;
}

int cm_attributes_tell(const struct client_cm_id *id, uint32_t state, uint32_t next_state,
		       struct rnic_ctl_cm_qp_attributes_reply *reply)
{
	struct rnic_ctl_cm_endpoints_reply where;
	int result = add_attributes(id, state, reply);

	if (result == 0 && next_state != 0)
		result = add_attributes(id, next_state, reply);
	if (result != 0)
		return result;
	if (cm_identifier_state(id) == CM_ID_REQUESTED)
		assume_agreement(id, &reply->attributes);
	cm_identifier_describe(id, &where);
	reply->attributes.rq_psn = id->starting_psn;
	reply->attributes.path.source_gid_index = where.path.source_gid_index;
	if (id->min_rnr_timer != 0)
		reply->attributes.min_rnr_timer = id->min_rnr_timer;
	return 0;
}
