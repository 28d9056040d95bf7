/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/engine.h"

#include "lib/nic/base/probe.h"
#include "lib/nic/engine/datagrams/datagram.h"
#include "lib/nic/engine/datagrams/mcast.h"
#include "lib/nic/engine/objects/kept.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/objects/qp_record.h"
#include "lib/nic/engine/peer_port.h"
#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/progress/send_position.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/congestion.h"
#include "lib/nic/engine/reliability/credits.h"
#include "lib/nic/engine/reliability/delayed_acknowledgement.h"
#include "lib/nic/engine/reliability/exact_credits.h"
#include "lib/nic/engine/reliability/holes.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/reliability/withheld_acknowledgement.h"
#include "lib/nic/engine/requester/completer.h"
#include "lib/nic/engine/requester/local_operation.h"
#include "lib/nic/engine/requester/peer_probe.h"
#include "lib/nic/engine/requester/repair.h"
#include "lib/nic/engine/requester/requester.h"
#include "lib/nic/engine/requester/retry.h"
#include "lib/nic/engine/responder/responder.h"
#include "lib/nic/engine/responder/responder_answer.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/base/be.h"
#include "proto/base/lane.h"
#include "proto/wire/gid.h"

#include <assert.h>
#include <errno.h>

/* Keys are 24 bits of index and 8 of tag; QPNs 0 and 1 belong to the management QPs. */
#define KEY_INDEX_BITS 24
#define QPN_BITS       24
#define LEAST_QPN      2
#define SRQN_BITS      24

/* Placement found failures of `qp`: requester and responder act on them. */
static void engine_act_on_failures(struct engine *engine, struct qp *qp,
				   const struct placement_failures *failures)
{
	if (failures->is_last_received)
		engine->config.sink->async_event(engine->config.sink_context,
						 RNIC_EVENT_QP_LAST_WQE_REACHED, qp);
	if (failures->has_request)
		responder_write_failed(engine, qp, failures);
	if (failures->has_response) {
		requester_write_failed(engine, qp, failures);
		responder_take_back(qp, failures->response_msn);
	}
	if (failures->is_overrun && qp->state != RNIC_QP_STATE_ERR) {
		engine->config.sink->async_event(engine->config.sink_context, RNIC_EVENT_QP_FATAL,
						 qp);
		qp_enter_error(qp, VERDICT_CQ_OVERRUN);
	}
	if (failures->is_message_lost)
		responder_take_all_back(qp);
}

static bool is_lane_good(uint8_t lane)
{
	return lane == RNIC_LANE_NONE || (lane >= RNIC_LANE_FIRST && lane <= RNIC_LANE_LAST);
}

static void engine_init_qps(struct engine *engine, uint32_t lane)
{
	if (lane == RNIC_LANE_NONE)
		key_table_init(&engine->qps, QPN_BITS, LEAST_QPN, engine->config.table_seed);
	else
		key_table_init_range(&engine->qps, lane << RNIC_LANE_BITS,
				     (lane + 1) << RNIC_LANE_BITS, engine->config.table_seed);
}

int engine_init(struct engine *engine, const struct engine_config *config)
{
	if (config->max_qps == 0 || config->max_mrs == 0 || !is_lane_good(config->lane))
		return -EINVAL;
	*engine = (struct engine){.config = *config};
	if (send_rooms_init(&engine->send_rooms) != 0)
		return -ENOMEM;
	if (kept_pool_init(&engine->kept, config->kept_packets) != 0)
		goto fini_send_rooms;
	if (parting_init(&engine->parting) != 0)
		goto fini_kept;
	if (config->port_mtu_bytes == 0)
		engine->config.port_mtu_bytes = RNIC_PAYLOAD_BYTES_MAX;
	engine->pkeys[0] = PKEY_DEFAULT;
	engine_init_qps(engine, config->lane);
	key_table_init(&engine->mrs, KEY_INDEX_BITS, 1, config->table_seed);
	key_table_init(&engine->srqs, SRQN_BITS, 1, config->table_seed);
	if (engine->config.line_rate < LIMIT_CC_LEAST_RATE)
		engine->config.line_rate = LIMIT_CC_LINE_RATE;
	timer_heap_init(&engine->timers);
	timer_heap_init(&engine->pace_timers);
	timer_heap_init(&engine->window_timers);
	list_init(&engine->ready);
	list_init(&engine->delayed_acknowledgements);
	list_init(&engine->withheld_acknowledgements);
	list_init(&engine->windows);
	list_init(&engine->built);
	list_init(&engine->mcast_groups);
	pace_init(&engine->pace);
	placement_init(engine, engine_act_on_failures);
	recorder_init(&engine->recorder, config->record);
	return 0;

fini_kept:
	kept_pool_fini(&engine->kept);
fini_send_rooms:
	send_rooms_fini(&engine->send_rooms);
	return -ENOMEM;
}

void engine_fini(struct engine *engine)
{
	assert(list_is_empty(&engine->ready) && list_is_empty(&engine->windows));
	assert(list_is_empty(&engine->delayed_acknowledgements));
	assert(list_is_empty(&engine->withheld_acknowledgements));
	assert(list_is_empty(&engine->pace.waiting));
	assert(list_is_empty(&engine->built) && list_is_empty(&engine->mcast_groups));
	assert(memory_batch_is_empty(&engine->writes));
	assert(engine->placement.delivered == engine->placement.queued);
	send_rooms_fini(&engine->send_rooms);
	kept_pool_fini(&engine->kept);
	parting_fini(&engine->parting);
	key_table_fini(&engine->qps);
	key_table_fini(&engine->mrs);
	key_table_fini(&engine->srqs);
	timer_heap_fini(&engine->timers);
	timer_heap_fini(&engine->pace_timers);
	timer_heap_fini(&engine->window_timers);
}

static void record_address(struct engine *engine, uint32_t index, bool is_here)
{
	const struct rnic_record_entry entry = {
		.event = RNIC_RECORD_ADDRESS,
		.detail = is_here,
		.extra = (uint8_t)index,
		.value = rnic_be32_read(engine->gids[index].bytes + 12),
	};

	engine_record_port(engine, &entry);
}

void engine_set_gid(struct engine *engine, uint32_t index, const struct rnic_gid *gid)
{
	assert(index < RNIC_GIDS_MAX);
	if (!rnic_gid_is_zero(&engine->gids[index]))
		record_address(engine, index, false);
	engine->gids[index] = *gid;
	if (!rnic_gid_is_zero(gid))
		record_address(engine, index, true);
}

void engine_tell_time(struct engine *engine, uint64_t now_ns)
{
	engine->now_ns = now_ns;
}

void engine_note_link(struct engine *engine, bool is_up)
{
	const struct rnic_record_entry entry = {.event = RNIC_RECORD_LINK, .detail = is_up};

	engine_record_port(engine, &entry);
}

void engine_set_pkey(struct engine *engine, uint32_t index, uint16_t pkey)
{
	assert(index < LIMIT_PKEYS);
	engine->pkeys[index] = pkey;
}

void engine_set_port_mtu(struct engine *engine, uint32_t port_mtu_bytes)
{
	engine->config.port_mtu_bytes = port_mtu_bytes;
}

void engine_set_hop_limits(struct engine *engine, uint8_t ipv4, uint8_t ipv6)
{
	engine->hop_limit_ipv4 = ipv4;
	engine->hop_limit_ipv6 = ipv6;
}

/* --- packets in ------------------------------------------------------------------------------ */

static bool engine_is_from_peer(const struct engine *engine, const struct qp *qp,
				const struct rnic_addresses *addresses)
{
	const struct rnic_path *path = &qp->attributes.path;

	return rnic_gid_equal(&addresses->source, &path->dest_gid) &&
	       rnic_gid_equal(&addresses->dest, &engine->gids[path->source_gid_index]);
}

static bool engine_can_receive(const struct qp *qp, bool is_request)
{
	switch ((enum rnic_qp_state)qp->state) {
	case RNIC_QP_STATE_RTR:
	case RNIC_QP_STATE_SQE:
		return is_request;
	case RNIC_QP_STATE_RTS:
	case RNIC_QP_STATE_SQD:
		return true;
	default:
		return false;
	}
}

/* CNPs have a service of their own, and go to every QP that has a peer. */
static bool is_notification(const struct qp *qp, const struct rnic_packet *packet)
{
	return packet->row->service == RNIC_SERVICE_CNP && qp->type != RNIC_QP_TYPE_UD;
}

/* What devices like this one tell each other beside requests and responses. */
static bool is_of_holes(const struct qp *qp, const struct rnic_packet *packet)
{
	return packet->row->operation == RNIC_OPERATION_HOLES && qp_is_reliable(qp);
}

static void take_holes(struct qp *qp, const struct rnic_packet *packet)
{
	uint32_t entries;

	switch (holes_kind(packet)) {
	case HOLES_KIND_OFFER:
		if (qp_has_responder(qp))
			holes_accept_offer(qp);
		break;
	case HOLES_KIND_CREDITS_QUESTION:
		exact_credits_take_question(qp);
		break;
	case HOLES_KIND_CREDITS:
		if (exact_credits_read(qp, packet, &entries))
			credits_learn_number(qp, entries);
		break;
	case HOLES_KIND_REPORT:
		if (repair_take_report(qp, packet)) {
			retry_sequence_error(qp->engine, qp);
			qp->requester.has_gone_back = true;
		}
		break;
	default:
		break;
	}
}

/* XRC goes one way: requests to targets, responses to initiators. */
static bool engine_is_of_service(const struct qp *qp, const struct rnic_packet *packet)
{
	return packet->row->service == qp_service(qp) &&
	       (packet->row->is_request ? qp_has_responder(qp) : qp_has_requester(qp));
}

/* Whether `packet` may concern `qp` at all. IBTA 1.4, 9.6.1. */
static enum verdict engine_check_packet(const struct engine *engine, const struct qp *qp,
					const struct rnic_packet *packet)
{
	const bool is_of_service = engine_is_of_service(qp, packet);
	const bool is_apart =
		!is_of_service && (is_notification(qp, packet) || is_of_holes(qp, packet));

	if (!engine_can_receive(qp, packet->row->is_request || is_apart))
		return VERDICT_BAD_STATE;
	if (!is_of_service && !is_apart)
		return VERDICT_BAD_SERVICE;
	if (!pkey_matches(qp_pkey(qp), packet->pkey))
		return VERDICT_BAD_PKEY;
	if (qp->type == RNIC_QP_TYPE_UD)
		return packet->qkey == qp->attributes.qkey ? VERDICT_PASS : VERDICT_BAD_QKEY;
	if (!engine_is_from_peer(engine, qp, &packet->addresses))
		return VERDICT_BAD_PEER;
	return peer_port_admits(qp, packet) ? VERDICT_PASS : VERDICT_BAD_PORT;
}

/* Drops a packet without an answer; `last_error` of the QP says why. */
static void engine_drop(struct qp *qp, const struct rnic_packet *packet, enum verdict verdict)
{
	struct engine *engine = qp->engine;
	const struct rnic_record_entry dropped = {
		.event = RNIC_RECORD_DROPPED,
		.detail = verdict_row(verdict)->cause,
		.psn = packet->psn.value,
		.value = packet->opcode,
	};

	qp_record(qp, &dropped);
	engine->counters[verdict_row(verdict)->counter]++;
	engine->refusal_verdict = verdict;
	if (qp->state != RNIC_QP_STATE_ERR && qp->state != RNIC_QP_STATE_RESET)
		qp_note_trouble(qp, verdict);
}

/* IBTA 1.4, 11.6.3.2: the first packet for a QP in RTR, before the application moved it to RTS. */
static void note_established(struct engine *engine, struct qp *qp)
{
	if (qp->state != RNIC_QP_STATE_RTR || qp->is_established || qp->type == RNIC_QP_TYPE_UD)
		return;
	qp->is_established = true;
	engine->config.sink->async_event(engine->config.sink_context, RNIC_EVENT_COMM_EST, qp);
}

static void drop_for_unknown_qp(struct engine *engine, const struct rnic_packet *packet)
{
	const struct rnic_record_entry unknown = {
		.event = RNIC_RECORD_UNKNOWN_QP,
		.psn = packet->psn.value,
		.value = packet->dest_qpn,
	};

	engine->counters[COUNTER_DROPPED_UNKNOWN_QP]++;
	engine_record_port(engine, &unknown);
	unknown_qp_note(&engine->unknown, &packet->addresses.source, packet->dest_qpn);
}

/* A packet for `qp`: the QP takes the packet or drops it. */
static void engine_deliver(struct qp *qp, const struct rnic_packet *packet)
{
	struct engine *engine = qp->engine;
	enum verdict verdict;

	if (qp_is_closed(qp)) {
		drop_for_unknown_qp(engine, packet);
		return;
	}
	verdict = engine_check_packet(engine, qp, packet);
	if (verdict != VERDICT_PASS) {
		if (verdict == VERDICT_BAD_PORT)
			qp->refused_port = packet->addresses.source_port;
		engine_drop(qp, packet, verdict);
		return;
	}
	if (is_notification(qp, packet)) {
		congestion_notified(engine, qp,
				    peer_port_proves(qp, packet->addresses.source_port));
		return;
	}
	peer_port_learn(qp, packet);
	qp->last_received_ns = engine->now_ns;
	qp->counters.received_packets++;
	qp->counters.received_bytes += packet->payload_bytes;
	if (is_of_holes(qp, packet)) {
		take_holes(qp, packet);
		return;
	}
	note_established(engine, qp);
	congestion_look(engine, qp, packet);
	if (qp->type == RNIC_QP_TYPE_UD)
		datagram_receive(engine, qp, packet);
	else if (packet->row->is_request)
		responder_receive(engine, qp, packet);
	else
		completer_receive(engine, qp, packet);
}

/* Each QP of the group gets its copy (IBTA 1.4, 10.5.2). */
static void deliver_multicast(struct engine *engine, const struct rnic_packet *packet)
{
	struct mcast_group *group = mcast_find(engine, &packet->addresses.dest);

	if (group == NULL)
		engine->counters[COUNTER_DROPPED_UNKNOWN_QP]++;
	else
		mcast_for_each(group, engine_deliver, packet);
}

void engine_receive(struct engine *engine, const struct rnic_packet *packet, uint64_t now_ns)
{
	bool is_multicast = rnic_gid_is_multicast(&packet->addresses.dest);
	struct qp *qp;

	engine->now_ns = now_ns;
	engine->counters[COUNTER_RECEIVED_PACKETS]++;
	engine->counters[COUNTER_RECEIVED_BYTES] += packet->payload_bytes;
	RNIC_PROBE4(packet_received, packet->dest_qpn, packet->opcode, packet->psn.value,
		    packet->payload_bytes);
	if (is_multicast && packet->dest_qpn == RNIC_MULTICAST_QPN) {
		deliver_multicast(engine, packet);
		return;
	}
	qp = is_multicast ? NULL : key_table_find(&engine->qps, packet->dest_qpn);
	if (qp == NULL)
		drop_for_unknown_qp(engine, packet);
	else
		engine_deliver(qp, packet);
}

enum verdict engine_take_refusal(struct engine *engine)
{
	const enum verdict verdict = engine->refusal_verdict;

	engine->refusal_verdict = VERDICT_PASS;
	return verdict;
}

bool engine_take_unknown_qp(struct engine *engine, struct unknown_qp *taken)
{
	return unknown_qp_take(&engine->unknown, taken);
}

void engine_flush(struct engine *engine, uint64_t now_ns)
{
	engine->now_ns = now_ns;
	placement_run(engine);
}

/* --- packets out ----------------------------------------------------------------------------- */

/* A QP that nobody has any more holds nothing that others wait for. */
static void qp_yield_turn(struct engine *engine, struct qp *qp)
{
	send_position_rewind(engine, qp);
	send_position_cancel_window_wait(engine, qp);
	list_remove(&qp->ready_node);
}

static bool requester_transmit_next(struct engine *engine, struct qp *qp,
				    struct packet_builder *out)
{
	if (!requester_transmit(engine, qp, out))
		return false;
	delayed_acknowledgement_request_sent(qp);
	return true;
}

/*
 * Whether an acknowledgement is to leave behind the requests: it has waited for them, or a request
 * has failed and has put the QP into ERR.
 */
static bool is_acknowledgement_left(struct qp *qp)
{
	return delayed_acknowledgement_follows(qp) ||
	       (qp->state == RNIC_QP_STATE_ERR && qp->responder.has_acknowledge);
}

/* Answers go first, but an acknowledgement may leave behind the requests. */
static bool qp_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	return congestion_transmit(engine, qp, out) ||
	       (qp->requester.owes_probe && peer_probe_transmit(engine, qp, out)) ||
	       responder_transmit(engine, qp, out) || requester_transmit_next(engine, qp, out) ||
	       (is_acknowledgement_left(qp) && responder_transmit(engine, qp, out));
}

static void count_sent(struct engine *engine, const struct packet_builder *out)
{
	engine->counters[COUNTER_SENT_PACKETS]++;
	engine->counters[COUNTER_SENT_BYTES] += out->packet.payload_bytes;
}

static void transmit_parting(struct engine *engine, struct packet_builder *out)
{
	parting_take(&engine->parting, &out->packet);
	out->piece_count = 0;
	out->qp = NULL;
	count_sent(engine, out);
}

bool engine_transmit(struct engine *engine, struct packet_builder *out, uint64_t now_ns)
{
	engine->now_ns = now_ns;
	if (!parting_is_empty(&engine->parting)) {
		transmit_parting(engine, out);
		return true;
	}
	while (!list_is_empty(&engine->ready)) {
		struct qp *qp = ready_list_next(engine);

		if (qp_is_closed(qp)) {
			qp_yield_turn(engine, qp);
		} else if (qp_transmit(engine, qp, out)) {
			engine->quantum++;
			count_sent(engine, out);
			qp->counters.sent_packets++;
			qp->counters.sent_bytes += out->packet.payload_bytes;
			RNIC_PROBE4(packet_sent, qp->qpn, out->packet.opcode, out->packet.psn.value,
				    out->packet.payload_bytes);
			return true;
		}
		list_remove(&qp->ready_node);
		engine->quantum = 0;
	}
	return false;
}

void engine_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn,
			   bool is_response, int error, uint64_t now_ns)
{
	engine->now_ns = now_ns;
	engine->counters[COUNTER_MEMORY_ERRORS]++;
	if (is_response)
		responder_payload_failed(engine, qp, psn, error);
	else
		requester_payload_failed(engine, qp, psn, error);
}

void engine_packets_read(struct engine *engine, uint64_t now_ns)
{
	engine->now_ns = now_ns;
	while (!list_is_empty(&engine->built)) {
		struct qp *qp = list_first_entry(&engine->built, struct qp, built_node);

		list_remove(&qp->built_node);
		if (!qp_is_reliable(qp))
			completer_packets_read(engine, qp);
		local_operation_run(engine, qp);
	}
}

/* --- time ------------------------------------------------------------------------------------ */

uint64_t engine_next_deadline_ns(const struct engine *engine)
{
	uint64_t retry_ns = timer_heap_earliest_ns(&engine->timers);
	uint64_t pace_ns = timer_heap_earliest_ns(&engine->pace_timers);
	uint64_t window_ns = timer_heap_earliest_ns(&engine->window_timers);
	uint64_t wait_ns = delayed_acknowledgement_next_ns(engine);
	uint64_t withheld_ns = withheld_acknowledgement_next_ns(engine);
	uint64_t timer_ns = retry_ns < pace_ns ? retry_ns : pace_ns;

	if (!list_is_empty(&engine->kept.draining) ||
	    !list_is_empty(&engine->kept.draining_responses))
		return engine->now_ns;
	if (window_ns < timer_ns)
		timer_ns = window_ns;
	if (withheld_ns < timer_ns)
		timer_ns = withheld_ns;
	return timer_ns < wait_ns ? timer_ns : wait_ns;
}

/* The next QP of `draining`, off the list; NULL: none. */
static struct kept *next_draining(struct list *draining)
{
	struct kept *kept;

	if (list_is_empty(draining))
		return NULL;
	kept = list_first_entry(draining, struct kept, drain_node);
	list_remove(&kept->drain_node);
	return kept;
}

/* The next QPs whose gap has closed take a slice of what they keep. */
static void drain_kept(struct engine *engine)
{
	struct kept *requests = next_draining(&engine->kept.draining);
	struct kept *responses = next_draining(&engine->kept.draining_responses);

	if (requests != NULL && !qp_is_closed(RNIC_CONTAINER_OF(requests, struct qp, kept)))
		responder_drain(RNIC_CONTAINER_OF(requests, struct qp, kept));
	if (responses != NULL &&
	    !qp_is_closed(RNIC_CONTAINER_OF(responses, struct qp, kept_responses)))
		completer_drain(RNIC_CONTAINER_OF(responses, struct qp, kept_responses));
}

void engine_tick(struct engine *engine, uint64_t now_ns)
{
	struct timer *timer;

	engine->now_ns = now_ns;
	while ((timer = timer_heap_pop_expired(&engine->timers, now_ns)) != NULL) {
		struct qp *qp = RNIC_CONTAINER_OF(timer, struct qp, retry.timer);

		if (qp_is_closed(qp))
			qp_yield_turn(engine, qp);
		else
			retry_expired(engine, qp);
	}
	while ((timer = timer_heap_pop_expired(&engine->pace_timers, now_ns)) != NULL)
		congestion_expired(RNIC_CONTAINER_OF(timer, struct qp, congestion.timer));
	while ((timer = timer_heap_pop_expired(&engine->window_timers, now_ns)) != NULL)
		peer_window_expired(RNIC_CONTAINER_OF(timer, struct peer_window, timer));
	delayed_acknowledgement_expire(engine);
	withheld_acknowledgement_expire(engine);
	drain_kept(engine);
}

bool engine_end_waits(struct engine *engine, bool none_came)
{
	if (!list_is_linked(&engine->delayed_acknowledgements))
		return false;
	delayed_acknowledgement_end_waits(engine, none_came);
	return true;
}

bool engine_hasten_acknowledgements(struct engine *engine)
{
	bool has_any = !parting_is_empty(&engine->parting);

	engine_end_waits(engine, false);
	withheld_acknowledgement_tell_all(engine);
	for (uint32_t slot = 0; slot < engine->qps.slot_count; slot++) {
		struct qp *qp = key_table_slot(&engine->qps, slot);

		if (qp == NULL || qp_is_closed(qp) || !qp->responder.has_acknowledge)
			continue;
		ready_list_add_first(qp);
		has_any = true;
	}
	return has_any;
}
