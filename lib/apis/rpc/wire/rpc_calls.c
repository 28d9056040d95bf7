/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_calls.h"

#include "lib/apis/rpc/wire/rpc_sender.h"

#include <string.h>

#define MS UINT64_C(1000000)

void rpc_calls_init(struct rpc_calls *calls)
{
	*calls = (struct rpc_calls){.oldest = 1, .next = 1, .waiting = 1};
}

static struct rpc_call *call_at(struct rpc_calls *calls, uint64_t id)
{
	return &calls->slots[id % RPC_CALLS_MAX];
}

static bool is_live(const struct rpc_call *call)
{
	return call->state == RPC_CALL_WAITING || call->state == RPC_CALL_SENT;
}

struct rpc_call *rpc_calls_begin(struct rpc_calls *calls, bool is_idempotent, uint64_t deadline_ns,
				 void *user)
{
	struct rpc_call *call = call_at(calls, calls->next);

	if (calls->next - calls->oldest >= RPC_CALLS_MAX)
		return NULL;
	*call = (struct rpc_call){
		.id = calls->next++,
		.state = RPC_CALL_WAITING,
		.is_idempotent = is_idempotent,
		.deadline_ns = deadline_ns,
		.user = user,
	};
	return call;
}

void rpc_calls_end(struct rpc_call *call, uint32_t status)
{
	if (!is_live(call))
		return;
	call->owes_cancel = call->state == RPC_CALL_SENT;
	call->status = status;
	call->state = RPC_CALL_ENDED;
}

static void end_without_server(struct rpc_call *call)
{
	rpc_calls_end(call, call->was_sent && !call->is_idempotent ? RNIC_RPC_OUTCOME_UNKNOWN
								   : RNIC_RPC_UNAVAILABLE);
	call->owes_cancel = false;
}

void rpc_calls_conversation_opened(struct rpc_calls *calls,
				   const uint8_t incarnation[RPC_IDENTITY_BYTES])
{
	bool is_same = calls->knows_incarnation &&
		       memcmp(calls->incarnation, incarnation, RPC_IDENTITY_BYTES) == 0;

	for (uint64_t id = calls->oldest; id != calls->next && !is_same; id++) {
		struct rpc_call *call = call_at(calls, id);

		if (is_live(call) && call->was_sent && !call->is_idempotent)
			end_without_server(call);
	}
	memcpy(calls->incarnation, incarnation, RPC_IDENTITY_BYTES);
	calls->knows_incarnation = true;
	calls->has_conversation = true;
}

void rpc_calls_conversation_lost(struct rpc_calls *calls)
{
	calls->has_conversation = false;
	calls->waiting = calls->oldest;
	for (uint64_t id = calls->oldest; id != calls->next; id++) {
		struct rpc_call *call = call_at(calls, id);

		if (call->state != RPC_CALL_SENT)
			continue;
		if (call->is_stream)
			rpc_calls_end(call, RNIC_RPC_OUTCOME_UNKNOWN);
		else
			call->state = RPC_CALL_WAITING;
	}
}

void rpc_calls_give_up(struct rpc_calls *calls)
{
	calls->has_conversation = false;
	for (uint64_t id = calls->oldest; id != calls->next; id++) {
		struct rpc_call *call = call_at(calls, id);

		if (is_live(call))
			end_without_server(call);
	}
}

void rpc_calls_refuse(struct rpc_calls *calls)
{
	for (uint64_t id = calls->oldest; id != calls->next; id++) {
		struct rpc_call *call = call_at(calls, id);

		if (is_live(call) && !call->waits_for_server)
			end_without_server(call);
	}
}

struct rpc_call *rpc_calls_take_waiting(struct rpc_calls *calls)
{
	if (calls->waiting < calls->oldest)
		calls->waiting = calls->oldest;
	while (calls->waiting != calls->next && calls->has_conversation) {
		struct rpc_call *call = call_at(calls, calls->waiting++);

		if (call->state != RPC_CALL_WAITING)
			continue;
		call->state = RPC_CALL_SENT;
		call->was_sent = true;
		call->sends++;
		return call;
	}
	return NULL;
}

void rpc_calls_describe(const struct rpc_calls *calls, const struct rpc_call *call,
			struct rpc_frame *frame, uint64_t now_ns)
{
	uint64_t left_ms = 0;

	if (call->deadline_ns != RPC_NEVER) {
		left_ms =
			call->deadline_ns > now_ns ? (call->deadline_ns - now_ns + MS - 1) / MS : 1;
		if (left_ms > UINT32_MAX)
			left_ms = UINT32_MAX;
	}
	frame->call = call->id;
	frame->settled = calls->oldest;
	frame->timeout_ms = (uint32_t)left_ms;
	frame->flags = call->is_idempotent ? RPC_FRAME_IDEMPOTENT : 0;
}

struct rpc_call *rpc_calls_find(struct rpc_calls *calls, uint64_t id)
{
	struct rpc_call *call = call_at(calls, id);

	return call->id == id && call->state == RPC_CALL_SENT ? call : NULL;
}

struct rpc_call *rpc_calls_answer(struct rpc_calls *calls, const struct rpc_frame *answer)
{
	struct rpc_call *call = rpc_calls_find(calls, answer->call);

	if (call == NULL)
		return NULL;
	call->status = answer->status;
	call->state = RPC_CALL_ENDED;
	return call;
}

uint64_t rpc_calls_next_deadline_ns(const struct rpc_calls *calls)
{
	uint64_t deadline = RPC_NEVER;

	for (uint64_t id = calls->oldest; id != calls->next; id++) {
		const struct rpc_call *call = &calls->slots[id % RPC_CALLS_MAX];

		if (is_live(call) && call->deadline_ns < deadline)
			deadline = call->deadline_ns;
	}
	return deadline;
}

void rpc_calls_tick(struct rpc_calls *calls, uint64_t now_ns)
{
	for (uint64_t id = calls->oldest; id != calls->next; id++) {
		struct rpc_call *call = call_at(calls, id);

		if (is_live(call) && now_ns >= call->deadline_ns)
			rpc_calls_end(call, RNIC_RPC_DEADLINE_EXCEEDED);
	}
}

bool rpc_calls_take_ended(struct rpc_calls *calls, struct rpc_call *ended)
{
	for (uint64_t id = calls->oldest; id != calls->next; id++) {
		struct rpc_call *call = call_at(calls, id);

		if (call->state != RPC_CALL_ENDED)
			continue;
		*ended = *call;
		call->state = RPC_CALL_FREE;
		while (calls->oldest != calls->next &&
		       call_at(calls, calls->oldest)->state == RPC_CALL_FREE)
			calls->oldest++;
		return true;
	}
	return false;
}
