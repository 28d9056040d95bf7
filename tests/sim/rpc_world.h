/* SPDX-License-Identifier: MIT */
/*
 * A client and a server of the RPC's machines with a bad network between them, in virtual time and
 * from one seed. The server can die and come back as another incarnation.
 *
 * The world is also the oracle: it counts executions and ends of every call, and keeps the first
 * thing that was wrong in `failure`.
 */
#ifndef TESTS_SIM_RPC_WORLD_H
#define TESTS_SIM_RPC_WORLD_H

#include "lib/apis/rpc/wire/rpc_bulk.h"
#include "lib/apis/rpc/wire/rpc_calls.h"
#include "lib/apis/rpc/wire/rpc_conversation.h"
#include "lib/apis/rpc/wire/rpc_history.h"

#include "lib/nic/base/prng.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RPC_WORLD_MS		UINT64_C(1000000)
#define RPC_WORLD_CALLS		400
#define RPC_WORLD_CONVERSATIONS 4
#define RPC_WORLD_DATAGRAMS	1024
#define RPC_WORLD_MESSAGE_BYTES 40000u
#define RPC_WORLD_BODY_BYTES	200000u

struct rpc_world_link {
	uint32_t loss_ppm;
	uint32_t duplicate_ppm;
	uint32_t reorder_ppm;	/* comes some milliseconds late */
	uint32_t damage_ppm;	/* header bytes change; as if the ICRC had failed to see it */
	uint32_t largest_bytes; /* of a datagram that gets through; 0: any */
	uint64_t delay_ns;
};

struct rpc_world_datagram {
	uint64_t due_ns;
	uint32_t bytes;
	bool to_server;
	uint8_t *data; /* RPC_DATAGRAM_MAX_BYTES of world->data */
};

struct rpc_world_plan {
	bool is_idempotent;
	uint32_t request_bytes;
	uint32_t executions;	  /* in all */
	uint32_t executions_here; /* by the server's present incarnation */
	uint32_t ends;
	uint32_t status;
	bool was_answered_well;
	bool is_stream;
	/* Of the conversation that there is. */
	struct rpc_bulk_sender out; /* of a large request */
	uint32_t sent;
	bool is_receiving;
	struct rpc_bulk_receiver in; /* of a large answer, or a stream */
	uint32_t received;
};

struct rpc_world_end {
	struct rpc_conversation conversation;
	void *memory;
	bool is_used;
	uint64_t begun_ns;
};

struct rpc_world_work {
	bool is_used;
	uint64_t id;
	uint32_t end; /* whose conversation asked last */
	uint64_t finish_ns;
	uint32_t request_bytes;
	bool is_coming; /* its request is */
	struct rpc_bulk_receiver in;
	uint32_t received;
	bool is_stream;
	struct rpc_bulk_sender out;
	uint32_t sent;
};

/* A large answer on its way. */
struct rpc_world_transfer {
	bool is_used;
	uint64_t id;
	uint32_t end;
	uint32_t bytes;
	struct rpc_bulk_sender out;
	uint32_t sent;
};

struct rpc_world {
	struct prng prng;
	uint64_t now_ns;
	FILE *trace;
	const char *failure;
	struct rpc_conversation_config config; /* its offer_bytes is the larger of the two offers */
	uint32_t client_offer_bytes;
	uint32_t server_offer_bytes;
	struct rpc_world_link link;
	struct rpc_world_datagram flying[RPC_WORLD_DATAGRAMS];
	uint32_t flying_count;
	struct rpc_world_datagram arriving;
	uint8_t *data; /* of all these datagrams */

	struct rpc_calls calls;
	struct rpc_world_end client;
	uint32_t failed_opens;
	struct rpc_world_plan plans[RPC_WORLD_CALLS + 1]; /* by call, from 1 */

	bool is_server_up;
	struct rpc_history history;
	uint8_t incarnation[RPC_IDENTITY_BYTES];
	struct rpc_world_end ends[RPC_WORLD_CONVERSATIONS];
	struct rpc_world_work works[RPC_CALLS_MAX];
	struct rpc_world_transfer transfers[RPC_CALLS_MAX]; /* by call */

	uint64_t messages_out; /* heap held by messages under way */
	uint64_t conversations;
	uint64_t datagrams;
	uint64_t too_large; /* datagrams that did not get through for their size */
};

struct rpc_world *rpc_world_create(uint64_t seed, FILE *trace);
void rpc_world_destroy(struct rpc_world *world);

struct rpc_world_call {
	bool is_idempotent;
	bool is_stream;		/* the answer comes as one, of as many bytes */
	uint32_t request_bytes; /* up to RPC_WORLD_BODY_BYTES; the answer has as many */
	uint64_t timeout_ns;
};

/* False: no room for one more call now. */
bool rpc_world_call(struct rpc_world *world, const struct rpc_world_call *call);
void rpc_world_cancel(struct rpc_world *world, uint64_t call);
void rpc_world_kill_server(struct rpc_world *world);
void rpc_world_start_server(struct rpc_world *world);

/* Lets things happen until `until_ns`. */
void rpc_world_run(struct rpc_world *world, uint64_t until_ns);

bool rpc_world_is_quiet(const struct rpc_world *world);

/* At the end: the fault of the calls, or NULL. */
const char *rpc_world_judge(const struct rpc_world *world);

#endif
