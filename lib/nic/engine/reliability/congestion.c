/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/congestion.h"

#include "lib/nic/engine/ecn.h"
#include "lib/nic/engine/packet_builder.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"

/* CNPs have a class of their own, which switches serve first: DSCP 48, as adapters send them. */
#define CNP_TRAFFIC_CLASS (48 << 2)

/* What a packet takes on the wire beside its payload. */
#define HEADERS_BYTES 74

void congestion_reset(struct engine *engine, struct qp *qp)
{
	timer_heap_disarm(&engine->pace_timers, &qp->congestion.timer);
	qp->congestion = (struct congestion){0};
	cc_dcqcn_init(&qp->congestion.rate, engine->config.line_rate);
}

void congestion_look(struct engine *engine, struct qp *qp, const struct rnic_packet *packet)
{
	struct congestion *congestion = &qp->congestion;

	if (!ecn_is_marked(packet->addresses.traffic_class))
		return;
	engine->counters[COUNTER_ECN_MARKED]++;
	if (!engine->config.has_ecn || qp->type == RNIC_QP_TYPE_UD ||
	    engine->now_ns < congestion->next_notification_ns)
		return;
	congestion->next_notification_ns = engine->now_ns + LIMIT_CNP_INTERVAL_NS;
	congestion->owes_notification = true;
	ready_list_add(qp);
}

void congestion_notified(struct engine *engine, struct qp *qp, bool is_proven)
{
	const uint64_t unproven_rate = engine->config.line_rate / LIMIT_CC_UNPROVEN_DIVISOR;
	uint64_t least_rate = LIMIT_CC_LEAST_RATE;

	engine->counters[COUNTER_CNPS_RECEIVED]++;
	if (!is_proven) {
		engine->counters[COUNTER_CNPS_OTHER_PORT]++;
		if (unproven_rate > least_rate)
			least_rate = unproven_rate;
	}
	if (engine->config.has_ecn)
		cc_dcqcn_notified(&qp->congestion.rate, least_rate, engine->now_ns);
}

bool congestion_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out)
{
	if (!qp->congestion.owes_notification)
		return false;
	qp->congestion.owes_notification = false;
	packet_builder_start(qp, out, RNIC_OPERATION_CONGESTION, RNIC_POSITION_ONLY, 0,
			     rnic_psn(0));
	out->packet.addresses.traffic_class = CNP_TRAFFIC_CLASS;
	out->packet.becn = true;
	out->packet.migrated = false; /* as in those of ConnectX in captures */
	engine->counters[COUNTER_CNPS_SENT]++;
	return true;
}

bool congestion_try_send(struct engine *engine, struct qp *qp)
{
	uint64_t ready_ns;

	if (cc_dcqcn_may_send(&qp->congestion.rate, engine->now_ns, &ready_ns))
		return true;
	timer_heap_arm(&engine->pace_timers, &qp->congestion.timer, ready_ns);
	return false;
}

void congestion_sent(struct engine *engine, struct qp *qp, uint32_t payload_bytes)
{
	cc_dcqcn_sent(&qp->congestion.rate, payload_bytes + HEADERS_BYTES, engine->now_ns);
}

void congestion_expired(struct qp *qp)
{
	ready_list_add(qp);
}
