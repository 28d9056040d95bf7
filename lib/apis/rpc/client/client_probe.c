/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/client/client_probe.h"

#define MS UINT64_C(1000000)

enum { SILENCE_MS = 50, AGAIN_MS = 1000, PROBE_RESOLVE_MS = 1000 };

uint64_t client_probe_due_ns(const struct client_probe *probe, const struct transport *transport,
			     const struct rpc_conversation *conversation)
{
	uint64_t due_ns;

	if (probe->state != PROBE_IDLE || transport->calls->is_same_peer == NULL ||
	    conversation->state != RPC_CONVERSATION_OPEN ||
	    conversation->unanswered_ns == RPC_NEVER)
		return RPC_NEVER;
	due_ns = conversation->unanswered_ns + SILENCE_MS * MS;
	return due_ns > probe->again_ns ? due_ns : probe->again_ns;
}

void client_probe_end(struct client_probe *probe)
{
	if (probe->id != NULL)
		rnic_cm_destroy_id(probe->id);
	if (probe->route != NULL)
		transport_close_route(probe->route);
	probe->id = NULL;
	probe->route = NULL;
	probe->state = PROBE_IDLE;
}

void client_probe_begin(struct client_probe *probe, struct rnic_cm_channel *channel,
			const struct transport *transport, const struct rnic_endpoint *server,
			uint64_t now_ns)
{
	probe->again_ns = now_ns + AGAIN_MS * MS;
	if (rnic_cm_create_id(channel, transport->calls->port_space, transport->calls->qp_type,
			      NULL, &probe->id) != 0)
		return;
	probe->state = PROBE_ADDRESS;
	if (rnic_cm_resolve_address(probe->id, NULL, server, PROBE_RESOLVE_MS) != 0)
		client_probe_end(probe);
}

bool client_probe_owns(const struct client_probe *probe, const struct rnic_cm_event *event)
{
	if (probe->id != NULL)
		return event->id == probe->id;
	return probe->route != NULL && rnic_cm_user(event->id) == probe->route;
}

/* The next step; false: there is none. */
static bool client_probe_goes_on(struct client_probe *probe, struct transport *transport,
				 const struct rnic_cm_event *event)
{
	struct rnic_cm_id *id = probe->id;

	if (probe->state == PROBE_ADDRESS && event->type == RNIC_CM_ADDR_RESOLVED) {
		probe->state = PROBE_ROUTE;
		return rnic_cm_resolve_route(id, PROBE_RESOLVE_MS) == 0;
	}
	if (probe->state != PROBE_ROUTE || event->type != RNIC_CM_ROUTE_RESOLVED)
		return false;
	probe->id = NULL;
	probe->state = PROBE_SERVICE;
	return transport->calls->seek(transport, id, &probe->route) == 0;
}

static enum probe_verdict client_probe_judge(const struct client_probe *probe,
					     const struct transport_route *conversation_route,
					     const struct rnic_cm_event *event)
{
	const struct transport_calls *calls = conversation_route->transport->calls;

	if (probe->state != PROBE_SERVICE)
		return PROBE_UNDECIDED;
	if (event->type == RNIC_CM_REJECTED && event->status == calls->nobody_listens)
		return PROBE_OTHER_SERVER;
	if (event->type != calls->found_event)
		return PROBE_UNDECIDED;
	return calls->is_same_peer(conversation_route, event) ? PROBE_SAME_SERVER
							      : PROBE_OTHER_SERVER;
}

enum probe_verdict client_probe_handle(struct client_probe *probe,
				       const struct transport_route *conversation_route,
				       const struct rnic_cm_event *event)
{
	enum probe_verdict verdict;

	if (client_probe_goes_on(probe, conversation_route->transport, event))
		return PROBE_UNDECIDED;
	verdict = client_probe_judge(probe, conversation_route, event);
	client_probe_end(probe);
	return verdict;
}
