/* SPDX-License-Identifier: MIT */
/*
 * A server's memory of one client, over all its conversations: the calls that it has begun, and
 * their answers, until the client needs them no more. The history makes a call execute at most once
 * however often its request arrives.
 *
 * The incarnation that a server tells its client is a random number made with the history. A client
 * whose history is gone, dropped or dead with the server, sees another incarnation and knows the
 * meaning.
 *
 * The history holds RPC_CALLS_MAX calls and no more; it refuses a call beyond. Answers are the
 * owner's memory and come back through rpc_history_take_dropped().
 */
#ifndef LIB_APIS_RPC_WIRE_RPC_HISTORY_H
#define LIB_APIS_RPC_WIRE_RPC_HISTORY_H

#include "lib/apis/rpc/wire/rpc_calls.h"

#include <stdbool.h>
#include <stdint.h>

enum rpc_record_state {
	RPC_RECORD_UNSEEN,
	RPC_RECORD_EXECUTING,
	RPC_RECORD_ANSWERED,
	RPC_RECORD_CANCELLED, /* during its execution */
	RPC_RECORD_STATES,
};

/* What to do with a request. */
enum rpc_verdict {
	RPC_EXECUTE, /* and pass its answer to rpc_history_answer() */
	RPC_WAIT,    /* it executes already; the answer follows */
	RPC_REPEAT,  /* send the kept answer again */
	RPC_STALE,   /* the client has its answer or wants none: drop the request */
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
	uint64_t next;				  /* follows the newest noted call */
};

void rpc_history_init(struct rpc_history *history);

/*
 * Notes that the client needs no answer to calls before `settled`. Take the dropped answers before
 * the next request.
 */
void rpc_history_settle(struct rpc_history *history, uint64_t settled);

/* Notes the request; settle its `settled` first. With RPC_REPEAT, *answer is the answer. */
enum rpc_verdict rpc_history_request(struct rpc_history *history, const struct rpc_frame *request,
				     void **answer);

/* Whether a request of this call was noted, or settled. */
bool rpc_history_knows(const struct rpc_history *history, uint64_t call);

/* Whether this call executes and its answer is still wanted. */
bool rpc_history_is_wanted(const struct rpc_history *history, uint64_t call);

/* Notes that the client wants no answer to this call; does nothing unless the call executes. */
void rpc_history_cancel(struct rpc_history *history, uint64_t call);

/* Forgets a noted call that did not begin to execute: its next request begins again. */
void rpc_history_forget(struct rpc_history *history, uint64_t call);

/* The kept answer; NULL: none. */
void *rpc_history_kept(const struct rpc_history *history, uint64_t call);

/*
 * Keeps the answer of a call that executed. False: the client does not want the answer any more; it
 * stays the caller's.
 */
bool rpc_history_answer(struct rpc_history *history, uint64_t call, void *answer);

/* Returns an answer that is no longer needed, or with `is_over` any; NULL: none. */
void *rpc_history_take_dropped(struct rpc_history *history, bool is_over);

#endif
