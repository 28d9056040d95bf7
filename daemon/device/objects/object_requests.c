/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/object_requests.h"

#include <assert.h>

static int (*const object_handlers[RNIC_CTL_OPERATION_COUNT])(struct ctl_call *call) = {
	[RNIC_CTL_QUERY_PORT] = ctl_query_port,
	[RNIC_CTL_QUERY_GIDS] = ctl_query_gids,
	[RNIC_CTL_QUERY_PKEYS] = ctl_query_pkeys,
	[RNIC_CTL_ALLOC_PD] = ctl_alloc_pd,
	[RNIC_CTL_DEALLOC_PD] = ctl_dealloc_pd,
	[RNIC_CTL_REGISTER_MR] = ctl_register_mr,
	[RNIC_CTL_REREGISTER_MR] = ctl_reregister_mr,
	[RNIC_CTL_DEREGISTER_MR] = ctl_deregister_mr,
	[RNIC_CTL_ALLOC_MW] = ctl_alloc_mw,
	[RNIC_CTL_DEALLOC_MW] = ctl_dealloc_mw,
	[RNIC_CTL_CREATE_CHANNEL] = ctl_create_channel,
	[RNIC_CTL_DESTROY_CHANNEL] = ctl_destroy_channel,
	[RNIC_CTL_CREATE_CQ] = ctl_create_cq,
	[RNIC_CTL_RESIZE_CQ] = ctl_resize_cq,
	[RNIC_CTL_DESTROY_CQ] = ctl_destroy_cq,
	[RNIC_CTL_CREATE_QUEUE_REGION] = ctl_create_queue_region,
	[RNIC_CTL_DESTROY_QUEUE_REGION] = ctl_destroy_queue_region,
	[RNIC_CTL_CREATE_QP] = ctl_create_qp,
	[RNIC_CTL_MODIFY_QP] = ctl_modify_qp,
	[RNIC_CTL_QUERY_QP] = ctl_query_qp,
	[RNIC_CTL_DESTROY_QP] = ctl_destroy_qp,
	[RNIC_CTL_CREATE_AH] = ctl_create_ah,
	[RNIC_CTL_DESTROY_AH] = ctl_destroy_ah,
	[RNIC_CTL_ATTACH_MCAST] = ctl_attach_mcast,
	[RNIC_CTL_DETACH_MCAST] = ctl_detach_mcast,
	[RNIC_CTL_CREATE_SRQ] = ctl_create_srq,
	[RNIC_CTL_MODIFY_SRQ] = ctl_modify_srq,
	[RNIC_CTL_QUERY_SRQ] = ctl_query_srq,
	[RNIC_CTL_DESTROY_SRQ] = ctl_destroy_srq,
	[RNIC_CTL_OPEN_XRCD] = ctl_open_xrcd,
	[RNIC_CTL_CLOSE_XRCD] = ctl_close_xrcd,
	[RNIC_CTL_OPEN_QP] = ctl_open_qp,
	[RNIC_CTL_RESIZE_SRQ] = ctl_resize_srq,
	[RNIC_CTL_SHARE] = ctl_share,
	[RNIC_CTL_IMPORT] = ctl_import,
	[RNIC_CTL_IMPORT_PD] = ctl_import_pd,
	[RNIC_CTL_IMPORT_MR] = ctl_import_mr,
	[RNIC_CTL_WATCH_MEMORY] = ctl_watch_memory,
};

int object_request(struct ctl_call *call)
{
	const uint16_t operation = call->request.header.operation;

	assert(object_handlers[operation] != NULL);
	return object_handlers[operation](call);
}
