/* SPDX-License-Identifier: MIT */
#include "daemon/device/requests/session_teardown.h"

#include "daemon/device/objects/session_objects.h"
#include "daemon/device/queues/post_refusal.h"
#include "daemon/device/session/session.h"

#define COST_MAPPING 32
#define COST_BYTES   8192 /* bytes of a mapping that cost 1 more */
#define COST_PIPE    16
#define COST_QP	     8

static uint32_t cost_of_mapping(uint64_t bytes)
{
	return COST_MAPPING + (uint32_t)(bytes / COST_BYTES);
}

static uint32_t session_end_qp(void *session, void *object)
{
	session_free_qp(session, object);
	return COST_QP;
}

static uint32_t session_end_queue_region(void *session, void *object)
{
	struct session_queue_region *queue_region = object;
	const uint32_t cost = cost_of_mapping(queue_region->region.bytes);

	session_free_queue_region(session, queue_region);
	return cost;
}

static uint32_t session_end_srq(void *session, void *object)
{
	struct session_srq *srq = object;
	const uint32_t cost = cost_of_mapping(srq->region.bytes);

	session_free_srq(session, srq);
	return cost;
}

static uint32_t session_end_cq(void *session, void *object)
{
	struct session_cq *cq = object;
	const uint32_t cost = cost_of_mapping(cq->region.bytes);

	session_free_cq(session, cq);
	return cost;
}

static uint32_t session_end_mr(void *owner, void *object)
{
	struct session *session = owner;
	const uint64_t mapped_bytes = session->files.bytes;
	const uint64_t mappings = session->files.count;

	session_free_mr(session, object);
	return session->files.count == mappings
		       ? 1
		       : cost_of_mapping(mapped_bytes - session->files.bytes);
}

static uint32_t session_end_channel(void *session, void *object)
{
	session_free_channel(session, object);
	return COST_PIPE;
}

static uint32_t session_end_xrcd(void *session, void *object)
{
	session_free_xrcd(session, object);
	return 1;
}

static uint32_t session_end_ah(void *session, void *object)
{
	session_free_ah(session, object);
	return 1;
}

static uint32_t session_end_mw(void *session, void *object)
{
	session_free_mw(session, object);
	return 1;
}

static uint32_t session_end_pd(void *session, void *object)
{
	session_free_pd(session, object);
	return 1;
}

/*
 * Ends users before the objects that they use: QPs name queue regions, SRQs, XRCDs, CQs and PDs;
 * SRQs name XRCDs, CQs and PDs; MWs name QPs and MRs; MRs, MWs and AHs name PDs; CQs name channels.
 */
const struct teardown_stage session_teardown_stages[] = {
	{"memory windows", offsetof(struct session, mws), session_end_mw, false},
	{"queue pairs", offsetof(struct session, qps), session_end_qp, false},
	{"queue regions", offsetof(struct session, queue_regions), session_end_queue_region, false},
	{"shared receive queues", offsetof(struct session, srqs), session_end_srq, false},
	{"XRC domains", offsetof(struct session, xrcds), session_end_xrcd, false},
	{"address handles", offsetof(struct session, ahs), session_end_ah, false},
	{"completion queues", offsetof(struct session, cqs), session_end_cq, false},
	{"channels", offsetof(struct session, channels), session_end_channel, false},
	{"memory regions", offsetof(struct session, mrs), session_end_mr, false},
	{"protection domains", offsetof(struct session, pds), session_end_pd, false},
	{.name = NULL},
};

void session_teardown_cut_memory(struct session *session)
{
	struct session_pd *pd;

	post_refusal_note_all(session);
	session->is_broken = true;
	for (uint32_t slot = 0; (pd = handle_table_next(&session->pds, &slot)) != NULL;)
		pd->pd.has_no_memory = true;
	session_cut(session);
}

void session_teardown_cut_queue_pairs(struct session *session)
{
	struct session_xrcd *xrcd;
	struct session_pd *pd;

	for (uint32_t slot = 0; (pd = handle_table_next(&session->pds, &slot)) != NULL;)
		pd_close(&pd->pd);
	for (uint32_t slot = 0; (xrcd = handle_table_next(&session->xrcds, &slot)) != NULL;)
		session_leave_domain(xrcd);
}

void session_teardown_cut(struct session *session)
{
	session_teardown_cut_memory(session);
	session_teardown_cut_queue_pairs(session);
}
