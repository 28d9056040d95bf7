/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/qp_record.h"

#include "lib/nic/engine/objects/engine_cqe.h"
#include "lib/nic/engine/qp_state.h"

static struct record_hold *current_hold(struct qp *qp)
{
	qp->record.hold.qpn = qp->qpn;
	qp->record.hold.peer_qpn = qp->attributes.dest_qpn;
	qp->record.hold.client_id = qp->owner_number;
	return &qp->record.hold;
}

/* How far the queue pair has come since its last entry. */
static void record_positions(struct qp *qp, uint32_t tick)
{
	struct recorder *recorder = &qp->engine->recorder;
	const struct requester *requester = &qp->requester;
	const uint32_t expected = qp->responder.expected_psn.value;
	struct qp_record *last = &qp->record;
	const struct rnic_record_entry position = {
		.tick = tick,
		.event = RNIC_RECORD_POSITION,
		.psn = requester->highest.value,
		.value = requester->unacknowledged.value,
	};
	const struct rnic_record_entry taken = {
		.tick = tick,
		.event = RNIC_RECORD_TAKEN,
		.psn = expected,
		.value = (uint32_t)qp->counters.received_packets,
	};

	if (position.psn != last->send_psn || position.value != last->unacknowledged_psn)
		recorder_note_qp(recorder, current_hold(qp), &position);
	if (expected != last->expected_psn)
		recorder_note_qp(recorder, current_hold(qp), &taken);
	last->send_psn = position.psn;
	last->unacknowledged_psn = position.value;
	last->expected_psn = expected;
}

void qp_record(struct qp *qp, const struct rnic_record_entry *entry)
{
	struct rnic_record_entry timed = *entry;

	if (qp->engine->recorder.region == NULL)
		return;
	timed.tick = rnic_record_tick(qp->engine->now_ns);
	record_positions(qp, timed.tick);
	recorder_note_qp(&qp->engine->recorder, current_hold(qp), &timed);
}

void qp_record_failure(struct qp *qp, enum rnic_record_event event, const struct cqe *cqe)
{
	const struct rnic_record_entry entry = {
		.event = (uint8_t)event,
		.detail = (uint8_t)cqe->vendor_error,
		.extra = cqe->status,
		.psn = (uint32_t)cqe->wr_id,
		.value = (uint32_t)(cqe->wr_id >> 32),
	};

	qp_record(qp, &entry);
}

void qp_record_nak(struct qp *qp, enum rnic_record_event event, uint8_t syndrome, uint32_t psn)
{
	const struct rnic_record_entry entry = {
		.event = (uint8_t)event,
		.detail = syndrome,
		.psn = psn,
	};

	qp_record(qp, &entry);
}

static void record_life(struct qp *qp, const struct rnic_record_entry *entry)
{
	struct rnic_record_entry timed = *entry;

	timed.tick = rnic_record_tick(qp->engine->now_ns);
	timed.psn = qp->qpn;
	recorder_note_life(&qp->engine->recorder, qp->qpn, &timed);
}

void qp_record_connected(struct qp *qp)
{
	const struct rnic_record_entry entry = {
		.event = RNIC_RECORD_CONNECTED,
		.extra = qp->attributes.path.source_gid_index,
		.value = qp->attributes.dest_qpn,
	};

	record_life(qp, &entry);
}

void qp_record_end(struct qp *qp, enum rnic_record_end end)
{
	const struct rnic_record_entry took = {
		.event = RNIC_RECORD_QP_TOOK,
		.value = qp->responder.expected_psn.value,
	};
	const struct rnic_record_entry ended = {
		.event = RNIC_RECORD_QP_ENDED,
		.detail = (uint8_t)end,
		.extra = qp->state,
		.value = qp->attributes.dest_qpn,
	};

	/* The rings of the device, since a queue pair that ends well needs no ring of its own. */
	if (qp_service(qp) == RNIC_SERVICE_RC && qp->attributes.dest_qpn != 0)
		record_life(qp, &took);
	record_life(qp, &ended);
}

void engine_record_port(struct engine *engine, const struct rnic_record_entry *entry)
{
	struct rnic_record_entry timed = *entry;

	timed.tick = rnic_record_tick(engine->now_ns);
	recorder_note_port(&engine->recorder, &timed);
}

void engine_record_region_end(struct engine *engine, uint32_t key)
{
	const struct rnic_record_entry entry = {
		.tick = rnic_record_tick(engine->now_ns),
		.event = RNIC_RECORD_REGION_ENDED,
		.detail = RNIC_RECORD_BY_CALL,
		.value = key,
	};

	recorder_note_life(&engine->recorder, key >> 8, &entry);
}
