/* SPDX-License-Identifier: MIT */
/*
 * What a server remembers of one client, over all its sessions: which calls it has begun, and their
 * answers, until the client says that it needs them no more. This is what makes a call execute at
 * most once however often its request arrives.
 *
 * The incarnation that a server tells its client is a random number made with the history: a client
 * whose history was given up, or died with the server, sees another one and knows what that means.
 *
 * It holds RPC_CALLS_MAX calls and no more: a client that goes beyond is refused. Answers are the
 * owner's memory and come back through rpc_history_take_dropped().
 */
#ifndef LIB_RPC_WIRE_RPC_HISTORY_H
#define LIB_RPC_WIRE_RPC_HISTORY_H

#include "rpc/wire/rpc_calls.h"

#include <stdbool.h>
#include <stdint.h>

enum rpc_record_state {
	RPC_RECORD_UNSEEN,
	RPC_RECORD_EXECUTING,
	RPC_RECORD_ANSWERED,
	RPC_RECORD_CANCELLED, /* while it executed */
	RPC_RECORD_STATES,
};

/* What to do with a request. */
enum rpc_verdict {
	RPC_EXECUTE, /* and rpc_history_answer() it */
	RPC_WAIT,    /* it executes already and will be answered */
	RPC_REPEAT,  /* send the answer that is there, again */
	RPC_STALE,   /* the client has its answer or wants none: drop it */
	RPC_REFUSE,  /* beyond the window: RNIC_RPC_OVERLOADED */
};

struct rpc_record {
	uint64_t id;
	enum rpc_record_state state;
	void *answer; /* of ANSWERED */
};

struct rpc_history {
	struct rpc_record records[RPC_CALLS_MAX]; /* by id */
	uint64_t settled;			  /* calls before it are over */
	uint64_t swept;				  /* answers before it have been given back */
	uint64_t next;				  /* after the newest that was noted */
};

void rpc_history_init(struct rpc_history *history);

/*
 * The client needs no answer to calls before `settled`. Take what is dropped then, before the next
 * request.
 */
void rpc_history_settle(struct rpc_history *history, uint64_t settled);

/* Notes the request, which was settled first. With RPC_REPEAT, *answer is the answer. */
enum rpc_verdict rpc_history_request(struct rpc_history *history, const struct rpc_frame *request,
				     void **answer);

/* Whether a request of this call was noted, or settled. */
bool rpc_history_knows(const struct rpc_history *history, uint64_t call);

/* Whether this call executes and its answer is still wanted. */
bool rpc_history_is_wanted(const struct rpc_history *history, uint64_t call);

/* The client wants no answer to this call; nothing if it does not execute. */
void rpc_history_cancel(struct rpc_history *history, uint64_t call);

/* The call was noted and did not begin to execute: a request of it begins again. */
void rpc_history_forget(struct rpc_history *history, uint64_t call);

/* The answer that is kept, or NULL. */
void *rpc_history_kept(const struct rpc_history *history, uint64_t call);

/*
 * Keeps the answer of a call that executed. False: the client wants it no more; the answer stays
 * the caller's.
 */
bool rpc_history_answer(struct rpc_history *history, uint64_t call, void *answer);

/* An answer that is no longer needed, or with `is_over` any; NULL: none. */
void *rpc_history_take_dropped(struct rpc_history *history, bool is_over);

#endif
