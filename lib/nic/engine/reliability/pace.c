/* SPDX-License-Identifier: MIT */
#include "engine/reliability/pace.h"

#include "engine/engine.h"
#include "engine/limits.h"
#include "engine/verbs/qp.h"

#include <assert.h>

#define NS_PER_MS UINT64_C(1000000)

/* What fills an empty allowance. */
#define BURST_NS (LIMIT_PACE_BURST_BYTES * NS_PER_MS / LIMIT_PACE_BYTES_PER_MS)

void pace_init(struct pace *pace)
{
	*pace = (struct pace){.allowance_bytes = LIMIT_PACE_BURST_BYTES};
	list_init(&pace->waiting);
}

static void grow(struct pace *pace, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - pace->counted_ns;
	uint64_t bytes;

	if (elapsed_ns >= BURST_NS) {
		pace->allowance_bytes = LIMIT_PACE_BURST_BYTES;
		pace->counted_ns = now_ns;
		return;
	}
	/* Time that is too short for a byte is counted with the next. */
	bytes = elapsed_ns * LIMIT_PACE_BYTES_PER_MS / NS_PER_MS;
	pace->counted_ns +=
		(bytes * NS_PER_MS + LIMIT_PACE_BYTES_PER_MS - 1) / LIMIT_PACE_BYTES_PER_MS;
	pace->allowance_bytes += bytes;
	if (pace->allowance_bytes > LIMIT_PACE_BURST_BYTES)
		pace->allowance_bytes = LIMIT_PACE_BURST_BYTES;
}

/* When half a burst will be there, of which there is less now. */
static uint64_t half_burst_at_ns(const struct pace *pace)
{
	uint64_t missing_bytes = LIMIT_PACE_BURST_BYTES / 2 - pace->allowance_bytes;

	return pace->counted_ns + missing_bytes * NS_PER_MS / LIMIT_PACE_BYTES_PER_MS + 1;
}

bool pace_try_take(struct pace *pace, uint32_t bytes, uint64_t now_ns, uint64_t *ready_ns)
{
	assert(bytes <= LIMIT_PACE_BURST_BYTES / 2);
	grow(pace, now_ns);
	if (pace->allowance_bytes >= bytes) {
		pace->allowance_bytes -= bytes;
		return true;
	}
	*ready_ns = half_burst_at_ns(pace);
	return false;
}

static bool is_first(const struct pace *pace, const struct qp *qp)
{
	return pace->waiting.next == &qp->path_node;
}

/* The turn of the first begins, now or when the allowance has grown. */
static void pace_pass_turn(struct engine *engine)
{
	struct pace *pace = &engine->pace;
	struct qp *first;

	pace->has_served = false;
	if (list_is_empty(&pace->waiting))
		return;
	first = list_first_entry(&pace->waiting, struct qp, path_node);
	if (pace->allowance_bytes >= first->requester.path_wait_bytes)
		qp_make_ready(first);
	else
		retry_pace(engine, first, half_burst_at_ns(pace));
}

bool pace_try_send(struct engine *engine, struct qp *qp, uint32_t bytes)
{
	struct pace *pace = &engine->pace;
	bool had_turn = is_first(pace, qp);
	uint64_t ready_ns;

	if ((had_turn || list_is_empty(&pace->waiting)) &&
	    pace_try_take(pace, bytes, engine->now_ns, &ready_ns)) {
		pace->has_served = true;
		return true;
	}
	qp->requester.path_wait_bytes = bytes;
	if (had_turn && pace->has_served)
		list_remove(&qp->path_node);
	if (!list_is_linked(&qp->path_node))
		list_add_tail(&pace->waiting, &qp->path_node);
	if (had_turn || is_first(pace, qp))
		pace_pass_turn(engine);
	return false;
}

void pace_leave(struct engine *engine, struct qp *qp)
{
	bool had_turn = is_first(&engine->pace, qp);

	list_remove(&qp->path_node);
	if (had_turn)
		pace_pass_turn(engine);
}
