/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/holes.h"

#include "lib/nic/engine/objects/kept.h"
#include "lib/nic/engine/packet_builder.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "proto/base/be.h"

#define HOLE_BYTES 6

/* So many holes of a report are the first ones; the others are the last ones. */
#define FIRST_HOLES (HOLES_MAX / 2)

int holes_kind(const struct rnic_packet *packet)
{
	return packet->payload_bytes >= HOLES_PREFIX_BYTES ? packet->payload[0] : HOLES_KIND_NONE;
}

bool holes_decode(const struct rnic_packet *packet, struct holes *holes)
{
	const uint8_t *bytes = packet->payload;

	holes->count = 0;
	if (holes_kind(packet) != HOLES_KIND_REPORT || bytes[1] > HOLES_MAX ||
	    packet->payload_bytes < HOLES_PREFIX_BYTES + (uint32_t)bytes[1] * HOLE_BYTES)
		return false;
	holes->count = bytes[1];
	for (uint32_t i = 0; i < holes->count; i++) {
		const uint8_t *hole = bytes + HOLES_PREFIX_BYTES + i * HOLE_BYTES;

		holes->holes[i].start = rnic_psn(rnic_be24_read(hole));
		holes->holes[i].end =
			rnic_psn_add(holes->holes[i].start, (int32_t)rnic_be24_read(hole + 3));
	}
	return true;
}

/* Adds a hole in PSN order: of too many, those in the middle are left out. */
static void add_hole(struct holes *holes, struct rnic_psn start, struct rnic_psn end)
{
	if (rnic_psn_distance(end, start) <= 0)
		return;
	if (holes->count == HOLES_MAX) {
		for (uint32_t i = FIRST_HOLES; i + 1 < HOLES_MAX; i++)
			holes->holes[i] = holes->holes[i + 1];
		holes->count--;
	}
	holes->holes[holes->count++] = (struct hole){start, end};
}

static void find_holes(const struct qp *qp, struct holes *holes)
{
	const struct responder *responder = &qp->responder;
	struct rnic_psn end = responder->expected_psn;

	holes->count = 0;
	for (const struct kept_packet *run = qp->kept.first; run != NULL; run = run->run_next) {
		add_hole(holes, end, run->packet.psn);
		end = rnic_psn_add(run->run_last->packet.psn, 1);
	}
	add_hole(holes, end, responder->gap_end);
}

void holes_accept_offer(struct qp *qp)
{
	/* Where nothing is kept all is missing, and a sequence NAK has the requester send all. */
	if (qp->engine->kept.slot_count == 0)
		return;
	qp->responder.report.is_understood = true;
	holes_owe(qp);
}

void holes_owe(struct qp *qp)
{
	struct holes_report *report = &qp->responder.report;
	const uint64_t now_ns = qp->engine->now_ns;

	if (!report->is_understood || report->is_owed || qp->responder.is_not_ready ||
	    rnic_psn_distance(qp->responder.gap_end, qp->responder.expected_psn) <= 0 ||
	    now_ns - report->told_ns < LIMIT_HOLES_NS)
		return;
	report->is_owed = true;
	ready_list_add(qp);
}

void holes_start_packet(struct qp *qp, struct packet_builder *out, const uint8_t *bytes,
			uint32_t byte_count, struct rnic_psn psn)
{
	packet_builder_start(qp, out, RNIC_OPERATION_HOLES, RNIC_POSITION_ONLY, 0, psn);
	out->pieces[0] = (struct payload_piece){.inline_bytes = bytes, .length = byte_count};
	out->piece_count = 1;
	out->packet.payload_bytes = byte_count;
}

void holes_build_report(struct qp *qp, struct packet_builder *out)
{
	struct holes_report *report = &qp->responder.report;
	struct holes holes;

	find_holes(qp, &holes);
	report->is_owed = false;
	report->told_ns = qp->engine->now_ns;
	report->bytes[0] = HOLES_KIND_REPORT;
	report->bytes[1] = (uint8_t)holes.count;
	for (uint32_t i = 0; i < holes.count; i++) {
		const struct hole *hole = &holes.holes[i];

		rnic_be24_write(report->bytes + HOLES_PREFIX_BYTES + i * HOLE_BYTES,
				hole->start.value);
		rnic_be24_write(report->bytes + HOLES_PREFIX_BYTES + i * HOLE_BYTES + 3,
				(uint32_t)rnic_psn_distance(hole->end, hole->start));
	}
	holes_start_packet(qp, out, report->bytes, HOLES_PREFIX_BYTES + holes.count * HOLE_BYTES,
			   qp->responder.expected_psn);
}

void holes_build_offer(struct qp *qp, struct packet_builder *out)
{
	static const uint8_t offer[HOLES_PREFIX_BYTES] = {HOLES_KIND_OFFER, 0};

	holes_start_packet(qp, out, offer, sizeof(offer), qp->requester.unacknowledged);
}
