/* SPDX-License-Identifier: MIT */
/*
 * The calls of a client: the calls to send, the calls that wait, and the end of each. A machine
 * without I/O, clock or allocation, above the conversation of the moment.
 *
 * Every call ends exactly once, with an answer or an error. When a conversation is lost, its calls
 * wait for the next one. If that reaches the same incarnation of the server, the client sends them
 * again under their numbers, and the server's history (rpc_history.h) prevents a second execution.
 * If it is another incarnation, the client sends only the calls that are idempotent, or were never
 * sent; the others end with RNIC_RPC_OUTCOME_UNKNOWN.
 */
#ifndef LIB_APIS_RPC_WIRE_RPC_CALLS_H
#define LIB_APIS_RPC_WIRE_RPC_CALLS_H

#include "lib/apis/rpc/wire/rpc_frame.h"
#include "lib/apis/rpc/wire/rpc_packet.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The most calls between the oldest that has not ended and the newest; the server's history has the
 * same length.
 */
#define RPC_CALLS_MAX 256u

enum rpc_call_state {
	RPC_CALL_FREE,
	RPC_CALL_WAITING, /* to be sent */
	RPC_CALL_SENT,
	RPC_CALL_ENDED, /* not taken by rpc_calls_take_ended() yet */
};

struct rpc_call {
	uint64_t id;
	enum rpc_call_state state;
	bool is_idempotent;
	bool is_stream; /* the caller has seen part of the answer: the client does not send the call
			   again */
	bool waits_for_server; /* also while nobody listens there */
	bool was_sent;	       /* to the incarnation of `calls`, or to one before it */
	bool owes_cancel;
	uint32_t status; /* of ENDED: the server's number, or enum rnic_rpc_status */
	uint32_t sends;
	uint64_t deadline_ns; /* RPC_NEVER: none */
	void *user;
};

struct rpc_calls {
	struct rpc_call slots[RPC_CALLS_MAX]; /* by id */
	uint64_t oldest;		      /* all before it have been taken */
	uint64_t next;
	uint64_t waiting; /* no call before it is WAITING */
	bool has_conversation;
	bool knows_incarnation;
	uint8_t incarnation[RPC_IDENTITY_BYTES];
};

void rpc_calls_init(struct rpc_calls *calls);

/*
 * Adds a call. The result is valid until the call is taken as ended. NULL: RPC_CALLS_MAX calls are
 * in flight; wait for one to end.
 */
struct rpc_call *rpc_calls_begin(struct rpc_calls *calls, bool is_idempotent, uint64_t deadline_ns,
				 void *user);

/* Notes an open conversation with this incarnation of the server. */
void rpc_calls_conversation_opened(struct rpc_calls *calls,
				   const uint8_t incarnation[RPC_IDENTITY_BYTES]);

/*
 * Notes the end of the conversation; another one may follow. Streams end with
 * RNIC_RPC_OUTCOME_UNKNOWN.
 */
void rpc_calls_conversation_lost(struct rpc_calls *calls);

/*
 * Ends all calls, with RNIC_RPC_UNAVAILABLE or RNIC_RPC_OUTCOME_UNKNOWN: no conversation will
 * follow.
 */
void rpc_calls_give_up(struct rpc_calls *calls);

/* The same for the calls that do not wait for a server: nobody listens there now. */
void rpc_calls_refuse(struct rpc_calls *calls);

/* Returns a call to send in the open conversation, and notes it as sent; NULL: none. */
struct rpc_call *rpc_calls_take_waiting(struct rpc_calls *calls);

/* Fills in the call's fields of its frame: call, settled, timeout, flags. */
void rpc_calls_describe(const struct rpc_calls *calls, const struct rpc_call *call,
			struct rpc_frame *frame, uint64_t now_ns);

/* The call of that number, if it was sent and has not ended, or NULL. */
struct rpc_call *rpc_calls_find(struct rpc_calls *calls, uint64_t id);

/*
 * Takes an answer. Returns the call that it ends; NULL: that call has ended already, or never was.
 */
struct rpc_call *rpc_calls_answer(struct rpc_calls *calls, const struct rpc_frame *answer);

/*
 * Ends a call from this side, for example with RNIC_RPC_CANCELLED; does nothing for an ended call.
 */
void rpc_calls_end(struct rpc_call *call, uint32_t status);

uint64_t rpc_calls_next_deadline_ns(const struct rpc_calls *calls);

/* Ends the calls whose deadline has come. */
void rpc_calls_tick(struct rpc_calls *calls, uint64_t now_ns);

/*
 * Copies out one ended call and forgets it; false: none. With `owes_cancel` set, a CANCEL frame
 * saves the server the rest of the work.
 */
bool rpc_calls_take_ended(struct rpc_calls *calls, struct rpc_call *ended);

#endif
