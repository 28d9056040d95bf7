/* SPDX-License-Identifier: MIT */
#include "daemon/device/session_turn.h"

#include "daemon/device/queues/cqe_delivery.h"
#include "daemon/device/queues/doorbell.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/wire/gid.h"

_Static_assert(RNIC_GIDS_MAX == 32, "a bit for each GID");

void session_turn_begin(struct session_set *set, uint64_t now_ns)
{
	set->now_ns = now_ns;
	set->is_in_turn = true;
}

uint32_t session_turn_take_work(struct session_set *set)
{
	uint32_t rung = doorbell_take_all(set);
	uint32_t taken = 0, visits = 0;
	struct wait_batch batch;
	struct list *node;

	/* A turn serves each queue at most once. A queue with more WQEs goes to the end of the
	 * list. */
	scheduler_begin(&set->scheduler, WAIT_SEND_FETCH, &batch);
	while (visits++ < LIMIT_TURN_QUEUES && (node = scheduler_next(&batch)) != NULL) {
		scheduler_add(&set->scheduler, WAIT_SEND_FETCH, node);
		taken += wqe_fetch_take_sends(list_entry(node, struct session_qp, fetch_node),
					      LIMIT_TURN_QUEUE_ENTRIES);
	}
	scheduler_end(&set->scheduler, WAIT_SEND_FETCH, &batch);
	return taken != 0 ? taken : rung != 0;
}

/* A turn ends with their delivery: what waits now was raised outside a turn, by a request. */
static bool session_turn_has_events(const struct session_set *set)
{
	return scheduler_has(&set->scheduler, WAIT_CQ_NOTICE) ||
	       scheduler_has(&set->scheduler, WAIT_EVENT_WRITE);
}

bool session_turn_has_work(const struct session_set *set)
{
	const struct list *node;

	if (scheduler_has(&set->scheduler, WAIT_REVIEW) || session_turn_has_events(set))
		return true;
	scheduler_for_each (node, &set->scheduler, WAIT_SEND_FETCH) {
		const struct session_qp *qp = list_entry(node, struct session_qp, fetch_node);

		if (wqe_fetch_is_possible(qp))
			return true;
	}
	return false;
}

void session_turn_deliver(struct session_set *set, bool is_busy)
{
	wqe_fetch_run_reviews(set);
	cqe_delivery_run(set, is_busy);
	set->is_in_turn = false;
}

void session_turn_announce_sleep(struct session_set *set)
{
	struct list *node;

	scheduler_for_each (node, &set->scheduler, WAIT_DOORBELL_LOOK)
		session_announce_sleep(list_entry(node, struct session, look_node));
}

void session_turn_withdraw_sleep(struct session_set *set)
{
	struct list *node;

	scheduler_for_each (node, &set->scheduler, WAIT_DOORBELL_LOOK)
		session_withdraw_sleep(list_entry(node, struct session, look_node));
}

void session_turn_wake(struct session_set *set)
{
	struct list *node;

	list_for_each (node, &set->sessions)
		session_wake(list_entry(node, struct session, node));
}

static uint32_t session_gids_used(const struct session *session)
{
	const struct session_qp *qp;
	const struct session_ah *ah;
	uint32_t used = 0;

	for (uint32_t slot = 0; (qp = handle_table_next(&session->qps, &slot)) != NULL;)
		if (qp->qp->peer_window != NULL)
			used |= UINT32_C(1) << qp->qp->attributes.path.source_gid_index % 32;
	for (uint32_t slot = 0; (ah = handle_table_next(&session->ahs, &slot)) != NULL;)
		used |= UINT32_C(1) << ah->ah.path.source_gid_index % 32;
	return used;
}

uint32_t session_turn_gids_used(const struct session_set *set)
{
	const struct list *node;
	uint32_t used = 0;

	list_for_each (node, &set->sessions)
		used |= session_gids_used(list_entry(node, struct session, node));
	return used;
}

static bool session_uses_dest(const struct session *session, const struct rnic_gid *dest)
{
	const struct session_qp *qp;
	const struct session_ah *ah;

	for (uint32_t slot = 0; (qp = handle_table_next(&session->qps, &slot)) != NULL;)
		if (qp->qp->peer_window != NULL &&
		    rnic_gid_equal(&qp->qp->attributes.path.dest_gid, dest))
			return true;
	for (uint32_t slot = 0; (ah = handle_table_next(&session->ahs, &slot)) != NULL;)
		if (rnic_gid_equal(&ah->ah.path.dest_gid, dest))
			return true;
	return false;
}

bool session_turn_uses_dest(const struct session_set *set, const struct rnic_gid *dest)
{
	const struct list *node;

	list_for_each (node, &set->sessions)
		if (session_uses_dest(list_entry(node, struct session, node), dest))
			return true;
	return false;
}
