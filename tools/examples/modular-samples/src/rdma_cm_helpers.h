/* SPDX-License-Identifier: MIT */
/*
 * Connections: names to addresses and routes, asking, answering, ending, and the event loop.
 *
 * An event is copied and acknowledged at once (struct cm_notice), so that none is ever owed. All
 * functions that can fail return -1 after saying why.
 */
#ifndef RDMA_CM_HELPERS_H
#define RDMA_CM_HELPERS_H

#include "private_data.h"
#include "rdma_ctx.h"

struct cm_notice {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id; /* of a request: the new identifier, which is the taker's */
	uint8_t responder_resources, initiator_depth;
	uint8_t private_data[UINT8_MAX];
	size_t private_bytes;
};

/* --- the event loop -------------------------------------------------------------------------- */

/*
 * Waits for an event of that type. Others are passed over, but those that tell that it will never
 * come (refused, unreachable, disconnected, device gone) end the wait.
 */
int cm_wait(struct rdma_ctx *ctx, enum rdma_cm_event_type type, struct cm_notice *notice);

/* Takes an event if there is one, and notes in the context when it tells that the peer is gone. */
int cm_look(struct rdma_ctx *ctx);

/* --- a client -------------------------------------------------------------------------------- */

/*
 * Connects to the first address of the host that accepts: resolves address and route, builds all
 * on the device that this gives, says hello and takes the answer. cm_close() in any case.
 */
int cm_dial(struct rdma_ctx *ctx, const char *host, const char *port,
	    const struct private_data *hello, struct private_data *answer);

/* --- a server -------------------------------------------------------------------------------- */

/* Listens at the port, at all addresses when the host is NULL. cm_close() in any case. */
int cm_listen(struct rdma_ctx *listener, const char *host, const char *port);

/* Makes the request's identifier the context's, with a channel of its own. */
int cm_adopt(struct rdma_ctx *ctx, const struct cm_notice *request);

/* Answers the request that the context adopted, and waits until the connection stands. */
int cm_accept(struct rdma_ctx *ctx, const struct cm_notice *request,
	      const struct private_data *answer);

/* Turns the request down; the client is told what it could have had. */
void cm_refuse(struct rdma_cm_id *id, const struct private_data *limits);

/* --- both ------------------------------------------------------------------------------------ */

/* The peer's address and port, for people. */
const char *cm_peer_name(struct rdma_cm_id *id, char *text, size_t room);

/* Says goodbye, and waits until the peer has heard it. Harmless when it is gone. */
void cm_disconnect(struct rdma_ctx *ctx);

/* Destroys all that the context has; its regions must be gone. */
void cm_close(struct rdma_ctx *ctx);

#endif
