/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/client/native/fake_session.h"

#include "proto/shm/ring.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void queue_open(struct rnic_work_queue *queue, struct fake_session *fake,
		       const struct rnic_queue_plan *plan, _Atomic uint32_t *producer,
		       uint32_t depth, uint32_t max_sge)
{
	rnic_work_queue_init(queue, max_sge);
	rnic_work_queue_place(queue, plan, fake->entries, fake->spill, producer, depth);
}

static void qp_open(struct fake_session *fake, const struct rnic_qp_capacities *capacities)
{
	struct rnic_qp_control *control = rnic_qp_control_of(&fake->session, FAKE_QP_SLOT);
	struct rnic_qp *qp = &fake->qp;
	int error = rnic_queues_plan(capacities, &fake->plan);

	assert(error == 0);
	fake->entries = calloc(1, fake->plan.entries_bytes);
	fake->spill = calloc(1, fake->plan.spill_bytes);
	assert(fake->entries != NULL && fake->spill != NULL);
	qp->context = &fake->context;
	qp->handle.slot = FAKE_QP_SLOT;
	qp->qpn = FAKE_QPN;
	qp->type = RNIC_QP_TYPE_RC;
	qp->max_inline_bytes = capacities->max_inline_bytes;
	queue_open(&qp->send, fake, &fake->plan.send, &control->send_producer,
		   capacities->max_send_wr, capacities->max_send_sge);
	queue_open(&qp->recv, fake, &fake->plan.recv, &control->recv_producer,
		   capacities->max_recv_wr, capacities->max_recv_sge);
	atomic_store(&qp->state, RNIC_QP_STATE_RTS);
}

struct fake_session *fake_session_create(const struct rnic_qp_capacities *capacities,
					 uint32_t cq_entries)
{
	struct fake_session *fake = calloc(1, sizeof(*fake));

	assert(fake != NULL);
	rnic_link_init(&fake->context.control);
	rnic_link_init(&fake->context.device);
	atomic_store(&fake->context.control.lost, 0);
	atomic_store(&fake->context.device.lost, 0);
	fake->context.session = &fake->session;
	fake->context.status = &fake->status;
	fake->context.attributes.max_message_bytes = RNIC_MESSAGE_BYTES_MAX;
	fake->context.doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fake->context.qps = calloc(RNIC_SESSION_QPS_MAX, sizeof(struct rnic_qp *));
	assert(fake->context.doorbell_fd >= 0 && fake->context.qps != NULL);

	fake->cq_region = calloc(1, rnic_cq_region_bytes(cq_entries, RNIC_CQ_TIMESTAMPS));
	assert(fake->cq_region != NULL);
	fake->completions = rnic_cq_entries_of(fake->cq_region);
	fake->cq.context = &fake->context;
	fake->cq.control = &fake->session.cqs[0];
	fake->cq.region = fake->cq_region;
	fake->times_ns = rnic_cq_times_of(fake->cq_region, cq_entries, RNIC_CQ_TIMESTAMPS);
	fake->cq.entries = fake->completions;
	fake->cq.times_ns = fake->times_ns;
	fake->cq.slots = cq_entries;
	qp_open(fake, capacities);
	fake->context.qps[FAKE_QP_SLOT] = &fake->qp;
	return fake;
}

void fake_session_destroy(struct fake_session *fake)
{
	close(fake->context.doorbell_fd);
	rnic_link_fini(&fake->context.device);
	rnic_link_fini(&fake->context.control);
	free(fake->context.qps);
	free(fake->cq_region);
	free(fake->entries);
	free(fake->spill);
	free(fake);
}

struct rnic_cq *fake_session_second_cq(struct fake_session *fake)
{
	fake->second_cq = fake->cq;
	fake->second_cq.control = &fake->session.cqs[1];
	fake->second_cq.region = &fake->second_region;
	return &fake->second_cq;
}

void fake_session_complete(struct fake_session *fake, const struct rnic_cqe *entry,
			   uint64_t time_ns)
{
	uint32_t producer = rnic_word_load(&fake->cq_region->producer);
	uint32_t slot = rnic_ring_slot(producer, fake->cq_region->slot_zero, fake->cq.slots);

	fake->completions[slot] = *entry;
	fake->times_ns[slot] = time_ns;
	rnic_word_publish(&fake->cq_region->producer, producer + 1);
}

uint32_t fake_session_doorbells(struct fake_session *fake, uint32_t *value)
{
	uint32_t producer = rnic_index_load(&fake->session.doorbell_producer);
	uint32_t count = producer - rnic_index_load(&fake->status.doorbell_consumer);

	if (count > 0)
		*value = fake->session.doorbells[(producer - 1) % RNIC_DOORBELL_SLOTS];
	rnic_index_publish(&fake->status.doorbell_consumer, producer);
	return count;
}

bool fake_session_was_woken(struct fake_session *fake)
{
	uint64_t count;

	return read(fake->context.doorbell_fd, &count, sizeof(count)) == sizeof(count);
}
