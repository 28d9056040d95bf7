/* SPDX-License-Identifier: MIT */
/*
 * Connections: names to addresses and routes, connecting, accepting, ending, and the event loop.
 *
 * The event loop copies an event and acknowledges it at once (struct cm_notice), so that no event
 * stays unacknowledged. All functions that can fail return -1 after a line with the reason.
 */
#ifndef RDMA_CM_HELPERS_H
#define RDMA_CM_HELPERS_H

#include "private_data.h"
#include "rdma_ctx.h"

struct cm_notice {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id; /* for a request: the new identifier, which is the taker's */
	uint8_t responder_resources, initiator_depth;
	uint8_t private_data[UINT8_MAX];
	size_t private_bytes;
};

/* --- the event loop -------------------------------------------------------------------------- */

/*
 * Waits for an event of that type and skips others. An event that rules it out (refused,
 * unreachable, disconnected, device gone) ends the wait.
 */
int cm_wait(struct rdma_ctx *ctx, enum rdma_cm_event_type type, struct cm_notice *notice);

/* Takes an event if there is one, and notes in the context that the peer is gone. */
int cm_look(struct rdma_ctx *ctx);

/* --- a client -------------------------------------------------------------------------------- */

/*
 * Connects to the first address of the host that accepts: resolves address and route, builds all
 * objects on the resulting device, sends the hello and takes the answer. Call cm_close() in any
 * case.
 */
int cm_dial(struct rdma_ctx *ctx, const char *host, const char *port,
	    const struct private_data *hello, struct private_data *answer);

/* --- a server -------------------------------------------------------------------------------- */

/* Listens at the port, at all addresses when the host is NULL. Call cm_close() in any case. */
int cm_listen(struct rdma_ctx *listener, const char *host, const char *port);

/* Gives the request's identifier to the context, with a channel of its own. */
int cm_adopt(struct rdma_ctx *ctx, const struct cm_notice *request);

/* Accepts the request that the context adopted, and waits until the connection stands. */
int cm_accept(struct rdma_ctx *ctx, const struct cm_notice *request,
	      const struct private_data *answer);

/* Refuses the request and tells the client the limits. */
void cm_refuse(struct rdma_cm_id *id, const struct private_data *limits);

/* --- both ------------------------------------------------------------------------------------ */

/* The peer's address and port, for people. */
const char *cm_peer_name(struct rdma_cm_id *id, char *text, size_t room);

/* Disconnects, and waits until the peer has received it. Harmless when the peer is gone. */
void cm_disconnect(struct rdma_ctx *ctx);

/* Destroys all objects of the context; its regions must be gone. */
void cm_close(struct rdma_ctx *ctx);

#endif
