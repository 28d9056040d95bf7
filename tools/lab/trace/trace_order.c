/* SPDX-License-Identifier: MIT */
#include "tools/lab/trace/trace_order.h"

#include "proto/wire/syndrome.h"

#include <stddef.h>

/* A list that is merged: the packets of a side, or the program's steps. */
enum trace_source { TRACE_FROM_A, TRACE_FROM_B, TRACE_FROM_PROGRAM, TRACE_SOURCES };

struct trace_order {
	const struct trace_record *record;
	uint32_t next[TRACE_SOURCES]; /* the first in each list that has no place yet */
	struct rnic_psn posted_end;   /* behind the last work request with a place */
	/* Behind the last packet that A knows to be acknowledged, and that B has taken. */
	struct rnic_psn reached[TRACE_SIDES];
	uint64_t reached_ns[TRACE_SIDES]; /* when that packet came */
	uint64_t time_ns;		  /* of the last line */
};

static const struct trace_packet *order_packet(const struct trace_order *order,
					       enum trace_source source)
{
	const struct trace_packets *packets = &order->record->packets[source];

	return order->next[source] < packets->count ? &packets->list[order->next[source]] : NULL;
}

static const struct trace_step *order_step(const struct trace_order *order)
{
	const uint32_t next = order->next[TRACE_FROM_PROGRAM];

	return next < order->record->step_count ? &order->record->steps[next] : NULL;
}

/* The time of the first one in the list; UINT64_MAX at its end. */
static uint64_t order_time_ns(const struct trace_order *order, enum trace_source source)
{
	const struct trace_step *step = order_step(order);
	const struct trace_packet *packet;

	if (source == TRACE_FROM_PROGRAM)
		return step != NULL ? step->time_ns : UINT64_MAX;
	packet = order_packet(order, source);
	return packet != NULL ? packet->time_ns : UINT64_MAX;
}

/*
 * Whether all packets have their place that the side's device sent in the turn in which it took the
 * last packet: all of a turn have one time, which is before the program sees a completion of it.
 */
static bool order_has_turn(const struct trace_order *order, enum trace_side side)
{
	const enum trace_source source = side == TRACE_A ? TRACE_FROM_A : TRACE_FROM_B;
	const struct trace_packet *packet = order_packet(order, source);

	return packet == NULL || packet->time_ns != order->reached_ns[side];
}

static bool order_is_step_ready(const struct trace_order *order, const struct trace_step *step)
{
	const struct rnic_psn end = rnic_psn_add(rnic_psn(step->psn), (int32_t)step->packets);
	const bool is_completion = step->kind == TRACE_DONE || step->kind == TRACE_RECEIVED;

	return !is_completion || step->status != 0 ||
	       (rnic_psn_distance(order->reached[step->side], end) >= 0 &&
		order_has_turn(order, step->side));
}

static bool order_is_packet_ready(const struct trace_order *order, enum trace_source source,
				  const struct trace_packet *packet)
{
	const enum trace_source other = source == TRACE_FROM_A ? TRACE_FROM_B : TRACE_FROM_A;

	if (!packet->is_sent)
		return packet->other_end == TRACE_NO_PACKET ||
		       packet->other_end < order->next[other];
	return source == TRACE_FROM_B || packet->row->service != RNIC_SERVICE_RC ||
	       rnic_psn_distance(packet->psn, order->posted_end) < 0;
}

static bool order_is_ready(const struct trace_order *order, enum trace_source source)
{
	if (order_time_ns(order, source) == UINT64_MAX)
		return false;
	if (source == TRACE_FROM_PROGRAM)
		return order_is_step_ready(order, order_step(order));
	return order_is_packet_ready(order, source, order_packet(order, source));
}

/* The list whose first one is next; TRACE_SOURCES at the end of all. */
static enum trace_source order_choose(const struct trace_order *order)
{
	enum trace_source best = TRACE_SOURCES, earliest = TRACE_SOURCES;
	uint64_t best_ns = UINT64_MAX, earliest_ns = UINT64_MAX;

	for (enum trace_source source = 0; source < TRACE_SOURCES; source++) {
		const uint64_t time_ns = order_time_ns(order, source);

		if (time_ns < earliest_ns) {
			earliest = source;
			earliest_ns = time_ns;
		}
		if (time_ns < best_ns && order_is_ready(order, source)) {
			best = source;
			best_ns = time_ns;
		}
	}
	/* A cause may be missing, when a capture was cut. */
	return best != TRACE_SOURCES ? best : earliest;
}

/* What a packet that came allows its host to do. */
static void order_note_arrival(struct trace_order *order, enum trace_side side,
			       const struct trace_packet *packet)
{
	const bool is_refused = packet->note[0] != '\0' || packet->is_broken;
	const bool is_answer = side == TRACE_A && (packet->row->headers & RNIC_HEADER_AETH) != 0 &&
			       rnic_syndrome_kind(packet->syndrome) == RNIC_SYNDROME_ACK;
	const struct rnic_psn end = rnic_psn_add(packet->psn, 1);

	if (is_refused || (side == TRACE_A && !is_answer) ||
	    rnic_psn_distance(end, order->reached[side]) <= 0)
		return;
	order->reached[side] = end;
	order->reached_ns[side] = packet->time_ns;
}

static void order_note_step(struct trace_order *order, const struct trace_step *step)
{
	const struct rnic_psn psn = rnic_psn(step->psn);

	if (step->kind == TRACE_REQUEST)
		order->posted_end = rnic_psn_add(psn, (int32_t)step->packets);
	if (step->kind == TRACE_STATE && step->side == TRACE_A)
		order->posted_end = order->reached[TRACE_A] = order->reached[TRACE_B] = psn;
}

/* The work request that a packet of the PSN belongs to. */
static const struct trace_step *order_request(const struct trace_record *record,
					      struct rnic_psn psn)
{
	for (uint32_t i = 0; i < record->step_count; i++) {
		const struct trace_step *step = &record->steps[i];
		const int32_t place = rnic_psn_distance(psn, rnic_psn(step->psn));

		if (step->kind == TRACE_REQUEST && place >= 0 && place < (int32_t)step->packets)
			return step;
	}
	return NULL;
}

static void order_take_packet(struct trace_order *order, enum trace_source source,
			      struct trace_line *line)
{
	const enum trace_side side = source == TRACE_FROM_A ? TRACE_A : TRACE_B;
	const enum trace_side other = side == TRACE_A ? TRACE_B : TRACE_A;
	const struct trace_packet *packet = order_packet(order, source);

	if (!packet->is_sent) {
		order_note_arrival(order, side, packet);
		return;
	}
	line->side = side;
	line->packet = packet;
	line->request = order_request(order->record, packet->psn);
	if (packet->other_end != TRACE_NO_PACKET)
		line->arrival = &order->record->packets[other].list[packet->other_end];
}

void trace_order_run(const struct trace_record *record, trace_line_take *take, void *context)
{
	struct trace_order order = {.record = record};
	enum trace_source source;

	while ((source = order_choose(&order)) != TRACE_SOURCES) {
		const uint64_t time_ns = order_time_ns(&order, source);
		struct trace_line line = {0};

		if (time_ns > order.time_ns)
			order.time_ns = time_ns;
		line.time_ns = order.time_ns;
		if (source == TRACE_FROM_PROGRAM) {
			line.step = order_step(&order);
			line.side = line.step->side;
			order_note_step(&order, line.step);
		} else {
			order_take_packet(&order, source, &line);
		}
		order.next[source]++;
		if (line.step != NULL || line.packet != NULL)
			take(context, &line);
	}
}
