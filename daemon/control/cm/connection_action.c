/* SPDX-License-Identifier: MIT */
#include "daemon/control/cm/connection_action.h"

#include "daemon/control/cm/cm_state.h"
#include "daemon/control/cm/request.h"
#include "proto/base/time_units.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static void count(struct cm_connection *connection, enum cm_counter counter)
{
	connection->cm->counters[counter]++;
}

#define LEAST_TIMEWAIT_CODE 8  /* 1 ms */
#define MOST_TIMEWAIT_CODE  24 /* 66 s: a hostile peer cannot make us wait longer */

/* --- nothing to do ---------------------------------------------------------------------------- */

int action_unexpected(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	count(connection, CM_COUNTER_UNEXPECTED);
	return 0;
}

int action_duplicate(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	count(connection, CM_COUNTER_DUPLICATES);
	return 0;
}

int action_nothing(struct cm_connection *connection, const struct connection_input *input)
{
	(void)connection;
	(void)input;
	return 0;
}

int action_impossible(struct cm_connection *connection, const struct connection_input *input)
{
	(void)connection;
	(void)input;
	assert(false); /* the event cannot come in this state */
	return 0;
}

/* --- repeated messages ------------------------------------------------------------------------ */

static int repeat(struct cm_connection *connection, enum rnic_cm_kind kind)
{
	count(connection, CM_COUNTER_DUPLICATES);
	connection_queue_message(connection, kind);
	return 0;
}

int action_think(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	return repeat(connection, RNIC_CM_MRA);
}

int action_repeat_rep(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	return repeat(connection, RNIC_CM_REP);
}

int action_repeat_rtu(struct cm_connection *connection, const struct connection_input *input)
{
	if (!connection->is_active)
		return action_unexpected(connection, input);
	count(connection, CM_COUNTER_DUPLICATES);
	connection_send_rtu(connection);
	return 0;
}

int action_repeat_drep(struct cm_connection *connection, const struct connection_input *input)
{
	connection->disconnect_transaction_id = input->message->transaction_id;
	return repeat(connection, RNIC_CM_DREP);
}

int action_repeat_rej(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	connection_arm(connection, connection_linger_ns(connection));
	return repeat(connection, RNIC_CM_REJ);
}

/*
 * The peer's message belongs to a state that this connection never had or has left: the peer has
 * missed our message. The answer is that for an unknown connection.
 */
int action_too_late(struct cm_connection *connection, const struct connection_input *input)
{
	const struct request_origin origin = {
		.cm = connection->cm,
		.peer = connection->path.dest,
		.local = connection->path.source,
		.port = connection->peer_udp_port,
	};

	request_answer_unknown(&origin, input->message);
	return 0;
}

/* --- before the connection is established ----------------------------------------------------- */

/* Accepts one MRA for each try: a peer must not keep us waiting without end. */
int action_extend(struct cm_connection *connection, const struct connection_input *input)
{
	const struct rnic_cm_mra *mra = &input->message->mra;
	uint8_t subject = connection->is_active ? RNIC_CM_ABOUT_REQ : RNIC_CM_ABOUT_REP;

	if (mra->message != subject)
		return action_unexpected(connection, input);
	if (connection->is_extended)
		return action_duplicate(connection, input);
	connection->is_extended = true;
	connection_arm(connection,
		       connection_timeout_ns(mra->service_timeout) + connection->retry_timeout_ns);
	return 0;
}

/*
 * The peer withdraws its REQ. Copies of the REQ may still be under way. They must not look like a
 * new REQ, so a refusal answers them.
 */
static void remember_refused(struct cm_connection *connection)
{
	connection_answered(connection);
	connection->subject = RNIC_CM_ABOUT_REQ;
	connection->reason = RNIC_CM_REJECT_INVALID_COMM_ID;
	memset(connection->private_data, 0, sizeof(connection->private_data));
	connection_enter(connection, STATE_REJECTED);
	connection_arm(connection, connection_linger_ns(connection));
}

int action_refused(struct cm_connection *connection, const struct connection_input *input)
{
	const struct rnic_cm_rej *rej = &input->message->rej;
	struct cm_event event = {
		.type = CM_EVENT_REJECTED,
		.status = rej->reason,
		.private_data = rej->private_data,
		.private_bytes = sizeof(rej->private_data),
	};

	count(connection, CM_COUNTER_REJECTS_RECEIVED);
	connection_tell(connection, &event);
	if (connection->is_active)
		connection_end(connection);
	else
		remember_refused(connection);
	return 0;
}

/*
 * A DREQ in place of the answer: the peer has accepted and taken that back, and its REP is late or
 * lost, as the REJ may be that went before the DREQ. Nobody stands behind the REP any more.
 */
int action_taken_back(struct cm_connection *connection, const struct connection_input *input)
{
	action_too_late(connection, input);
	count(connection, CM_COUNTER_REJECTS_RECEIVED);
	connection_tell_simply(connection, CM_EVENT_REJECTED, RNIC_CM_REJECT_CONSUMER);
	connection_end(connection);
	return 0;
}

static uint8_t connection_action_least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/*
 * IBTA 1.4, 12.7.34: a QP's ACK timeout covers the round trip and the peer's delay. The function
 * adds two powers of two and rounds up to a power of two.
 */
static uint8_t add_delay(uint8_t ack_timeout, uint8_t delay)
{
	uint8_t larger = ack_timeout > delay ? ack_timeout : delay;
	uint8_t smaller = ack_timeout > delay ? delay : ack_timeout;

	if (smaller + 1 >= larger && larger < 31)
		larger++;
	return larger;
}

static void tell_response(struct cm_connection *connection, const struct rnic_cm_rep *rep)
{
	struct cm_event event = {
		.type = CM_EVENT_CONNECT_RESPONSE,
		.peer = connection->peer,
		.private_data = rep->private_data,
		.private_bytes = sizeof(rep->private_data),
	};

	connection_tell(connection, &event);
}

/*
 * IBTA 1.4, 12.9.8.3.1: the REP names a QP that already has a connection here. The peer may have
 * forgotten the old connection.
 */
static int refuse_stale(struct cm_connection *connection, struct cm_connection *living)
{
	const struct connection_input none = {0};

	connection_step(living, EVENT_NAMED, &none);
	connection->subject = RNIC_CM_ABOUT_REP;
	connection->reason = RNIC_CM_REJECT_STALE_CONNECTION;
	memset(connection->private_data, 0, sizeof(connection->private_data));
	connection_enter(connection, STATE_REJECTED);
	connection_queue_message(connection, RNIC_CM_REJ);
	connection_arm(connection, connection_linger_ns(connection));
	connection_tell_simply(connection, CM_EVENT_REJECTED, RNIC_CM_REJECT_STALE_CONNECTION);
	return 0;
}

int action_response(struct cm_connection *connection, const struct connection_input *input)
{
	const struct rnic_cm_rep *rep = &input->message->rep;
	struct cm_connection *living =
		connection_find_living(connection->cm, &connection->path.dest, rep->local_qpn);

	if (rep->local_comm_id == 0)
		return action_unexpected(connection, input);
	connection->peer_comm_id = rep->local_comm_id;
	connection->peer = connection_peer_of_rep(input->message);
	connection_list_peer(connection);
	if (living != NULL)
		return refuse_stale(connection, living);
	connection->local.initiator_depth = connection_action_least(
		connection->local.initiator_depth, rep->responder_resources);
	connection->local.responder_resources = connection_action_least(
		connection->local.responder_resources, rep->initiator_depth);
	connection->ack_timeout = add_delay(connection->ack_timeout, rep->target_ack_delay);
	connection_disarm(connection);
	connection_enter(connection, STATE_REP_RECEIVED);
	tell_response(connection, rep);
	return 0;
}

/* --- the connection is established ------------------------------------------------------------ */

int action_ready(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	connection_disarm(connection);
	connection->is_established = true;
	connection_enter(connection, STATE_ESTABLISHED);
	connection_tell_simply(connection, CM_EVENT_ESTABLISHED, 0);
	return 0;
}

int action_no_path(struct cm_connection *connection, const struct connection_input *input)
{
	connection->disconnect_transaction_id = input->message->transaction_id;
	connection_queue_message(connection, RNIC_CM_APR);
	return 0;
}

/* --- the connection ends ---------------------------------------------------------------------- */

/*
 * Timewait takes as long as Linux's: 2^(n - 8) ms for the code n of the ACK timeout
 * (cm_enter_timewait() and cm_convert_to_ms(), cm.c of 6.12). Our default timeout is shorter than
 * Linux's, and counts as that: 512 ms.
 */
static uint64_t timewait_ns(const struct cm_connection *connection)
{
	uint8_t code = connection->ack_timeout;

	if (code == CM_DEFAULT_PACKET_LIFETIME + 1)
		code = CM_LINUX_PACKET_LIFETIME + 1;
	if (code < LEAST_TIMEWAIT_CODE)
		code = LEAST_TIMEWAIT_CODE;
	if (code > MOST_TIMEWAIT_CODE)
		code = MOST_TIMEWAIT_CODE;
	return RNIC_NS_PER_MS << (code - LEAST_TIMEWAIT_CODE);
}

static void enter_timewait(struct cm_connection *connection)
{
	connection_enter(connection, STATE_TIMEWAIT);
	connection_arm_together(connection, timewait_ns(connection));
	connection_give_way(connection);
}

int action_drep_rcvd(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	enter_timewait(connection);
	connection_tell_simply(connection, CM_EVENT_DISCONNECTED, 0);
	return 0;
}

/* A REJ may come from any port, and may lack an identifier: not one that ends a connection. */
int action_ended_here(struct cm_connection *connection, const struct connection_input *input)
{
	const struct rnic_cm_rej *rej = &input->message->rej;

	if (rej->remote_comm_id != connection->comm_id ||
	    rej->local_comm_id != connection->peer_comm_id) {
		count(connection, CM_COUNTER_UNPROVEN);
		return 0;
	}
	count(connection, CM_COUNTER_REJECTS_RECEIVED);
	return action_drep_rcvd(connection, input);
}

/* A holder that has not established the connection has no call for its end. */
static bool awaits_call(const struct cm_connection *connection)
{
	return connection->ends_by_call && !connection->is_abandoned &&
	       connection->state != STATE_REP_RECEIVED;
}

/*
 * A DREQ, which may cross our own DREQ. A DREQ in REP_SENT means that the peer sent an RTU before:
 * the holder gets both events.
 */
int action_dreq_rcvd(struct cm_connection *connection, const struct connection_input *input)
{
	if (input->message->dreq.remote_qpn != connection->local.qpn) {
		count(connection, CM_COUNTER_UNPROVEN);
		return 0;
	}
	connection->disconnect_transaction_id = input->message->transaction_id;
	if (connection->state == STATE_REP_SENT) {
		connection->is_established = true;
		connection->must_tell_established = true;
	}
	if (awaits_call(connection)) {
		connection_disarm(connection);
		connection_enter(connection, STATE_DREQ_RECEIVED);
		connection_tell_simply(connection, CM_EVENT_DISCONNECTED, 0);
		return 0;
	}
	action_drep_rcvd(connection, input);
	connection_queue_message(connection, RNIC_CM_DREP);
	return 0;
}

/* Our DREQ crossed the peer's, and the peer has answered. The holder knows of the end. */
int action_drep_crossed(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	enter_timewait(connection);
	return 0;
}

int action_answer_dreq(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	enter_timewait(connection);
	connection_queue_message(connection, RNIC_CM_DREP);
	return 0;
}

int action_timewait_over(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	connection_tell_simply(connection, CM_EVENT_TIMEWAIT_EXIT, 0);
	connection_end(connection);
	return 0;
}

int action_end(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	connection_end(connection);
	return 0;
}

/* --- no answer comes -------------------------------------------------------------------------- */

static int connection_action_give_up(struct cm_connection *connection)
{
	connection_say_timeout(connection);
	connection_tell_simply(connection, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	connection_end(connection);
	return 0;
}

int action_retry_req(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	return connection_retry(connection, RNIC_CM_REQ) ? 0
							 : connection_action_give_up(connection);
}

int action_retry_rep(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	return connection_retry(connection, RNIC_CM_REP) ? 0
							 : connection_action_give_up(connection);
}

int action_retry_dreq(struct cm_connection *connection, const struct connection_input *input)
{
	(void)input;
	if (connection_retry(connection, RNIC_CM_DREQ))
		return 0;
	enter_timewait(connection);
	connection_tell_simply(connection, CM_EVENT_DISCONNECTED, -ETIMEDOUT);
	return 0;
}
