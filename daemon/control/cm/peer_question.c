/* SPDX-License-Identifier: MIT */
/*
 * A REQ or REP that names the QP of a living connection says that the peer has forgotten the
 * connection, as a host does that was started again. Addresses, ports and QPNs are no secret, so
 * the message proves nothing, and the peer is asked. What must answer:
 *
 *   RC                   the peer's QP, which acknowledges a copy of a request (peer_probe.h)
 *   UC, XRC; passive     the peer's connection manager, which answers a copy of the REP by an RTU
 *                        (cm_dup_rep_handler() of Linux 6.12, and action_repeat_rtu() here)
 *   UC, XRC; active      nothing must, so nothing is asked: the connection stands until its holder
 *                        ends it, and a REQ that names its QP is refused until then
 *
 * The connection ends after QUESTION_TRIES signs of life that did not come: as many as a QP has
 * tries at most, each as long as its ACK timeout, within bounds. The lower one lets a busy peer
 * pause; the upper one lets a peer that was started again get in within ten seconds. One question
 * is open at a time, and the next one rests, so that a flood of requests asks rarely.
 */
#include "daemon/control/cm/connection_action.h"

#include "daemon/control/cm/cm_state.h"
#include "proto/base/time_units.h"

#include <errno.h>

#define QUESTION_TRIES	   8
#define QUESTION_ASKED_MAX (2 * QUESTION_TRIES) /* the device may not answer each time */
#define QUESTION_LEAST_NS  (100 * RNIC_NS_PER_MS)
#define QUESTION_MOST_NS   RNIC_NS_PER_SECOND
#define QUESTION_REST_NS   RNIC_NS_PER_SECOND

static bool question_is_of_qp(const struct cm_connection *connection)
{
	return connection->qp_type == RNIC_QP_TYPE_RC;
}

static bool question_has_answer(const struct cm_connection *connection)
{
	return question_is_of_qp(connection) || !connection->is_active;
}

/* An ACK timeout of 0 is one without end. */
static uint64_t question_try_ns(const struct cm_connection *connection)
{
	const uint64_t timeout_ns = connection_timeout_ns(connection->ack_timeout);

	if (connection->ack_timeout == 0 || timeout_ns > QUESTION_MOST_NS)
		return QUESTION_MOST_NS;
	return timeout_ns < QUESTION_LEAST_NS ? QUESTION_LEAST_NS : timeout_ns;
}

static void question_ask(struct cm_connection *connection)
{
	const struct cm_config *config = &connection->cm->config;

	connection->question.asked++;
	if (!question_is_of_qp(connection))
		connection_queue_message(connection, RNIC_CM_REP);
	else if (config->sink->ask_peer != NULL)
		config->sink->ask_peer(config->sink_context, connection->local.qpn,
				       connection->comm_id);
	connection_arm(connection, question_try_ns(connection));
}

/* The peer lives, or nothing can be found out. */
static void question_close(struct cm_connection *connection)
{
	connection->question = (struct peer_question){
		.rest_until_ns = connection->cm->now_ns + QUESTION_REST_NS,
	};
	connection_disarm(connection);
}

static int question_end_connection(struct cm_connection *connection)
{
	connection->cm->counters[CM_COUNTER_PEERS_GONE]++;
	question_close(connection);
	return connection_step(connection, EVENT_DISCONNECT, &(struct connection_input){0});
}

static void tell_established(struct cm_connection *connection)
{
	if (!connection->must_tell_established)
		return;
	connection->must_tell_established = false;
	connection_tell_simply(connection, CM_EVENT_ESTABLISHED, 0);
}

int action_ask_peer(struct cm_connection *connection, const struct connection_input *input)
{
	struct cm *cm = connection->cm;
	struct peer_question *question = &connection->question;

	(void)input;
	cm->counters[CM_COUNTER_NAMED_LIVING]++;
	if (question->is_open || cm->now_ns < question->rest_until_ns ||
	    !question_has_answer(connection))
		return 0;
	tell_established(connection);
	cm->counters[CM_COUNTER_PEERS_ASKED]++;
	*question = (struct peer_question){.is_open = true};
	question_ask(connection);
	return 0;
}

static void repeat_rtu(struct cm_connection *connection)
{
	if (!connection->is_active || connection->retries_left == 0)
		return;
	connection->retries_left--;
	connection_queue_message(connection, RNIC_CM_RTU);
	if (connection->retries_left > 0)
		connection_arm(connection, connection->retry_timeout_ns);
}

int action_standing(struct cm_connection *connection, const struct connection_input *input)
{
	struct peer_question *question = &connection->question;

	(void)input;
	tell_established(connection);
	if (!question->is_open) {
		repeat_rtu(connection);
		return 0;
	}
	if (question->asked == QUESTION_ASKED_MAX) {
		question_close(connection);
		return 0;
	}
	/* The manager of the peer had its time; what a QP heard, the device tells. */
	if (!question_is_of_qp(connection) && ++question->silences == QUESTION_TRIES)
		return question_end_connection(connection);
	question_ask(connection);
	return 0;
}

/* The first answer tells what had come before the question. */
int action_peer_answered(struct cm_connection *connection, const struct connection_input *input)
{
	const struct cm_peer_answer *answer = input->answer;
	struct peer_question *question = &connection->question;

	if (!question->is_open || answer->qpn != connection->local.qpn)
		return 0;
	if (answer->status == -ENOTCONN || answer->status == -ENOENT)
		return question_end_connection(connection);
	if (answer->status != 0)
		return 0;
	if (!question->has_count) {
		question->has_count = true;
		question->count = answer->received_packets;
		return 0;
	}
	if (answer->received_packets == question->count)
		return ++question->silences < QUESTION_TRIES ? 0
							     : question_end_connection(connection);
	question_close(connection);
	return 0;
}

int action_rtu_again(struct cm_connection *connection, const struct connection_input *input)
{
	if (connection->question.is_open && !question_is_of_qp(connection))
		question_close(connection);
	return action_duplicate(connection, input);
}

void cm_peer_answered(struct cm *cm, const struct cm_peer_answer *answer, uint64_t now_ns)
{
	struct cm_connection *connection = connection_find(cm, answer->comm_id);
	const struct connection_input input = {.answer = answer};

	cm->now_ns = now_ns;
	if (connection != NULL)
		connection_step(connection, EVENT_ANSWERED, &input);
}
