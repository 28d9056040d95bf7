/* SPDX-License-Identifier: MIT */
#include "daemon/device/queues/doorbell.h"

#include "daemon/device/queues/session_queues.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "proto/shm/ring.h"

static void doorbell_take_one(struct session *session, uint32_t value)
{
	uint32_t slot = RNIC_DOORBELL_SLOT(value);
	struct session_qp *qp;

	if (RNIC_DOORBELL_KIND(value) > RNIC_DOORBELL_RECV || slot >= RNIC_SESSION_QPS_MAX) {
		session_break(session, "it rang doorbell %#x, which no queue can have", value);
		return;
	}
	qp = handle_table_at(&session->qps, slot);
	if (qp == NULL)
		return;
	if (RNIC_DOORBELL_KIND(value) == RNIC_DOORBELL_SEND)
		wqe_fetch_schedule(qp);
	else
		wqe_fetch_review(qp);
}

/*
 * The doorbell ring had no room, so the client could not name the queues. Any queue may have new
 * WQEs. A client may have very many, so a turn looks at some of them, and goes on from there until
 * it has looked at each one since the last doorbell was lost. Returns whether there were any left.
 */
static bool doorbell_look_at_lost(struct session *session)
{
	const uint32_t capacity = session->qps.capacity;
	const bool was_looking = session->lost_left > 0;

	for (uint32_t i = 0; i < LIMIT_TURN_LOST_SLOTS && session->lost_left > 0; i++) {
		struct session_qp *qp;

		if (session->lost_slot >= capacity)
			session->lost_slot = 0;
		qp = handle_table_at(&session->qps, session->lost_slot++);
		session->lost_left--;
		if (qp == NULL)
			continue;
		wqe_fetch_schedule(qp);
		wqe_fetch_review(qp);
	}
	return was_looking;
}

uint32_t doorbell_take(struct session *session)
{
	struct rnic_session_region *region = session_region(session);
	uint32_t producer = rnic_index_load(&region->doorbell_producer);
	int64_t pending =
		rnic_ring_pending(producer, session->doorbell_consumer, RNIC_DOORBELL_SLOTS);
	uint32_t lost;

	if (pending < 0) {
		session_break(session, "its doorbell ring claims more than it can hold");
		return 0;
	}
	for (int64_t i = 0; i < pending && !session->is_broken; i++) {
		uint32_t index = session->doorbell_consumer++ & (RNIC_DOORBELL_SLOTS - 1);

		doorbell_take_one(session, atomic_load_explicit(&region->doorbells[index],
								memory_order_relaxed));
	}
	if (pending > 0)
		rnic_index_publish(&session_status(session)->doorbell_consumer,
				   session->doorbell_consumer);
	/* Read the counter after the ring: the client counts a doorbell as lost only while the ring
	 * is full. */
	lost = rnic_index_load(&region->doorbells_lost);
	if (lost != session->doorbells_lost) {
		session->doorbells_lost = lost;
		session->lost_left = session->qps.capacity;
	}
	if (doorbell_look_at_lost(session))
		pending++;
	return (uint32_t)pending;
}

/*
 * Asks the client to wake the daemon, then looks once more: the client may have rung just before
 * without a wake-up.
 */
static uint32_t doorbell_go_idle(struct session *session)
{
	uint32_t taken;

	session_announce_sleep(session);
	taken = doorbell_take(session);
	if (taken > 0)
		session_withdraw_sleep(session);
	else
		scheduler_remove(&session->look_node);
	return taken;
}

uint32_t doorbell_take_all(struct session_set *set)
{
	struct wait_batch batch;
	struct list *node;
	uint32_t all = 0;

	scheduler_begin(&set->scheduler, WAIT_DOORBELL_LOOK, &batch);
	while ((node = scheduler_next(&batch)) != NULL) {
		struct session *session = list_entry(node, struct session, look_node);
		uint32_t taken;

		scheduler_add(&set->scheduler, WAIT_DOORBELL_LOOK, node);
		if (session->is_broken)
			continue;
		taken = doorbell_take(session);
		if (taken == 0 && set->now_ns - session->rung_ns >= LIMIT_DOORBELL_IDLE_NS)
			taken = doorbell_go_idle(session);
		if (taken > 0)
			session->rung_ns = set->now_ns;
		all += taken;
	}
	return all;
}
