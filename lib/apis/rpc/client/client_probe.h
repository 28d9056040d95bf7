/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether a silent server is still the one of the conversation. Nobody answers datagrams
 * for a queue pair that is gone, but the host's connection manager knows the queue pair of the
 * port: the probe asks it after 50 ms without an answer, and again each second.
 *
 * For transports that notice the end of their peer by themselves the probe does nothing.
 */
#ifndef LIB_APIS_RPC_CLIENT_CLIENT_PROBE_H
#define LIB_APIS_RPC_CLIENT_CLIENT_PROBE_H

#include "lib/apis/rpc/transport/transport.h"

enum probe_state { PROBE_IDLE, PROBE_ADDRESS, PROBE_ROUTE, PROBE_SERVICE };

enum probe_verdict {
	PROBE_UNDECIDED,
	PROBE_SAME_SERVER,
	PROBE_OTHER_SERVER, /* or none: nobody listens there */
};

struct client_probe {
	enum probe_state state;
	struct rnic_cm_id *id;	       /* in ADDRESS and ROUTE */
	struct transport_route *route; /* in SERVICE */
	uint64_t again_ns;	       /* the next one not before */
};

/* When the conversation's silence is long enough; RPC_NEVER: there is nothing to find out. */
uint64_t client_probe_due_ns(const struct client_probe *probe, const struct transport *transport,
			     const struct rpc_conversation *conversation);

/* Asks the manager of `server`. An error ends the probe; the next one is due later. */
void client_probe_begin(struct client_probe *probe, struct rnic_cm_channel *channel,
			const struct transport *transport, const struct rnic_endpoint *server,
			uint64_t now_ns);

/* Whether the event is for the probe. */
bool client_probe_owns(const struct client_probe *probe, const struct rnic_cm_event *event);

/* Takes such an event; `conversation_route` is the conversation's. */
enum probe_verdict client_probe_handle(struct client_probe *probe,
				       const struct transport_route *conversation_route,
				       const struct rnic_cm_event *event);

/* Ends the probe, if there is one. */
void client_probe_end(struct client_probe *probe);

#endif
