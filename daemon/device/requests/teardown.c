/* SPDX-License-Identifier: MIT */
#include "daemon/device/requests/teardown.h"

#include "daemon/device/objects/session_objects.h"
#include "daemon/device/session/session.h"
#include "proto/base/bits.h"

#include <stddef.h>

/* One microsecond is about 4 units of cost. */
#define COST_MAPPING 32
#define COST_BYTES   8192 /* bytes of a mapping that cost 1 more */
#define COST_PIPE    16
#define COST_QP	     8

static uint32_t cost_of_mapping(uint64_t bytes)
{
	return COST_MAPPING + (uint32_t)(bytes / COST_BYTES);
}

static uint32_t teardown_end_qp(struct session *session, void *object)
{
	session_free_qp(session, object);
	return COST_QP;
}

static uint32_t end_queue_region(struct session *session, void *object)
{
	struct session_queue_region *queue_region = object;
	const uint32_t cost = cost_of_mapping(queue_region->region.bytes);

	session_free_queue_region(session, queue_region);
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
 * Ends users before the objects that they use: QPs name queue regions, SRQs, XRCDs, CQs and PDs;
 * SRQs name XRCDs, CQs and PDs; MWs name QPs and MRs; MRs, MWs and AHs name PDs; CQs name channels.
 * `end` frees the object and returns the cost.
 */
static const struct {
	size_t table; /* offset of a struct handle_table */
	uint32_t (*end)(struct session *session, void *object);
} teardown_stages[] = {
	{offsetof(struct session, mws), end_mw},
	{offsetof(struct session, qps), teardown_end_qp},
	{offsetof(struct session, queue_regions), end_queue_region},
	{offsetof(struct session, srqs), end_srq},
	{offsetof(struct session, xrcds), end_xrcd},
	{offsetof(struct session, ahs), end_ah},
	{offsetof(struct session, cqs), end_cq},
	{offsetof(struct session, channels), end_channel},
	{offsetof(struct session, mrs), end_mr},
	{offsetof(struct session, pds), end_pd},
};

void teardown_begin(struct session *session)
{
	struct session_xrcd *xrcd;
	struct session_pd *pd;

	session->is_broken = true;
	for (uint32_t slot = 0; (pd = handle_table_next(&session->pds, &slot)) != NULL;)
		pd->pd.is_closed = true;
	for (uint32_t slot = 0; (xrcd = handle_table_next(&session->xrcds, &slot)) != NULL;)
		session_leave_domain(xrcd);
	session_cut(session);
}

/* Frees objects. Returns whether it has freed all of them. */
static bool teardown_end_objects(struct session *session, uint32_t *budget)
{
	struct teardown *teardown = &session->teardown;

	while (*budget > 0 && teardown->stage < RNIC_COUNT_OF(teardown_stages)) {
		const struct handle_table *table =
			(const void *)((const uint8_t *)session +
				       teardown_stages[teardown->stage].table);
		void *object = handle_table_next(table, &teardown->slot);
		uint32_t cost;

		if (object == NULL) {
			teardown->stage++;
			teardown->slot = 0;
			continue;
		}
		cost = teardown_stages[teardown->stage].end(session, object);
		*budget -= cost < *budget ? cost : *budget;
	}
	return teardown->stage == RNIC_COUNT_OF(teardown_stages);
}

bool teardown_run(struct session *session, uint32_t *budget)
{
	if (!teardown_end_objects(session, budget))
		return false;
	for (unsigned i = 0; i < RNIC_COUNT_OF(teardown_stages); i++)
		handle_table_fini((void *)((uint8_t *)session + teardown_stages[i].table));
	session_destroy(session);
	return true;
}
