/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_history.h"

#include <assert.h>

static const enum rpc_verdict verdicts[RPC_RECORD_STATES] = {
	[RPC_RECORD_UNSEEN] = RPC_EXECUTE,
	[RPC_RECORD_EXECUTING] = RPC_WAIT,
	[RPC_RECORD_ANSWERED] = RPC_REPEAT,
	[RPC_RECORD_CANCELLED] = RPC_STALE,
};

void rpc_history_init(struct rpc_history *history)
{
	*history = (struct rpc_history){.settled = 1, .swept = 1, .next = 1};
}

static struct rpc_record *record_at(struct rpc_history *history, uint64_t id)
{
	return &history->records[id % RPC_CALLS_MAX];
}

void rpc_history_settle(struct rpc_history *history, uint64_t settled)
{
	if (settled > history->settled)
		history->settled = settled;
}

enum rpc_verdict rpc_history_request(struct rpc_history *history, const struct rpc_frame *request,
				     void **answer)
{
	struct rpc_record *record = record_at(history, request->call);
	enum rpc_verdict verdict;

	if (request->call < history->settled)
		return RPC_STALE;
	if (request->call - history->settled >= RPC_CALLS_MAX)
		return RPC_REFUSE;
	if (record->id != request->call) {
		assert(record->state != RPC_RECORD_ANSWERED);
		*record = (struct rpc_record){.id = request->call};
	}
	if (request->call >= history->next)
		history->next = request->call + 1;
	verdict = verdicts[record->state];
	if (verdict == RPC_EXECUTE)
		record->state = RPC_RECORD_EXECUTING;
	if (verdict == RPC_REPEAT)
		*answer = record->answer;
	return verdict;
}

bool rpc_history_knows(const struct rpc_history *history, uint64_t call)
{
	return call < history->settled || history->records[call % RPC_CALLS_MAX].id == call;
}

bool rpc_history_is_wanted(const struct rpc_history *history, uint64_t call)
{
	const struct rpc_record *record = &history->records[call % RPC_CALLS_MAX];

	return call >= history->settled && record->id == call &&
	       record->state == RPC_RECORD_EXECUTING;
}

void rpc_history_cancel(struct rpc_history *history, uint64_t call)
{
	if (rpc_history_is_wanted(history, call))
		record_at(history, call)->state = RPC_RECORD_CANCELLED;
}

void rpc_history_forget(struct rpc_history *history, uint64_t call)
{
	if (rpc_history_is_wanted(history, call))
		*record_at(history, call) = (struct rpc_record){0};
}

void *rpc_history_kept(const struct rpc_history *history, uint64_t call)
{
	const struct rpc_record *record = &history->records[call % RPC_CALLS_MAX];
	bool is_kept = call >= history->settled && record->id == call &&
		       record->state == RPC_RECORD_ANSWERED;

	return is_kept ? record->answer : NULL;
}

bool rpc_history_answer(struct rpc_history *history, uint64_t call, void *answer)
{
	struct rpc_record *record = record_at(history, call);

	if (!rpc_history_is_wanted(history, call))
		return false;
	record->answer = answer;
	record->state = RPC_RECORD_ANSWERED;
	return true;
}

void *rpc_history_take_dropped(struct rpc_history *history, bool is_over)
{
	if (is_over)
		rpc_history_settle(history, history->next);
	for (; history->swept < history->settled && history->swept < history->next;
	     history->swept++) {
		struct rpc_record *record = record_at(history, history->swept);
		void *answer = record->answer;

		if (record->id != history->swept || record->state != RPC_RECORD_ANSWERED)
			continue;
		*record = (struct rpc_record){0};
		return answer;
	}
	history->swept = history->settled;
	return NULL;
}
