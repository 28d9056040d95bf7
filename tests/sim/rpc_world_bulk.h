/* SPDX-License-Identifier: MIT */
/*
 * Large requests and answers, and streams, in the world of rpc_world.h. Chunks travel in frames.
 */
#ifndef TESTS_SIM_RPC_WORLD_BULK_H
#define TESTS_SIM_RPC_WORLD_BULK_H

#include "tests/sim/rpc_world.h"

/* ---- what the world lends ---- */

void rpc_world_fail(struct rpc_world *world, const char *what);
void rpc_world_send(struct rpc_world *world, struct rpc_conversation *conversation,
		    const struct rpc_frame *frame);

/* Byte `i` of a request, or with `is_answer` of its answer. */
static inline uint8_t rpc_world_pattern(uint64_t call, uint32_t i, bool is_answer)
{
	return (uint8_t)(call * 31 + i * 7 + (is_answer ? 101 : 0));
}

/* The request is there, whole. */
void rpc_world_execute(struct rpc_world *world, struct rpc_world_work *work);

/* ---- the client ---- */

/* Sends the request, or says that it is large; and offers room for a stream. */
void rpc_world_client_begins(struct rpc_world *world, uint64_t call, struct rpc_frame *request);
void rpc_world_client_pumps(struct rpc_world *world);

/* False: it is an answer like others. */
bool rpc_world_client_takes_bulk(struct rpc_world *world, const struct rpc_frame *frame);

/* The conversation has ended. */
void rpc_world_client_forgets(struct rpc_world *world);

/* ---- the server ---- */

void rpc_world_server_announces(struct rpc_world *world, uint32_t end, uint64_t call,
				uint32_t bytes);
void rpc_world_server_expects(struct rpc_world *world, struct rpc_world_work *work);

/* False: it is a request. */
bool rpc_world_server_takes_bulk(struct rpc_world *world, uint32_t end,
				 const struct rpc_frame *frame);
void rpc_world_server_cancels(struct rpc_world *world, uint64_t call);

/* Sends the stream's bytes as far as grants allow; true: the stream is over. */
bool rpc_world_server_streams(struct rpc_world *world, struct rpc_world_work *work);
void rpc_world_server_pumps(struct rpc_world *world);

/* The conversation has ended. */
void rpc_world_server_forgets(struct rpc_world *world, uint32_t end);

#endif
