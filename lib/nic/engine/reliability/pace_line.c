/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/pace_line.h"

#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/retry_timer.h"

static bool pace_line_is_first(const struct pace *pace, const struct qp *qp)
{
	return pace->waiting.next == &qp->path_node;
}

/* The turn of the first begins, now or when the allowance has grown. */
static void pace_line_pass_turn(struct engine *engine)
{
	struct pace *pace = &engine->pace;
	struct qp *first;

	pace->has_served = false;
	if (list_is_empty(&pace->waiting))
		return;
	first = list_first_entry(&pace->waiting, struct qp, path_node);
	if (pace->allowance_bytes >= first->requester.path_wait_bytes)
		ready_list_add(first);
	else
		retry_timer_pace(engine, first, pace_half_burst_at_ns(pace));
}

bool pace_line_try_send(struct engine *engine, struct qp *qp, uint32_t bytes)
{
	struct pace *pace = &engine->pace;
	bool had_turn = pace_line_is_first(pace, qp);
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
	if (had_turn || pace_line_is_first(pace, qp))
		pace_line_pass_turn(engine);
	return false;
}

void pace_line_leave(struct engine *engine, struct qp *qp)
{
	bool had_turn = pace_line_is_first(&engine->pace, qp);

	list_remove(&qp->path_node);
	if (had_turn)
		pace_line_pass_turn(engine);
}
