/* SPDX-License-Identifier: MIT */
#include "proto/shm/cqe.h"
#include "proto/shm/region.h"
#include "proto/shm/wqe.h"

#include "proto/base/bits.h"
#include "proto/base/layout_assert.h"

#include <assert.h>
#include <errno.h>

RNIC_SIZE(struct rnic_sge, 16);
RNIC_AT(struct rnic_sge, address, 0);
RNIC_AT(struct rnic_sge, length, 8);
RNIC_AT(struct rnic_sge, lkey, 12);

RNIC_SIZE(struct rnic_region_header, 64);
RNIC_AT(struct rnic_region_header, magic, 0);
RNIC_AT(struct rnic_region_header, version, 4);
RNIC_AT(struct rnic_region_header, kind, 6);
RNIC_AT(struct rnic_region_header, bytes, 8);
RNIC_AT(struct rnic_region_header, reserved, 16);

RNIC_SIZE(struct rnic_shared_index, 64);
RNIC_AT(struct rnic_shared_index, value, 0);
RNIC_AT(struct rnic_shared_index, reserved, 4);

RNIC_SIZE(struct rnic_cq_control, 64);
RNIC_AT(struct rnic_cq_control, consumer, 0);
RNIC_AT(struct rnic_cq_control, armed, 4);
RNIC_AT(struct rnic_cq_control, reserved, 8);

RNIC_SIZE(struct rnic_qp_control, 8);
RNIC_AT(struct rnic_qp_control, send_producer, 0);
RNIC_AT(struct rnic_qp_control, recv_producer, 4);

RNIC_SIZE(struct rnic_qp_line, RNIC_CACHE_LINE_BYTES);

RNIC_SIZE(struct rnic_qp_refusals, 16);
RNIC_AT(struct rnic_qp_refusals, send, 0);
RNIC_AT(struct rnic_qp_refusals, recv, 8);

RNIC_SIZE(struct rnic_session_region, 1458560);
RNIC_AT(struct rnic_session_region, header, 0);
RNIC_AT(struct rnic_session_region, doorbell_producer, 64);
RNIC_AT(struct rnic_session_region, doorbells_lost, 128);
RNIC_AT(struct rnic_session_region, need_wakeup, 192);
RNIC_AT(struct rnic_session_region, poll_waits, 256);
RNIC_AT(struct rnic_session_region, has_refusals, 320);
RNIC_AT(struct rnic_session_region, doorbells, 384);
RNIC_AT(struct rnic_session_region, cqs, 16768);
RNIC_AT(struct rnic_session_region, qp_lines, 1065344);
RNIC_AT(struct rnic_session_region, refusals, 1196416);

RNIC_SIZE(struct rnic_status_region, 16576);
RNIC_AT(struct rnic_status_region, header, 0);
RNIC_AT(struct rnic_status_region, doorbell_consumer, 64);
RNIC_AT(struct rnic_status_region, reserved, 128);
RNIC_AT(struct rnic_status_region, recv_doorbell_wanted, 192);

RNIC_SIZE(struct rnic_event_record, 16);
RNIC_AT(struct rnic_event_record, type, 0);
RNIC_AT(struct rnic_event_record, slot, 4);
RNIC_AT(struct rnic_event_record, generation, 8);
RNIC_AT(struct rnic_event_record, reserved, 12);

RNIC_SIZE(struct rnic_send_wqe, 48);
RNIC_AT(struct rnic_send_wqe, wr_id, 0);
RNIC_AT(struct rnic_send_wqe, opcode, 8);
RNIC_AT(struct rnic_send_wqe, flags, 9);
RNIC_AT(struct rnic_send_wqe, sge_count, 10);
RNIC_AT(struct rnic_send_wqe, inline_bytes, 10);
RNIC_AT(struct rnic_send_wqe, immediate, 12);
RNIC_AT(struct rnic_send_wqe, remote_address, 16);
RNIC_AT(struct rnic_send_wqe, rkey, 24);
RNIC_AT(struct rnic_send_wqe, srqn, 28);
RNIC_AT(struct rnic_send_wqe, datagram, 16);
RNIC_AT(struct rnic_send_wqe, sge, 32);
RNIC_AT(struct rnic_send_wqe, inline_data, 32);
RNIC_AT(struct rnic_send_wqe, atomic, 32);
RNIC_AT(struct rnic_send_wqe, bind, 32);
RNIC_AT(struct rnic_send_wqe, flush, 32);

RNIC_SIZE(struct rnic_recv_wqe, 24);
RNIC_AT(struct rnic_recv_wqe, wr_id, 0);
RNIC_AT(struct rnic_recv_wqe, sge, 8);

RNIC_SIZE(struct rnic_srq_region, 192);
RNIC_AT(struct rnic_srq_region, header, 0);
RNIC_AT(struct rnic_srq_region, srq_consumer, 64);
RNIC_AT(struct rnic_srq_region, recv_producer, 128);

RNIC_SIZE(struct rnic_cqe, 32);
RNIC_AT(struct rnic_cqe, wr_id, 0);
RNIC_AT(struct rnic_cqe, byte_count, 8);
RNIC_AT(struct rnic_cqe, vendor_error, 8);
RNIC_AT(struct rnic_cqe, immediate, 12);

RNIC_SIZE(struct rnic_cq_region, 128);
RNIC_AT(struct rnic_cq_region, header, 0);
RNIC_AT(struct rnic_cq_region, producer, 64);
RNIC_AT(struct rnic_cq_region, slot_zero, 68);
RNIC_AT(struct rnic_cq_region, reserved, 72);

_Static_assert(RNIC_MESSAGE_BYTES_MAX < RNIC_RECV_SGES_BESIDE, "no SGE is that long");
_Static_assert(RNIC_INLINE_BYTES_MAX <= UINT16_MAX, "rnic_send_wqe.inline_bytes has 16 bits");
_Static_assert(RNIC_SESSION_QPS_MAX <= 1 << 16 && RNIC_SESSION_SRQS_MAX <= 1 << 16,
	       "rnic_cqe.qp_slot has 16 bits");
_Static_assert(RNIC_SESSION_QPS_MAX % RNIC_QP_LINES == 0, "each slot has a place in a line");
_Static_assert(RNIC_WR_DEPTH_MAX < 1 << 24, "rnic_cqe.retired has 24 bits");
_Static_assert(sizeof(_Atomic uint32_t) == 4 && __atomic_always_lock_free(4, 0),
	       "shared words are plain words");
_Static_assert(sizeof(_Atomic uint64_t) == 8 && __atomic_always_lock_free(8, 0),
	       "a refusal is one plain word");
_Static_assert(sizeof(_Atomic uint8_t) == 1 && __atomic_always_lock_free(1, 0),
	       "shared flags are plain bytes");
_Static_assert((RNIC_DOORBELL_SLOTS & (RNIC_DOORBELL_SLOTS - 1)) == 0,
	       "the doorbell index wraps at 2^32");
_Static_assert(sizeof(struct rnic_cq_region) == RNIC_CQ_ENTRIES_OFFSET, "entries follow the head");

#define INLINE_BYTES_MIN 64

/* Two senders that fill neighbouring slots must not share a cache line. */
static uint32_t spill_stride(uint32_t sge_count, uint32_t inline_bytes)
{
	uint32_t sge_bytes = sge_count > 1 ? sge_count * (uint32_t)sizeof(struct rnic_sge) : 0;
	uint32_t bytes = sge_bytes > inline_bytes ? sge_bytes : inline_bytes;

	return (uint32_t)rnic_round_up(bytes, RNIC_CACHE_LINE_BYTES);
}

/* Sets slots and stride, and places the entries at `offset`; returns the offset behind them. */
static uint64_t plan_entries(struct rnic_queue_plan *plan, uint32_t depth, uint64_t entry_bytes,
			     uint32_t stride_bytes, uint64_t offset)
{
	plan->slots = depth == 0 ? 0 : (uint32_t)rnic_power_of_two_at_least(depth);
	plan->spill_stride_bytes = depth == 0 ? 0 : stride_bytes;
	plan->entries_offset = offset;
	return offset + plan->slots * entry_bytes;
}

/* Places the spill area at `offset`; returns the offset behind the area. */
static uint64_t plan_spill(struct rnic_queue_plan *plan, uint64_t offset)
{
	plan->spill_offset = offset;
	return offset + (uint64_t)plan->slots * plan->spill_stride_bytes;
}

static bool are_within_maxima(const struct rnic_qp_capacities *capacities)
{
	return capacities->max_send_wr <= RNIC_WR_DEPTH_MAX &&
	       capacities->max_recv_wr <= RNIC_WR_DEPTH_MAX &&
	       capacities->max_send_sge <= RNIC_SGE_COUNT_MAX &&
	       capacities->max_recv_sge <= RNIC_SGE_COUNT_MAX &&
	       capacities->max_inline_bytes <= RNIC_INLINE_BYTES_MAX;
}

void rnic_queues_grant(const struct rnic_qp_capacities *wanted, uint32_t type, bool has_srq,
		       struct rnic_qp_capacities *granted)
{
	*granted = (struct rnic_qp_capacities){0};
	if (type == RNIC_QP_TYPE_XRC_TARGET)
		return;
	granted->max_send_wr = wanted->max_send_wr;
	granted->max_send_sge = wanted->max_send_sge > 0 ? wanted->max_send_sge : 1;
	granted->max_inline_bytes = wanted->max_inline_bytes > INLINE_BYTES_MIN
					    ? wanted->max_inline_bytes
					    : INLINE_BYTES_MIN;
	if (has_srq || type == RNIC_QP_TYPE_XRC_INITIATOR)
		return;
	granted->max_recv_wr = wanted->max_recv_wr;
	granted->max_recv_sge = wanted->max_recv_sge > 0 ? wanted->max_recv_sge : 1;
}

int rnic_queues_plan(const struct rnic_qp_capacities *granted, struct rnic_queues_plan *plan)
{
	struct rnic_queues_plan planned;
	uint64_t offset;

	if (!are_within_maxima(granted))
		return -EINVAL;
	offset = plan_entries(&planned.send, granted->max_send_wr, sizeof(struct rnic_send_wqe),
			      spill_stride(granted->max_send_sge, granted->max_inline_bytes), 0);
	offset = rnic_round_up(offset, RNIC_CACHE_LINE_BYTES);
	planned.entries_bytes =
		plan_entries(&planned.recv, granted->max_recv_wr, sizeof(struct rnic_recv_wqe),
			     spill_stride(granted->max_recv_sge, 0), offset);
	planned.spill_bytes = plan_spill(&planned.recv, plan_spill(&planned.send, 0));
	assert(planned.entries_bytes + planned.spill_bytes <= RNIC_QUEUE_REGION_BYTES_MAX);
	*plan = planned;
	return 0;
}

int rnic_srq_plan(const struct rnic_srq_attributes *granted, struct rnic_srq_plan *plan)
{
	const struct rnic_qp_capacities capacities = {
		.max_recv_wr = granted->max_wr,
		.max_recv_sge = granted->max_sge,
	};
	struct rnic_srq_plan planned;
	uint64_t offset;

	if (!are_within_maxima(&capacities))
		return -EINVAL;
	offset = plan_entries(&planned.recv, granted->max_wr, sizeof(struct rnic_recv_wqe),
			      spill_stride(granted->max_sge, 0), sizeof(struct rnic_srq_region));
	offset = plan_spill(&planned.recv, rnic_round_up(offset, RNIC_CACHE_LINE_BYTES));
	planned.region_bytes = rnic_round_up(offset, RNIC_QUEUE_PAGE_BYTES);
	*plan = planned;
	return 0;
}

uint32_t rnic_cq_slots(uint32_t entries)
{
	assert(entries <= RNIC_CQ_ENTRIES_MAX);
	return (uint32_t)rnic_power_of_two_at_least(entries);
}

static uint64_t cq_times_offset(uint32_t slots)
{
	return rnic_round_up(RNIC_CQ_ENTRIES_OFFSET + (uint64_t)slots * sizeof(struct rnic_cqe),
			     RNIC_QUEUE_PAGE_BYTES);
}

uint64_t rnic_cq_region_bytes(uint32_t slots, uint32_t flags)
{
	const uint64_t times_bytes = (uint64_t)slots * sizeof(uint64_t);

	return cq_times_offset(slots) + ((flags & RNIC_CQ_TIMESTAMPS) != 0 ? times_bytes : 0);
}

struct rnic_cqe *rnic_cq_entries_of(void *region)
{
	return (struct rnic_cqe *)((uint8_t *)region + RNIC_CQ_ENTRIES_OFFSET);
}

uint64_t *rnic_cq_times_of(void *region, uint32_t slots, uint32_t flags)
{
	if ((flags & RNIC_CQ_TIMESTAMPS) == 0)
		return NULL;
	return (uint64_t *)((uint8_t *)region + cq_times_offset(slots));
}
