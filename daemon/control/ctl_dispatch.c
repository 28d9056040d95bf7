/* SPDX-License-Identifier: MIT */
#include "control/ctl_dispatch.h"

#include "ctl/ctl_check.h"
#include "ctl/ctl_cm.h"
#include "control/ctl_handlers.h"
#include "client/client.h"
#include "client/client_set.h"
#include "cm_ids/ctl_cm_handlers.h"
#include "control/troubles.h"
#include "device/device_half.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NO_PAYLOAD 0

/* The phase of a client's life in which an operation may come. */
enum ctl_phase {
	CTL_FIRST,  /* only as the first request */
	CTL_CLIENT, /* after HELLO, not in an admin session */
	CTL_ANY,    /* after HELLO */
};

static const struct ctl_operation {
	int (*handle)(struct ctl_call *call);
	uint16_t request_bytes;
	uint16_t reply_bytes;
	uint8_t fds_max;
	enum ctl_phase phase;
} ctl_operations[RNIC_CTL_OPERATION_COUNT] = {
	[RNIC_CTL_HELLO] = {ctl_hello, sizeof(struct rnic_ctl_hello),
			    sizeof(struct rnic_ctl_hello_reply), 1, CTL_FIRST},
	[RNIC_CTL_QUERY_PORT] = {device_half_request, NO_PAYLOAD,
				 sizeof(struct rnic_ctl_port_reply), 0, CTL_CLIENT},
	[RNIC_CTL_QUERY_GIDS] = {device_half_request, NO_PAYLOAD,
				 sizeof(struct rnic_ctl_gids_reply), 0, CTL_CLIENT},
	[RNIC_CTL_QUERY_PKEYS] = {device_half_request, NO_PAYLOAD,
				  sizeof(struct rnic_ctl_pkeys_reply), 0, CTL_CLIENT},
	[RNIC_CTL_ALLOC_PD] = {device_half_request, NO_PAYLOAD, sizeof(struct rnic_ctl_pd_reply), 0,
			       CTL_CLIENT},
	[RNIC_CTL_DEALLOC_PD] = {device_half_request, sizeof(struct rnic_ctl_object), NO_PAYLOAD, 0,
				 CTL_CLIENT},
	[RNIC_CTL_REGISTER_MR] = {device_half_request, sizeof(struct rnic_ctl_register_mr),
				  sizeof(struct rnic_ctl_register_mr_reply), 1, CTL_CLIENT},
	[RNIC_CTL_REREGISTER_MR] = {device_half_request, sizeof(struct rnic_ctl_reregister_mr),
				    NO_PAYLOAD, 1, CTL_CLIENT},
	[RNIC_CTL_DEREGISTER_MR] = {device_half_request, sizeof(struct rnic_ctl_object), NO_PAYLOAD,
				    0, CTL_CLIENT},
	[RNIC_CTL_ALLOC_MW] = {device_half_request, sizeof(struct rnic_ctl_alloc_mw),
			       sizeof(struct rnic_ctl_alloc_mw_reply), 0, CTL_CLIENT},
	[RNIC_CTL_DEALLOC_MW] = {device_half_request, sizeof(struct rnic_ctl_object), NO_PAYLOAD, 0,
				 CTL_CLIENT},
	[RNIC_CTL_CREATE_CHANNEL] = {device_half_request, NO_PAYLOAD,
				     sizeof(struct rnic_ctl_channel_reply), 0, CTL_CLIENT},
	[RNIC_CTL_DESTROY_CHANNEL] = {device_half_request, sizeof(struct rnic_ctl_object),
				      NO_PAYLOAD, 0, CTL_CLIENT},
	[RNIC_CTL_CREATE_CQ] = {device_half_request, sizeof(struct rnic_ctl_create_cq),
				sizeof(struct rnic_ctl_cq_reply), 0, CTL_CLIENT},
	[RNIC_CTL_RESIZE_CQ] = {device_half_request, sizeof(struct rnic_ctl_resize_cq),
				sizeof(struct rnic_ctl_cq_reply), 0, CTL_CLIENT},
	[RNIC_CTL_DESTROY_CQ] = {device_half_request, sizeof(struct rnic_ctl_object), NO_PAYLOAD, 0,
				 CTL_CLIENT},
	[RNIC_CTL_CREATE_QP] = {device_half_request, sizeof(struct rnic_ctl_create_qp),
				sizeof(struct rnic_ctl_create_qp_reply), 0, CTL_CLIENT},
	[RNIC_CTL_MODIFY_QP] = {device_half_request, sizeof(struct rnic_ctl_modify_qp), NO_PAYLOAD,
				0, CTL_CLIENT},
	[RNIC_CTL_QUERY_QP] = {device_half_request, sizeof(struct rnic_ctl_object),
			       sizeof(struct rnic_ctl_query_qp_reply), 0, CTL_CLIENT},
	[RNIC_CTL_DESTROY_QP] = {device_half_request, sizeof(struct rnic_ctl_object), NO_PAYLOAD, 0,
				 CTL_CLIENT},
	[RNIC_CTL_CREATE_AH] = {device_half_request, sizeof(struct rnic_ctl_create_ah),
				sizeof(struct rnic_ctl_ah_reply), 0, CTL_CLIENT},
	[RNIC_CTL_DESTROY_AH] = {device_half_request, sizeof(struct rnic_ctl_object), NO_PAYLOAD, 0,
				 CTL_CLIENT},
	[RNIC_CTL_ATTACH_MCAST] = {device_half_request, sizeof(struct rnic_ctl_mcast), NO_PAYLOAD,
				   0, CTL_CLIENT},
	[RNIC_CTL_DETACH_MCAST] = {device_half_request, sizeof(struct rnic_ctl_mcast), NO_PAYLOAD,
				   0, CTL_CLIENT},
	[RNIC_CTL_CREATE_SRQ] = {device_half_request, sizeof(struct rnic_ctl_create_srq),
				 sizeof(struct rnic_ctl_create_srq_reply), 0, CTL_CLIENT},
	[RNIC_CTL_MODIFY_SRQ] = {device_half_request, sizeof(struct rnic_ctl_modify_srq),
				 NO_PAYLOAD, 0, CTL_CLIENT},
	[RNIC_CTL_QUERY_SRQ] = {device_half_request, sizeof(struct rnic_ctl_object),
				sizeof(struct rnic_ctl_query_srq_reply), 0, CTL_CLIENT},
	[RNIC_CTL_DESTROY_SRQ] = {device_half_request, sizeof(struct rnic_ctl_object), NO_PAYLOAD,
				  0, CTL_CLIENT},
	[RNIC_CTL_OPEN_XRCD] = {device_half_request, sizeof(struct rnic_ctl_open_xrcd),
				sizeof(struct rnic_ctl_xrcd_reply), 1, CTL_CLIENT},
	[RNIC_CTL_CLOSE_XRCD] = {device_half_request, sizeof(struct rnic_ctl_object), NO_PAYLOAD, 0,
				 CTL_CLIENT},
	[RNIC_CTL_OPEN_QP] = {device_half_request, sizeof(struct rnic_ctl_open_qp),
			      sizeof(struct rnic_ctl_open_qp_reply), 0, CTL_CLIENT},
	[RNIC_CTL_CM_CREATE_CHANNEL] = {ctl_cm_create_channel, NO_PAYLOAD,
					sizeof(struct rnic_ctl_cm_channel_reply), 0, CTL_CLIENT},
	[RNIC_CTL_CM_DESTROY_CHANNEL] = {ctl_cm_destroy_channel, sizeof(struct rnic_ctl_object),
					 NO_PAYLOAD, 0, CTL_CLIENT},
	[RNIC_CTL_CM_GET_EVENT] = {ctl_cm_get_event, sizeof(struct rnic_ctl_object),
				   sizeof(struct rnic_ctl_cm_event_reply), 0, CTL_CLIENT},
	[RNIC_CTL_CM_CREATE_ID] = {ctl_cm_create_id, sizeof(struct rnic_ctl_cm_create_id),
				   sizeof(struct rnic_ctl_cm_id_reply), 0, CTL_CLIENT},
	[RNIC_CTL_CM_DESTROY_ID] = {ctl_cm_destroy_id, sizeof(struct rnic_ctl_object), NO_PAYLOAD,
				    0, CTL_CLIENT},
	[RNIC_CTL_CM_MIGRATE] = {ctl_cm_migrate, sizeof(struct rnic_ctl_cm_migrate), NO_PAYLOAD, 0,
				 CTL_CLIENT},
	[RNIC_CTL_CM_SET_OPTION] = {ctl_cm_set_option, sizeof(struct rnic_ctl_cm_set_option),
				    NO_PAYLOAD, 0, CTL_CLIENT},
	[RNIC_CTL_CM_QUERY] = {ctl_cm_query, sizeof(struct rnic_ctl_object),
			       sizeof(struct rnic_ctl_cm_endpoints_reply), 0, CTL_CLIENT},
	[RNIC_CTL_CM_BIND] = {ctl_cm_bind, sizeof(struct rnic_ctl_cm_bind),
			      sizeof(struct rnic_ctl_cm_endpoints_reply), 0, CTL_CLIENT},
	[RNIC_CTL_CM_RESOLVE_ADDRESS] = {ctl_cm_resolve_address,
					 sizeof(struct rnic_ctl_cm_resolve_address), NO_PAYLOAD, 0,
					 CTL_CLIENT},
	[RNIC_CTL_CM_RESOLVE_ROUTE] = {ctl_cm_resolve_route,
				       sizeof(struct rnic_ctl_cm_resolve_route), NO_PAYLOAD, 0,
				       CTL_CLIENT},
	[RNIC_CTL_CM_LISTEN] = {ctl_cm_listen, sizeof(struct rnic_ctl_cm_listen),
				sizeof(struct rnic_ctl_cm_endpoints_reply), 0, CTL_CLIENT},
	[RNIC_CTL_CM_CONNECT] = {ctl_cm_connect, sizeof(struct rnic_ctl_cm_connect), NO_PAYLOAD, 0,
				 CTL_CLIENT},
	[RNIC_CTL_CM_ACCEPT] = {ctl_cm_accept, sizeof(struct rnic_ctl_cm_connect), NO_PAYLOAD, 0,
				CTL_CLIENT},
	[RNIC_CTL_CM_REJECT] = {ctl_cm_reject, sizeof(struct rnic_ctl_cm_connect), NO_PAYLOAD, 0,
				CTL_CLIENT},
	[RNIC_CTL_CM_ESTABLISH] = {ctl_cm_establish, sizeof(struct rnic_ctl_object), NO_PAYLOAD, 0,
				   CTL_CLIENT},
	[RNIC_CTL_CM_DISCONNECT] = {ctl_cm_disconnect, sizeof(struct rnic_ctl_object), NO_PAYLOAD,
				    0, CTL_CLIENT},
	[RNIC_CTL_CM_NOTIFY] = {ctl_cm_notify, sizeof(struct rnic_ctl_cm_notify), NO_PAYLOAD, 0,
				CTL_CLIENT},
	[RNIC_CTL_CM_QP_ATTRIBUTES] = {ctl_cm_qp_attributes,
				       sizeof(struct rnic_ctl_cm_qp_attributes),
				       sizeof(struct rnic_ctl_cm_qp_attributes_reply), 0,
				       CTL_CLIENT},
	[RNIC_CTL_CM_JOIN_MCAST] = {ctl_cm_join_mcast, sizeof(struct rnic_ctl_cm_multicast),
				    NO_PAYLOAD, 0, CTL_CLIENT},
	[RNIC_CTL_CM_LEAVE_MCAST] = {ctl_cm_leave_mcast, sizeof(struct rnic_ctl_cm_multicast),
				     NO_PAYLOAD, 0, CTL_CLIENT},
	[RNIC_CTL_RESIZE_SRQ] = {device_half_request, sizeof(struct rnic_ctl_modify_srq),
				 sizeof(struct rnic_ctl_resize_srq_reply), 0, CTL_CLIENT},
	[RNIC_CTL_CM_RAISE] = {ctl_cm_raise, sizeof(struct rnic_ctl_object), NO_PAYLOAD, 0,
			       CTL_CLIENT},
	[RNIC_CTL_SHARE] = {device_half_request, NO_PAYLOAD, NO_PAYLOAD, 1, CTL_CLIENT},
	[RNIC_CTL_IMPORT] = {device_half_request, NO_PAYLOAD, NO_PAYLOAD, 1, CTL_CLIENT},
	[RNIC_CTL_IMPORT_PD] = {device_half_request, sizeof(struct rnic_ctl_import_pd),
				sizeof(struct rnic_ctl_pd_reply), 0, CTL_CLIENT},
	[RNIC_CTL_IMPORT_MR] = {device_half_request, sizeof(struct rnic_ctl_import_mr),
				sizeof(struct rnic_ctl_import_mr_reply), 0, CTL_CLIENT},
	[RNIC_CTL_SHOW] = {ctl_show, sizeof(struct rnic_ctl_show),
			   sizeof(struct rnic_ctl_show_reply), 0, CTL_ANY},
};

uint32_t ctl_request_bytes(uint16_t operation)
{
	return ctl_operations[operation].request_bytes;
}

/* Returns 0 when the operation may come now and in this form. */
static int ctl_check(struct ctl_call *call, const struct ctl_operation *operation)
{
	const struct client *client = call->client;
	const struct rnic_ctl_header *header = &call->request.header;

	if (header->bytes - sizeof(*header) != operation->request_bytes ||
	    call->fd_count > operation->fds_max)
		return ctl_refuse(call, -EPROTO, "%s has a wrong length or too many descriptors",
				  rnic_ctl_operation_name(header->operation));
	if ((operation->phase == CTL_FIRST) == client->has_greeted)
		return ctl_refuse(call, -EPROTO,
				  client->has_greeted ? "HELLO came twice"
						      : "a connection begins with HELLO");
	if (operation->phase != CTL_FIRST &&
	    (header->version < RNIC_CTL_VERSION_MIN || header->version > RNIC_CTL_VERSION_MAX))
		return ctl_refuse(call, -EPROTO, "version %u was not agreed on", header->version);
	if (operation->phase == CTL_CLIENT && client->is_admin)
		return ctl_refuse(call, -EPERM, "an admin connection can only ask for SHOW");
	return 0;
}

/*
 * Returns whether some clients are still to be freed that had ended when `call` first found too few
 * resources.
 */
static bool ctl_may_wait(struct ctl_call *call)
{
	const struct client_set *set = call->client->set;

	if (call->waits_for == 0)
		call->waits_for = set->ended_count;
	return set->freed_count < call->waits_for;
}

static void ctl_make_reply(struct ctl_call *call, int status)
{
	const struct rnic_ctl_header *request = &call->request.header;

	if (status != 0) {
		struct rnic_ctl_refusal *refusal = (void *)call->reply.payload;

		memset(refusal, 0, sizeof(*refusal));
		snprintf(refusal->reason, sizeof(refusal->reason), "%s",
			 call->reason[0] != '\0' ? call->reason : strerror(-status));
		call->reply_bytes = sizeof(*refusal);
	}
	call->reply.header = (struct rnic_ctl_header){
		.magic = RNIC_CTL_MAGIC,
		.version = RNIC_CTL_VERSION_MAX,
		.operation = request->operation,
		.request_id = request->request_id,
		.bytes = (uint32_t)sizeof(struct rnic_ctl_header) + call->reply_bytes,
		.status = status,
	};
}

int ctl_dispatch(struct ctl_call *call, size_t received)
{
	const struct ctl_operation *operation;
	int status = rnic_ctl_check_request(&call->request, received, call->fd_count);

	call->reason[0] = '\0';
	call->reply_fd_count = 0;
	if (status == -EPROTO) {
		client_break(call->client, "it sent something that is no control request");
		return -EPROTO;
	}
	if (status == 0) {
		operation = &ctl_operations[call->request.header.operation];
		status = ctl_check(call, operation);
		call->reply_bytes = operation->reply_bytes;
		memset(call->reply.payload, 0, call->reply_bytes);
		if (status == 0)
			status = operation->handle(call);
	}
	/*
	 * A request with descriptors does not wait: no account would own the descriptors meanwhile.
	 */
	if (status == -ENOSPC && call->fd_count == 0 && ctl_may_wait(call))
		status = -EINPROGRESS;
	if (status == -EINPROGRESS)
		return status;
	if (status == -EPROTO) {
		client_break(call->client, "%s", call->reason);
		return -EPROTO;
	}
	if (status != 0)
		trouble_of_request(call->client, call->request.header.operation, status,
				   call->reason);
	ctl_make_reply(call, status);
	return 0;
}
