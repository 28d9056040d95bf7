/* SPDX-License-Identifier: MIT */
/* Carries out the conditions that rnicctl makes (enum rnic_condition). */
#include "daemon/device/device.h"

#include "daemon/device/device_state.h"
#include "daemon/device/queues/cqe_delivery.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session.h"
#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/verbs/qp.h"
#include "lib/nic/engine/verbs/srq.h"
#include "lib/nic/port/conditions/fault_plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(RNIC_RULES_MAX == FAULT_RULES_MAX, "each slot has its place");
_Static_assert(RNIC_RULE_TEXT_BYTES == FAULT_RULE_TEXT_BYTES, "each text fits");

static struct session *order_find_session(const struct device *device, uint32_t client_id)
{
	const struct list *node;

	list_for_each (node, &device->sessions.sessions) {
		struct session *session = list_entry(node, struct session, node);

		if (session->client_id == client_id && !session->is_broken)
			return session;
	}
	return NULL;
}

static struct qp *order_find_qp(const struct session *session, uint32_t qpn)
{
	const struct session_qp *qp;
	uint32_t slot = 0;

	while ((qp = handle_table_next(&session->qps, &slot)) != NULL)
		if (qp->qp->qpn == qpn)
			return qp->qp;
	return NULL;
}

static struct srq *order_find_srq(const struct session *session, uint32_t number)
{
	const struct session_srq *srq;
	uint32_t slot = 0;

	while ((srq = handle_table_next(&session->srqs, &slot)) != NULL)
		if (srq->srq->number == number)
			return srq->srq;
	return NULL;
}

__attribute__((format(printf, 3, 4))) static int order_refuse(char reason[RNIC_CTL_TEXT_BYTES],
							      int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, RNIC_CTL_TEXT_BYTES, format, arguments);
	va_end(arguments);
	return error;
}

static int order_qp_error(struct device *device, const struct session *session,
			  const struct rnic_process_order *order, char reason[RNIC_CTL_TEXT_BYTES])
{
	struct qp *qp = order_find_qp(session, order->number);

	if (qp == NULL)
		return order_refuse(reason, -ENOENT, "there is no queue pair 0x%x", order->number);
	if (qp->state == RNIC_QP_STATE_RESET)
		return order_refuse(reason, -EINVAL,
				    "queue pair 0x%x is in RESET, where nothing can fail",
				    order->number);
	qp_enter_error(qp, VERDICT_ORDERED);
	if (order->condition == RNIC_CONDITION_QP_FATAL)
		cqe_delivery_async_event(&device->sessions, RNIC_EVENT_QP_FATAL, qp);
	return 0;
}

/* As after a completion that did not fit: the queue gets no more. */
static int order_cq_error(struct device *device, const struct session *session,
			  const struct rnic_process_order *order, char reason[RNIC_CTL_TEXT_BYTES])
{
	struct session_cq *cq = handle_table_at(&session->cqs, order->number);

	if (cq == NULL)
		return order_refuse(reason, -ENOENT, "there is no completion queue %u",
				    order->number);
	if (cq->cq.overrun)
		return order_refuse(reason, -EINVAL, "completion queue %u is in error already",
				    order->number);
	cq->cq.overrun = true;
	cqe_delivery_async_event(&device->sessions, RNIC_EVENT_CQ_ERR, &cq->cq);
	return 0;
}

static int order_srq_error(struct device *device, const struct session *session,
			   const struct rnic_process_order *order, char reason[RNIC_CTL_TEXT_BYTES])
{
	struct srq *srq = order_find_srq(session, order->number);

	if (srq == NULL)
		return order_refuse(reason, -ENOENT, "there is no shared receive queue 0x%x",
				    order->number);
	cqe_delivery_async_event(&device->sessions, RNIC_EVENT_SRQ_ERR, srq);
	return 0;
}

/* An order of an object; the object's client may have gone meanwhile. */
static int order_of_object(struct device *device, const struct rnic_process_order *order,
			   char reason[RNIC_CTL_TEXT_BYTES])
{
	const struct session *session = order_find_session(device, order->client_id);

	if (session == NULL)
		return order_refuse(reason, -ENOENT, "client %u has gone", order->client_id);
	switch (order->condition) {
	case RNIC_CONDITION_QP_FATAL:
	case RNIC_CONDITION_QP_ERROR:
		return order_qp_error(device, session, order, reason);
	case RNIC_CONDITION_CQ_ERR:
		return order_cq_error(device, session, order, reason);
	case RNIC_CONDITION_SRQ_ERR:
		return order_srq_error(device, session, order, reason);
	default:
		return order_refuse(reason, -EINVAL, "there is no condition %u", order->condition);
	}
}

int device_carry_out(struct device *device, const struct rnic_process_order *order,
		     char reason[RNIC_CTL_TEXT_BYTES])
{
	static const uint8_t port_events[RNIC_CONDITION_COUNT] = {
		[RNIC_CONDITION_PORT_ERR] = RNIC_EVENT_PORT_ERR,
		[RNIC_CONDITION_PORT_ACTIVE] = RNIC_EVENT_PORT_ACTIVE,
		[RNIC_CONDITION_GID_CHANGE] = RNIC_EVENT_GID_CHANGE,
		[RNIC_CONDITION_DEVICE_FATAL] = RNIC_EVENT_DEVICE_FATAL,
	};

	device_end_waits(device);
	if (order->condition == RNIC_CONDITION_LINK)
		return 0;
	if (order->condition < RNIC_CONDITION_COUNT && port_events[order->condition] != 0) {
		cqe_delivery_port_event(&device->sessions,
					(enum rnic_async_event_type)port_events[order->condition]);
		return 0;
	}
	return order_of_object(device, order, reason);
}

/* --- rules of faults ------------------------------------------------------------------------- */

/* A rule is one of programs that end, or of packets: its slot of the other kind is empty. */
static int device_set_rule(struct device *device, uint32_t slot,
			   const struct rnic_process_rule *wanted, uint64_t now_ns)
{
	struct port_stack *ports = &device->ports;
	struct end_rules *ends = &device->ends;
	uint32_t id = wanted->id;
	struct fault_rule rule;

	if (memchr(wanted->text, 0, sizeof(wanted->text)) == NULL)
		return -EINVAL;
	if (id != 0 && id == ends->ids[slot])
		return 0;
	end_rules_set(ends, slot, 0, NULL);
	if (id != 0 &&
	    fault_rule_load(&rule, wanted->text, wanted->seed, ports->lane, now_ns) == 0 &&
	    rule.end != FAULT_END_NONE) {
		end_rules_set(ends, slot, id, &rule);
		id = 0;
	}
	return port_stack_set_rule(ports, slot, id, wanted->text, wanted->seed, now_ns);
}

int device_set_rules(struct device *device, const struct rnic_process_rules *rules, uint64_t now_ns)
{
	int result = 0;

	device_end_waits(device);
	for (uint32_t slot = 0; slot < RNIC_RULES_MAX; slot++) {
		const int error = device_set_rule(device, slot, &rules->rules[slot], now_ns);

		if (error != 0)
			result = error;
	}
	data_path_set_stack(&device->path, &device->ports);
	return result;
}
