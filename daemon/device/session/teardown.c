/* SPDX-License-Identifier: MIT */
#include "device/session/teardown.h"

#include "cm_ids/cm_identifier.h"
#include "device/session/session.h"
#include "device/session/session_set.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* A microsecond is about 4. */
#define COST_MAPPING 32
#define COST_BYTES   8192 /* of a mapping, for each 1 more */
#define COST_PIPE    16
#define COST_SESSION 128

static uint32_t cost_of_mapping(uint64_t bytes)
{
	return COST_MAPPING + (uint32_t)(bytes / COST_BYTES);
}

static uint32_t teardown_end_qp(struct session *session, void *object)
{
	struct session_qp *qp = object;
	const uint32_t cost = cost_of_mapping(qp->region.bytes);

	session_free_qp(session, qp);
	return cost;
}

static uint32_t end_srq(struct session *session, void *object)
{
	struct session_srq *srq = object;
	const uint32_t cost = cost_of_mapping(srq->region.bytes);

	session_free_srq(session, srq);
	return cost;
}

static uint32_t end_cq(struct session *session, void *object)
{
	struct session_cq *cq = object;
	const uint32_t cost = cost_of_mapping(cq->region.bytes);

	session_free_cq(session, cq);
	return cost;
}

static uint32_t end_mr(struct session *session, void *object)
{
	const uint64_t mapped_bytes = session->files.bytes;
	const uint64_t mappings = session->files.count;

	session_free_mr(session, object);
	return session->files.count == mappings
		       ? 1
		       : cost_of_mapping(mapped_bytes - session->files.bytes);
}

static uint32_t end_channel(struct session *session, void *object)
{
	session_free_channel(session, object);
	return COST_PIPE;
}

static uint32_t end_cm_channel(struct session *session, void *object)
{
	cm_channel_free(session, object);
	return COST_PIPE;
}

/* A listener takes the requests that nobody fetched with it, each an identifier: one by one. */
static uint32_t end_cm_id(struct session *session, void *object)
{
	(void)session;
	if (!cm_identifier_drop_event(object))
		cm_identifier_free(object);
	return 1;
}

static uint32_t end_xrcd(struct session *session, void *object)
{
	session_free_xrcd(session, object);
	return 1;
}

static uint32_t end_ah(struct session *session, void *object)
{
	session_free_ah(session, object);
	return 1;
}

static uint32_t end_mw(struct session *session, void *object)
{
	session_free_mw(session, object);
	return 1;
}

static uint32_t end_pd(struct session *session, void *object)
{
	session_free_pd(session, object);
	return 1;
}

/*
 * What others wait for first: connections, whose peers are to be told, and ports. Users before what
 * they use: QPs name SRQs, XRCDs, CQs and PDs, SRQs name XRCDs, CQs and PDs, MWs
 * name QPs and MRs, MRs, MWs and AHs name PDs, CQs and identifiers name channels. `end` frees the
 * object, or a part of it, and tells the cost.
 */
static const struct {
	size_t table; /* offset of a struct handle_table */
	uint32_t (*end)(struct session *session, void *object);
} teardown_stages[] = {
	{offsetof(struct session, cm_ids), end_cm_id},
	{offsetof(struct session, cm_channels), end_cm_channel},
	{offsetof(struct session, mws), end_mw},
	{offsetof(struct session, qps), teardown_end_qp},
	{offsetof(struct session, srqs), end_srq},
	{offsetof(struct session, xrcds), end_xrcd},
	{offsetof(struct session, ahs), end_ah},
	{offsetof(struct session, cqs), end_cq},
	{offsetof(struct session, channels), end_channel},
	{offsetof(struct session, mrs), end_mr},
	{offsetof(struct session, pds), end_pd},
};

#define CONNECTION_STAGES 1

void teardown_begin(struct session *session)
{
	struct session_set *set = session->set;
	struct session_xrcd *xrcd;
	struct session_pd *pd;

	assert(session->is_broken);
	for (uint32_t slot = 0; (pd = handle_table_next(&session->pds, &slot)) != NULL;)
		pd->pd.is_closed = true;
	for (uint32_t slot = 0; (xrcd = handle_table_next(&session->xrcds, &slot)) != NULL;)
		session_leave_domain(xrcd);
	session_cut(session);
	list_remove(&session->broken_node);
	list_add_tail(&set->leaving, &session->broken_node);
}

/* Frees objects of the first `stages` stages; returns whether that was all of them. */
static bool end_objects(struct session *session, uint32_t stages, uint32_t *budget)
{
	struct teardown *teardown = &session->teardown;

	while (*budget > 0 && teardown->stage < stages) {
		const struct handle_table *table =
			(const void *)((const uint8_t *)session +
				       teardown_stages[teardown->stage].table);
		uint32_t next = teardown->slot;
		void *object = handle_table_next(table, &next);
		uint32_t cost;

		if (object == NULL) {
			teardown->stage++;
			teardown->slot = 0;
			continue;
		}
		teardown->slot = next - 1; /* it may not be all of it */
		cost = teardown_stages[teardown->stage].end(session, object);
		*budget -= cost < *budget ? cost : *budget;
	}
	return teardown->stage >= stages;
}

static void teardown_finish(struct session *session)
{
	for (unsigned i = 0; i < RNIC_COUNT_OF(teardown_stages); i++)
		handle_table_fini((void *)((uint8_t *)session + teardown_stages[i].table));
	session_destroy(session);
}

void teardown_disconnect(struct session *session, uint32_t *budget)
{
	if (!end_objects(session, CONNECTION_STAGES, budget))
		return;
	list_remove(&session->broken_node);
	list_add_tail(&session->set->ending, &session->broken_node);
}

bool teardown_run(struct session *session, uint32_t *budget)
{
	if (!end_objects(session, RNIC_COUNT_OF(teardown_stages), budget))
		return false;
	*budget -= COST_SESSION < *budget ? COST_SESSION : *budget;
	teardown_finish(session);
	return true;
}

void teardown_at_once(struct session *session)
{
	uint32_t budget;

	session_end(session);
	if (session->socket_fd >= 0)
		teardown_begin(session);
	do
		budget = UINT32_MAX;
	while (!teardown_run(session, &budget));
}
