/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verbs/qp.h"

#include "lib/nic/engine/datagrams/mcast.h"
#include "lib/nic/engine/engine_addresses.h"
#include "lib/nic/engine/objects/ah.h"
#include "lib/nic/engine/objects/cq.h"
#include "lib/nic/engine/objects/mw.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/peer_port.h"
#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/progress/receive_wqe.h"
#include "lib/nic/engine/progress/send_completion.h"
#include "lib/nic/engine/progress/send_position.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/reliability/congestion.h"
#include "lib/nic/engine/reliability/delayed_acknowledgement.h"
#include "lib/nic/engine/reliability/peer_window.h"
#include "lib/nic/engine/reliability/retry_timer.h"
#include "lib/nic/engine/reliability/withheld_acknowledgement.h"
#include "lib/nic/engine/objects/kept.h"
#include "lib/nic/engine/objects/qp_record.h"
#include "lib/nic/engine/responder/responder.h"
#include "lib/nic/engine/responder/responder_answer.h"
#include "lib/nic/engine/verbs/qp_attributes.h"
#include "lib/nic/engine/verbs/qp_transition.h"
#include "lib/nic/engine/verbs/srq.h"
#include "proto/wire/gid.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- creation -------------------------------------------------------------------------------- */

static bool are_capacities_good(const struct rnic_qp_capacities *capacities)
{
	return capacities->max_send_wr <= LIMIT_WR_DEPTH &&
	       capacities->max_recv_wr <= LIMIT_WR_DEPTH &&
	       capacities->max_send_sge <= LIMIT_SGES && capacities->max_recv_sge <= LIMIT_SGES &&
	       capacities->max_inline_bytes <= LIMIT_INLINE_BYTES;
}

static void fini_receives(struct qp *qp)
{
	if (qp->srq != NULL)
		srq_detach(qp->srq);
	else if (qp->xrcd != NULL)
		xrcd_remove_target(qp->xrcd, qp);
	else
		recv_queue_fini(&qp->recv_queue);
}

static int init_receives(struct qp *qp)
{
	if (qp->srq != NULL)
		return srq_attach(qp->srq);
	if (qp->xrcd != NULL)
		return xrcd_add_target(qp->xrcd, qp);
	return recv_queue_init(&qp->recv_queue, qp->capacities.max_recv_sge);
}

/* The most SGEs that a receive WQE of the QP may have. */
static uint32_t receive_sges(const struct qp *qp)
{
	if (qp->xrcd != NULL)
		return LIMIT_SGES;
	return qp->srq != NULL ? qp->srq->max_sge : qp->capacities.max_recv_sge;
}

static int init_queues(struct qp *qp)
{
	const struct rnic_qp_capacities *capacities = &qp->capacities;
	struct send_rooms *rooms = qp->type == RNIC_QP_TYPE_UD ? NULL : &qp->engine->send_rooms;
	int error = send_queue_init(&qp->send_queue, rooms, capacities->max_send_wr,
				    capacities->max_send_sge, capacities->max_inline_bytes);

	if (error != 0)
		return error;
	if (qp->type == RNIC_QP_TYPE_UD) {
		error = send_queue_init_paths(&qp->send_queue);
		if (error != 0)
			goto fini_send_queue;
	}
	error = init_receives(qp);
	if (error != 0)
		goto fini_send_queue;
	error = responder_init(&qp->responder, receive_sges(qp));
	if (error != 0)
		goto fini_receives;
	return 0;

fini_receives:
	fini_receives(qp);
fini_send_queue:
	send_queue_fini(&qp->send_queue);
	return error;
}

static void fini_queues(struct qp *qp)
{
	responder_fini(&qp->responder);
	fini_receives(qp);
	send_queue_fini(&qp->send_queue);
}

static void count_references(struct qp *qp, int32_t change)
{
	if (qp->pd != NULL)
		qp->pd->references += (uint32_t)change;
	if (qp->send_cq != NULL)
		qp->send_cq->references += (uint32_t)change;
	if (qp->recv_cq != NULL)
		qp->recv_cq->references += (uint32_t)change;
}

static struct qp *qp_allocate(struct engine *engine, const struct qp_config *config)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (qp == NULL)
		return NULL;
	qp->engine = engine;
	qp->type = config->type;
	qp->state = RNIC_QP_STATE_RESET;
	qp->attributes = qp_attributes_at_reset;
	qp->signal_all = config->signal_all;
	qp->pd = config->pd;
	qp->send_cq = config->send_cq;
	qp->recv_cq = config->recv_cq;
	qp->srq = config->srq;
	qp->xrcd = config->xrcd;
	qp->capacities = config->capacities;
	qp->user = config->user;
	qp->owner_number = config->owner_number;
	list_init(&qp->ready_node);
	list_init(&qp->path_node);
	list_init(&qp->built_node);
	list_init(&qp->mcast_members);
	list_init(&qp->domain_node);
	list_init(&qp->windows);
	list_init(&qp->failures.node);
	list_init(&qp->delayed_acknowledgement.node);
	list_init(&qp->withheld_acknowledgement.node);
	kept_init(&qp->kept);
	kept_init(&qp->kept_responses);
	retry_timer_init(qp);
	congestion_reset(engine, qp);
	return qp;
}

static bool is_type_known(uint8_t type)
{
	switch ((enum rnic_qp_type)type) {
	case RNIC_QP_TYPE_RC:
	case RNIC_QP_TYPE_UC:
	case RNIC_QP_TYPE_UD:
	case RNIC_QP_TYPE_XRC_INITIATOR:
	case RNIC_QP_TYPE_XRC_TARGET:
		return true;
	}
	return false;
}

int qp_create(struct engine *engine, const struct qp_config *config, struct qp **qp)
{
	struct qp *made;
	int error;

	if (!is_type_known(config->type))
		return -EOPNOTSUPP;
	if (!are_capacities_good(&config->capacities))
		return -EINVAL;
	if (engine->qps.count >= engine->config.max_qps)
		return -ENOSPC;
	error = timer_heap_reserve(&engine->timers, engine->qps.count + 1);
	if (error == 0)
		error = timer_heap_reserve(&engine->pace_timers, engine->qps.count + 1);
	if (error != 0)
		return error;
	made = qp_allocate(engine, config);
	if (made == NULL)
		return -ENOMEM;
	error = init_queues(made);
	if (error != 0)
		goto free_made;
	error = key_table_insert_random(&engine->qps, &engine->config.random, made, &made->qpn);
	if (error != 0)
		goto fini_made_queues;
	count_references(made, 1);
	*qp = made;
	return 0;

fini_made_queues:
	fini_queues(made);
free_made:
	free(made);
	return error;
}

/* Lets go of peer and work: what RESET and destruction have in common. */
static void qp_forget(struct qp *qp)
{
	struct engine *engine = qp->engine;

	/* Received payload belongs to the client; the QP may fall into error over its placement, no
	 * matter. */
	placement_run(engine);
	withheld_acknowledgement_tell(qp);
	responder_part(engine, qp);
	kept_forget(engine, &qp->kept);
	kept_forget(engine, &qp->kept_responses);
	send_position_reset(engine, qp);
	receive_wqe_give_back(qp);
	congestion_reset(engine, qp);
	delayed_acknowledgement_forget(qp);
	peer_window_put(qp->peer_window);
	qp->peer_window = NULL;
	ready_list_remove(qp);
	list_remove(&qp->built_node);
}

bool qp_hasten_answers(struct qp *qp)
{
	if (!responder_owes_answers(qp))
		return false;
	ready_list_add_first(qp);
	return true;
}

void qp_destroy(struct qp *qp)
{
	if (qp->state != RNIC_QP_STATE_RESET)
		qp_record_end(qp,
			      qp_is_closed(qp) ? RNIC_RECORD_BY_PROGRAM_END : RNIC_RECORD_BY_CALL);
	recorder_release(&qp->engine->recorder, &qp->record.hold);
	qp_forget(qp);
	mcast_detach_all(qp->engine, qp);
	mw_forget_qp(qp);
	key_table_remove(&qp->engine->qps, qp->qpn);
	count_references(qp, -1);
	fini_queues(qp);
	free(qp);
}

/* --- transitions ----------------------------------------------------------------------------- */

static bool are_values_good(const struct qp *qp, const struct rnic_qp_attributes *attributes,
			    uint32_t mask)
{
	if (qp_attributes_refused(attributes, mask) != 0)
		return false;
	if ((mask & RNIC_QP_ATTR_CURRENT_STATE) && attributes->current_state != qp->state)
		return false;
	if ((mask & RNIC_QP_ATTR_PKEY_INDEX) &&
	    !pkey_is_valid(qp->engine->pkeys[attributes->pkey_index]))
		return false;
	/* The responder resources were sized when the QP went to RTR. */
	if ((mask & RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC) && qp->state == RNIC_QP_STATE_SQD &&
	    attributes->max_dest_rd_atomic > qp->responder.resources.count)
		return false;
	return !(mask & RNIC_QP_ATTR_AV) || ah_path_is_usable(qp->engine, &attributes->path, false);
}

/* A queue pair without a ring was in no trouble yet: its states alone are worth none. */
static void record_state(struct qp *qp, enum rnic_qp_state to)
{
	const struct rnic_record_entry entry = {
		.event = RNIC_RECORD_STATE,
		.detail = (uint8_t)to,
		.extra = qp->state,
	};

	if (qp->record.hold.ring != 0 && qp->state != (uint8_t)to)
		qp_record(qp, &entry);
}

static void enter_reset(struct qp *qp)
{
	qp_forget(qp);
	send_queue_clear(&qp->send_queue);
	qp->requester = (struct requester){0};
	responder_reset(qp->engine, qp);
	qp->attributes = qp_attributes_at_reset;
	record_state(qp, RNIC_QP_STATE_RESET);
	qp->state = RNIC_QP_STATE_RESET;
	qp->last_error = VERDICT_PASS;
	qp->trouble_log_told = 0;
	qp->last_received_ns = 0;
}

/* What follows once the attributes of a transition are in force. */
static void enter_state(struct qp *qp, enum rnic_qp_state to)
{
	enum rnic_qp_state from = (enum rnic_qp_state)qp->state;

	record_state(qp, to);
	qp->state = (uint8_t)to;
	if (to == RNIC_QP_STATE_RTR) {
		qp_record_connected(qp);
		peer_port_forget(qp);
		qp->is_established = false;
	} else if (to == RNIC_QP_STATE_RTS) {
		if (from == RNIC_QP_STATE_RTR) {
			send_position_start(qp, rnic_psn(qp->attributes.sq_psn));
			retry_timer_progress(qp->engine, qp);
		}
		qp->attributes.sq_draining = 0;
		ready_list_add(qp);
	} else if (to == RNIC_QP_STATE_SQD && from == RNIC_QP_STATE_RTS) {
		qp->attributes.sq_draining = 1;
		send_completion_check_drained(qp);
	}
}

/* Takes `path` in place of the present path; packets under way on that path go out again. */
static void change_path(struct qp *qp, struct peer_window *path)
{
	if (qp->peer_window != NULL) {
		send_position_rewind(qp->engine, qp);
		send_position_cancel_window_wait(qp->engine, qp);
		peer_window_put(qp->peer_window);
	}
	peer_port_forget(qp);
	qp->round_trip = (struct round_trip){0};
	qp->peer_window = path;
}

/* A transition between states that keep or take attributes; all checks have passed. */
static int change(struct qp *qp, enum rnic_qp_state to, const struct rnic_qp_attributes *attributes,
		  uint32_t mask)
{
	struct rnic_qp_attributes before = qp->attributes;
	struct peer_window *path = NULL;
	int error;

	if (mask & RNIC_QP_ATTR_AV) {
		path = peer_window_get(qp->engine, &attributes->path.dest_gid);
		if (path == NULL)
			return -ENOMEM;
	}
	qp_attributes_take(&qp->attributes, attributes, mask);
	if (mask & RNIC_QP_ATTR_AV)
		qp->attributes.path.hop_limit = engine_hop_limit(qp->engine, &attributes->path);
	if (to == RNIC_QP_STATE_RTR) {
		error = responder_start(qp);
		if (error != 0)
			goto restore;
		qp->path_mtu_bytes = qp->type == RNIC_QP_TYPE_UD
					     ? qp->engine->config.port_mtu_bytes
					     : UINT32_C(128) << qp->attributes.path_mtu;
	}
	if (path != NULL)
		change_path(qp, path);
	enter_state(qp, to);
	return 0;

restore:
	qp->attributes = before;
	peer_window_put(path);
	return error;
}

int qp_modify(struct qp *qp, const struct rnic_qp_attributes *attributes, uint32_t mask)
{
	uint32_t to = mask & RNIC_QP_ATTR_STATE ? attributes->state : qp->state;

	if (!qp_transition_check((enum rnic_qp_type)qp->type, (enum rnic_qp_state)qp->state,
				 (enum rnic_qp_state)to, mask) ||
	    !are_values_good(qp, attributes, mask))
		return -EINVAL;
	switch ((enum rnic_qp_state)to) {
	case RNIC_QP_STATE_RESET:
		enter_reset(qp);
		return 0;
	case RNIC_QP_STATE_ERR:
		qp_enter_error(qp, VERDICT_FLUSHED);
		return 0;
	default:
		return change(qp, (enum rnic_qp_state)to, attributes, mask);
	}
}

void qp_query(const struct qp *qp, struct rnic_qp_attributes *attributes)
{
	*attributes = qp->attributes;
	attributes->state = qp->state;
	attributes->current_state = qp->state;
	if (qp->state == RNIC_QP_STATE_RTS || qp->state == RNIC_QP_STATE_SQD)
		attributes->sq_psn = qp->requester.psn.value;
	if (qp->state >= RNIC_QP_STATE_RTR)
		attributes->rq_psn = qp->responder.expected_psn.value;
}

/* --- work ------------------------------------------------------------------------------------ */

void qp_post_send(struct qp *qp, const struct send_wqe *wqe, const struct rnic_sge *sges,
		  const uint8_t *inline_bytes)
{
	struct send_wqe *posted;

	send_queue_push(&qp->send_queue, wqe, sges, inline_bytes);
	posted = send_queue_at(&qp->send_queue, qp->send_queue.posted - 1);
	if (qp->signal_all)
		posted->flags |= RNIC_SEND_SIGNALED;
	/* IBTA 1.4, C10-10. */
	if (qp->type == RNIC_QP_TYPE_UD &&
	    (wqe->datagram.ah == NULL || !pd_is_same(wqe->datagram.ah->pd, qp->pd)))
		posted->opcode = RNIC_WR_OPCODE_COUNT;
	if (qp->state == RNIC_QP_STATE_ERR || qp->state == RNIC_QP_STATE_SQE)
		send_completion_flush(qp->engine, qp);
	else if (qp->state == RNIC_QP_STATE_RTS)
		ready_list_add(qp);
}

void qp_await_send_space(struct qp *qp)
{
	qp->send_queue.is_awaited = true;
}

void qp_flush_receives(struct qp *qp)
{
	if (qp->state == RNIC_QP_STATE_ERR && qp_has_recv_queue(qp))
		receive_wqe_flush(qp->engine, qp);
}
