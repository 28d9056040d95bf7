/* SPDX-License-Identifier: MIT */
#include "device/session/session_set.h"

#include "common/client_limits.h"
#include "device/queues/queue_limits.h"
#include "engine/verbs/qp.h"
#include "cm_ids/cm_identifier.h"
#include "common/user_quota.h"
#include "device/queues/cqe_delivery.h"
#include "device/queues/doorbell.h"
#include "device/queues/wqe_fetch.h"
#include "device/session/sigbus_guard.h"
#include "device/session/teardown.h"
#include "device/session/trouble_log.h"
#include "wire/gid.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

static int session_set_multicast(void *context, const struct rnic_gid *group, bool is_wanted)
{
	const struct device_facts *facts = ((struct session_set *)context)->facts;

	return facts->join(facts->context, group, is_wanted);
}

const struct engine_sink session_set_sink = {
	.cqe = cqe_delivery_cqe,
	.async_event = cqe_delivery_async_event,
	.refill = wqe_fetch_refill,
	.posted = wqe_fetch_posted,
	.watch = wqe_fetch_watch,
	.multicast = session_set_multicast,
	.trouble = trouble_of_qp,
};

bool device_facts_has_gid(const struct device_facts *facts, uint32_t index)
{
	return index < facts->gids.count && !rnic_gid_is_zero(&facts->gids.entries[index].gid);
}

int session_set_init(struct session_set *set, struct engine *engine, struct cm *cm,
		     const struct device_facts *facts)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		return -errno;
	*set = (struct session_set){
		.engine = engine,
		.cm = cm,
		.facts = facts,
		.next_client_id = 1,
		.epoll_fd = epoll_fd,
	};
	quota_pool_init(&set->quotas);
	list_init(&set->sessions);
	list_init(&set->pre_hello);
	list_init(&set->clients);
	list_init(&set->awake);
	list_init(&set->unwoken);
	list_init(&set->event_pending);
	list_init(&set->resumes);
	list_init(&set->broken);
	list_init(&set->leaving);
	list_init(&set->ending);
	list_init(&set->wqe_fetch);
	list_init(&set->reviews);
	list_init(&set->dirty_cqs);
	list_init(&set->domains);
	return 0;
}

void session_set_fini(struct session_set *set)
{
	while (!list_is_empty(&set->sessions))
		teardown_at_once(list_first_entry(&set->sessions, struct session, node));
	user_quota_sweep(&set->quotas, true);
	assert(list_is_empty(&set->wqe_fetch) && list_is_empty(&set->reviews) &&
	       list_is_empty(&set->dirty_cqs));
	quota_pool_fini(&set->quotas);
	deferred_close_close(&set->deferred_close);
	close(set->epoll_fd);
}

uint32_t session_set_take_work(struct session_set *set)
{
	uint32_t rung = doorbell_take_all(set);
	uint32_t taken = 0, visits = 0;
	struct list *node, visited;

	/* Each queue is served at most once a turn; those that have more go to the end of the list.
	 */
	list_init(&visited);
	while (!list_is_empty(&set->wqe_fetch) && visits++ < LIMIT_TURN_QUEUES) {
		struct session_qp *qp =
			list_first_entry(&set->wqe_fetch, struct session_qp, wqe_fetch_node);

		list_remove(&qp->wqe_fetch_node);
		list_add_tail(&visited, &qp->wqe_fetch_node);
		taken += wqe_fetch_take_sends(qp, LIMIT_TURN_QUEUE_ENTRIES);
	}
	while (!list_is_empty(&visited)) {
		node = visited.next;
		list_remove(node);
		list_add_tail(&set->wqe_fetch, node);
	}
	return taken != 0 ? taken : rung != 0;
}

bool session_set_has_work(const struct session_set *set)
{
	const struct list *node;

	if (!list_is_empty(&set->reviews) || !list_is_empty(&set->broken) ||
	    !list_is_empty(&set->leaving) || !list_is_empty(&set->ending) ||
	    !list_is_empty(&set->resumes))
		return true;
	list_for_each (node, &set->wqe_fetch) {
		const struct session_qp *qp = list_entry(node, struct session_qp, wqe_fetch_node);

		if (wqe_fetch_is_possible(qp))
			return true;
	}
	return false;
}

void session_set_deliver(struct session_set *set, bool is_busy)
{
	wqe_fetch_run_reviews(set);
	cqe_delivery_run(set, is_busy);
}

void session_set_announce_sleep(struct session_set *set)
{
	struct list *node;

	list_for_each (node, &set->awake)
		doorbell_announce_sleep(list_entry(node, struct session, awake_node));
}

void session_set_withdraw_sleep(struct session_set *set)
{
	struct list *node;

	list_for_each (node, &set->awake)
		doorbell_withdraw_sleep(list_entry(node, struct session, awake_node));
}

static bool session_uses_gid(const struct session *session, uint32_t index)
{
	const struct session_qp *qp;
	const struct session_ah *ah;

	for (uint32_t slot = 0; (qp = handle_table_next(&session->qps, &slot)) != NULL;)
		if (qp->qp->peer_window != NULL &&
		    qp->qp->attributes.path.source_gid_index == index)
			return true;
	for (uint32_t slot = 0; (ah = handle_table_next(&session->ahs, &slot)) != NULL;)
		if (ah->ah.path.source_gid_index == index)
			return true;
	return false;
}

bool session_set_uses_gid(const struct session_set *set, uint32_t index)
{
	const struct list *node;

	list_for_each (node, &set->sessions)
		if (session_uses_gid(list_entry(node, struct session, node), index))
			return true;
	return false;
}

static bool session_uses_dest(const struct session *session, const struct rnic_gid *dest)
{
	const struct session_qp *qp;
	const struct session_ah *ah;
	const struct session_cm_id *id;

	for (uint32_t slot = 0; (qp = handle_table_next(&session->qps, &slot)) != NULL;)
		if (qp->qp->peer_window != NULL &&
		    rnic_gid_equal(&qp->qp->attributes.path.dest_gid, dest))
			return true;
	for (uint32_t slot = 0; (ah = handle_table_next(&session->ahs, &slot)) != NULL;)
		if (rnic_gid_equal(&ah->ah.path.dest_gid, dest))
			return true;
	for (uint32_t slot = 0; (id = handle_table_next(&session->cm_ids, &slot)) != NULL;)
		if (id->has_peer && rnic_gid_equal(&id->peer.gid, dest))
			return true;
	return false;
}

bool session_set_uses_dest(const struct session_set *set, const struct rnic_gid *dest)
{
	const struct list *node;

	list_for_each (node, &set->sessions)
		if (session_uses_dest(list_entry(node, struct session, node), dest))
			return true;
	return false;
}

uint64_t session_set_next_deadline_ns(const struct session_set *set)
{
	if (list_is_empty(&set->pre_hello))
		return UINT64_MAX;
	return list_first_entry(&set->pre_hello, const struct session, pre_hello_node)->hello_by_ns;
}

static void session_set_break_pre_hello(struct session_set *set)
{
	while (session_set_next_deadline_ns(set) <= set->now_ns) {
		struct session *session =
			list_first_entry(&set->pre_hello, struct session, pre_hello_node);

		list_remove(&session->pre_hello_node);
		session_break(session, "it did not say HELLO");
	}
}

void session_set_reap(struct session_set *set)
{
	uint32_t budget = LIMIT_TURN_TEARDOWN;

	session_set_break_pre_hello(set);
	sigbus_guard_break(set);
	while (!list_is_empty(&set->broken))
		teardown_begin(list_first_entry(&set->broken, struct session, broken_node));
	while (budget > 0 && !list_is_empty(&set->leaving))
		teardown_disconnect(list_first_entry(&set->leaving, struct session, broken_node),
				    &budget);
	while (budget > 0 && !list_is_empty(&set->ending))
		teardown_run(list_first_entry(&set->ending, struct session, broken_node), &budget);
}
