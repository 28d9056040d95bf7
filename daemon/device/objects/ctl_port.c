/* SPDX-License-Identifier: MIT */
/* Requests about the port: state, GIDs, partitions. */
#include "daemon/device/objects/object_requests.h"

#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"

#include <string.h>

int ctl_query_port(struct ctl_call *call)
{
	memcpy(call->reply.payload, &call->session->set->facts->port,
	       sizeof(struct rnic_ctl_port_reply));
	return 0;
}

int ctl_query_gids(struct ctl_call *call)
{
	memcpy(call->reply.payload, &call->session->set->facts->gids,
	       sizeof(struct rnic_ctl_gids_reply));
	return 0;
}

int ctl_query_pkeys(struct ctl_call *call)
{
	memcpy(call->reply.payload, &call->session->set->facts->pkeys,
	       sizeof(struct rnic_ctl_pkeys_reply));
	return 0;
}
