/* SPDX-License-Identifier: MIT */
/*
 * Every message and every call of the holder, in every state: the outcome of each row happens, and
 * nothing else.
 */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

#include <errno.h>

#define SAME	 STATE_COUNT
#define NO_EVENT CM_EVENT_COUNT

struct outcome {
	enum connection_state state;
	bool is_active;
	enum rnic_cm_kind kind;
	enum connection_state next; /* or SAME */
	uint32_t answer;	    /* enum rnic_cm_kind; 0: silence */
	enum cm_event_type event;   /* or NO_EVENT */
};

#define ACTIVE	true
#define PASSIVE false

/* clang-format off */
static const struct outcome outcomes[] = {
	{STATE_REQ_SENT, ACTIVE, RNIC_CM_REJ, STATE_ENDED, 0, CM_EVENT_REJECTED},
	{STATE_REQ_SENT, ACTIVE, RNIC_CM_REP, STATE_REP_RECEIVED, 0, CM_EVENT_CONNECT_RESPONSE},
	{STATE_REQ_SENT, ACTIVE, RNIC_CM_DREQ, STATE_ENDED, RNIC_CM_DREP, CM_EVENT_REJECTED},

	{STATE_REP_RECEIVED, ACTIVE, RNIC_CM_REJ, STATE_ENDED, 0, CM_EVENT_REJECTED},
	{STATE_REP_RECEIVED, ACTIVE, RNIC_CM_REP, SAME, RNIC_CM_MRA, NO_EVENT},
	{STATE_REP_RECEIVED, ACTIVE, RNIC_CM_DREQ, STATE_TIMEWAIT, RNIC_CM_DREP,
	 CM_EVENT_DISCONNECTED},

	{STATE_REQ_RECEIVED, PASSIVE, RNIC_CM_REQ, SAME, RNIC_CM_MRA, NO_EVENT},
	{STATE_REQ_RECEIVED, PASSIVE, RNIC_CM_REJ, STATE_REJECTED, 0, CM_EVENT_REJECTED},

	{STATE_REP_SENT, PASSIVE, RNIC_CM_REQ, SAME, RNIC_CM_REP, NO_EVENT},
	{STATE_REP_SENT, PASSIVE, RNIC_CM_REJ, STATE_REJECTED, 0, CM_EVENT_REJECTED},
	{STATE_REP_SENT, PASSIVE, RNIC_CM_RTU, STATE_ESTABLISHED, 0, CM_EVENT_ESTABLISHED},
	{STATE_REP_SENT, PASSIVE, RNIC_CM_DREQ, STATE_TIMEWAIT, RNIC_CM_DREP, CM_EVENT_ESTABLISHED},

	{STATE_ESTABLISHED, ACTIVE, RNIC_CM_REJ, STATE_TIMEWAIT, 0, CM_EVENT_DISCONNECTED},
	{STATE_ESTABLISHED, ACTIVE, RNIC_CM_REP, SAME, RNIC_CM_RTU, NO_EVENT},
	{STATE_ESTABLISHED, ACTIVE, RNIC_CM_DREQ, STATE_TIMEWAIT, RNIC_CM_DREP,
	 CM_EVENT_DISCONNECTED},
	{STATE_ESTABLISHED, ACTIVE, RNIC_CM_LAP, SAME, RNIC_CM_APR, NO_EVENT},
	{STATE_ESTABLISHED, PASSIVE, RNIC_CM_REQ, SAME, 0, NO_EVENT},
	{STATE_ESTABLISHED, PASSIVE, RNIC_CM_REJ, STATE_TIMEWAIT, 0, CM_EVENT_DISCONNECTED},
	{STATE_ESTABLISHED, PASSIVE, RNIC_CM_DREQ, STATE_TIMEWAIT, RNIC_CM_DREP,
	 CM_EVENT_DISCONNECTED},
	{STATE_ESTABLISHED, PASSIVE, RNIC_CM_LAP, SAME, RNIC_CM_APR, NO_EVENT},

	{STATE_DREQ_SENT, ACTIVE, RNIC_CM_REJ, STATE_TIMEWAIT, 0, CM_EVENT_DISCONNECTED},
	{STATE_DREQ_SENT, ACTIVE, RNIC_CM_REP, SAME, RNIC_CM_RTU, NO_EVENT},
	{STATE_DREQ_SENT, ACTIVE, RNIC_CM_DREQ, STATE_TIMEWAIT, RNIC_CM_DREP,
	 CM_EVENT_DISCONNECTED},
	{STATE_DREQ_SENT, ACTIVE, RNIC_CM_DREP, STATE_TIMEWAIT, 0, CM_EVENT_DISCONNECTED},
	{STATE_DREQ_SENT, PASSIVE, RNIC_CM_REQ, SAME, 0, NO_EVENT},
	{STATE_DREQ_SENT, PASSIVE, RNIC_CM_REJ, STATE_TIMEWAIT, 0, CM_EVENT_DISCONNECTED},
	{STATE_DREQ_SENT, PASSIVE, RNIC_CM_DREQ, STATE_TIMEWAIT, RNIC_CM_DREP,
	 CM_EVENT_DISCONNECTED},
	{STATE_DREQ_SENT, PASSIVE, RNIC_CM_DREP, STATE_TIMEWAIT, 0, CM_EVENT_DISCONNECTED},

	{STATE_DREQ_RECEIVED, ACTIVE, RNIC_CM_DREP, STATE_TIMEWAIT, 0, NO_EVENT},
	{STATE_DREQ_RECEIVED, PASSIVE, RNIC_CM_DREP, STATE_TIMEWAIT, 0, NO_EVENT},

	{STATE_TIMEWAIT, ACTIVE, RNIC_CM_REP, SAME, RNIC_CM_REJ, NO_EVENT},
	{STATE_TIMEWAIT, ACTIVE, RNIC_CM_DREQ, SAME, RNIC_CM_DREP, NO_EVENT},
	{STATE_TIMEWAIT, PASSIVE, RNIC_CM_REQ, SAME, RNIC_CM_REJ, NO_EVENT},
	{STATE_TIMEWAIT, PASSIVE, RNIC_CM_REP, SAME, RNIC_CM_REJ, NO_EVENT},
	{STATE_TIMEWAIT, PASSIVE, RNIC_CM_DREQ, SAME, RNIC_CM_DREP, NO_EVENT},

	{STATE_REJECTED, ACTIVE, RNIC_CM_REP, SAME, RNIC_CM_REJ, NO_EVENT},
	{STATE_REJECTED, ACTIVE, RNIC_CM_DREQ, SAME, RNIC_CM_DREP, NO_EVENT},
	{STATE_REJECTED, PASSIVE, RNIC_CM_REQ, SAME, RNIC_CM_REJ, NO_EVENT},
	{STATE_REJECTED, PASSIVE, RNIC_CM_REP, SAME, RNIC_CM_REJ, NO_EVENT},
	{STATE_REJECTED, PASSIVE, RNIC_CM_DREQ, SAME, RNIC_CM_DREP, NO_EVENT},

	{STATE_SIDR_SENT, ACTIVE, RNIC_CM_SIDR_REP, STATE_ENDED, 0, CM_EVENT_ESTABLISHED},
	{STATE_SIDR_RECEIVED, PASSIVE, RNIC_CM_SIDR_REQ, SAME, 0, NO_EVENT},
	{STATE_SIDR_ANSWERED, PASSIVE, RNIC_CM_SIDR_REQ, SAME, RNIC_CM_SIDR_REP, NO_EVENT},
};
/* clang-format on */

static bool is_datagram(enum connection_state state)
{
	return state == STATE_SIDR_SENT || state == STATE_SIDR_RECEIVED ||
	       state == STATE_SIDR_ANSWERED;
}

static bool can_be_active(enum connection_state state)
{
	return state != STATE_REQ_RECEIVED && state != STATE_REP_SENT &&
	       state != STATE_SIDR_RECEIVED && state != STATE_SIDR_ANSWERED;
}

static bool can_be_passive(enum connection_state state)
{
	return state != STATE_REQ_SENT && state != STATE_REP_RECEIVED && state != STATE_SIDR_SENT;
}

/* The answer to a message that belongs to no connection, without a listener. */
static uint32_t answer_of_nobody(enum rnic_cm_kind kind)
{
	switch (kind) {
	case RNIC_CM_REQ:
	case RNIC_CM_REP:
		return RNIC_CM_REJ;
	case RNIC_CM_DREQ:
		return RNIC_CM_DREP;
	case RNIC_CM_SIDR_REQ:
		return RNIC_CM_SIDR_REP;
	default:
		return 0;
	}
}

/* Whether a message of that kind finds a connection in that state. */
static bool finds(enum connection_state state, bool is_active, enum rnic_cm_kind kind)
{
	if (state == STATE_ENDED)
		return false;
	if (kind == RNIC_CM_REQ)
		return !is_active && !is_datagram(state);
	if (kind == RNIC_CM_SIDR_REQ)
		return !is_active && is_datagram(state);
	return is_datagram(state) == (kind == RNIC_CM_SIDR_REP);
}

static struct outcome expected_outcome(enum connection_state state, bool is_active,
				       enum rnic_cm_kind kind)
{
	struct outcome nothing = {state, is_active, kind, SAME, 0, NO_EVENT};

	for (size_t i = 0; i < RNIC_COUNT_OF(outcomes); i++)
		if (outcomes[i].state == state && outcomes[i].is_active == is_active &&
		    outcomes[i].kind == kind)
			return outcomes[i];
	if (!finds(state, is_active, kind))
		nothing.answer = answer_of_nobody(kind);
	return nothing;
}

static struct rnic_cm_message message_of(const struct cm_fixture *fixture, enum rnic_cm_kind kind,
					 const struct cm_connection *connection)
{
	if (kind == RNIC_CM_REQ)
		return fixture_req(fixture);
	if (kind == RNIC_CM_SIDR_REQ)
		return fixture_sidr_req(fixture);
	if (kind == RNIC_CM_REP)
		return fixture_rep(connection->comm_id);
	return fixture_about(kind, connection->comm_id);
}

static void check_message(enum connection_state state, bool is_active, enum rnic_cm_kind kind)
{
	struct outcome expected = expected_outcome(state, is_active, kind);
	struct cm_fixture fixture;
	struct cm_connection *connection;
	struct rnic_cm_message message;

	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, state, is_active);
	message = message_of(&fixture, kind, connection);
	fixture_push(&fixture, &message);
	assert_string_equal(connection_state_text(connection->state),
			    connection_state_text(expected.next == SAME ? state : expected.next));
	if (expected.answer != 0)
		fixture_pull(&fixture, (enum rnic_cm_kind)expected.answer);
	if (expected.event != NO_EVENT)
		fixture_expect_event(&fixture, expected.event);
	/* The peer was established, and disconnected. */
	if (expected.event == CM_EVENT_ESTABLISHED && kind == RNIC_CM_DREQ)
		fixture_expect_event(&fixture, CM_EVENT_DISCONNECTED);
	fixture_expect_silence(&fixture);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_messages(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < STATE_COUNT; i++) {
		for (uint32_t kind = RNIC_CM_REQ; kind <= RNIC_CM_APR; kind++) {
			if (can_be_active(i))
				check_message(i, true, kind);
			if (can_be_passive(i))
				check_message(i, false, kind);
		}
	}
}

enum call { CALL_ACCEPT, CALL_REJECT, CALL_ESTABLISH, CALL_TRAFFIC, CALL_DISCONNECT, CALL_COUNT };

/* clang-format off */
static const struct {
	enum connection_state state;
	enum call call;
	int result;
	enum connection_state next;
	uint32_t answer;
} calls[] = {
	{STATE_REQ_RECEIVED, CALL_ACCEPT, 0, STATE_REP_SENT, RNIC_CM_REP},
	{STATE_REQ_RECEIVED, CALL_REJECT, 0, STATE_REJECTED, RNIC_CM_REJ},
	{STATE_REP_RECEIVED, CALL_REJECT, 0, STATE_REJECTED, RNIC_CM_REJ},
	{STATE_REP_RECEIVED, CALL_ESTABLISH, 0, STATE_ESTABLISHED, RNIC_CM_RTU},
	{STATE_REP_SENT, CALL_TRAFFIC, 0, STATE_ESTABLISHED, 0},
	{STATE_ESTABLISHED, CALL_DISCONNECT, 0, STATE_DREQ_SENT, RNIC_CM_DREQ},
	{STATE_DREQ_SENT, CALL_DISCONNECT, 0, SAME, 0},
	{STATE_DREQ_RECEIVED, CALL_DISCONNECT, 0, STATE_TIMEWAIT, RNIC_CM_DREP},
	{STATE_TIMEWAIT, CALL_DISCONNECT, 0, SAME, 0},
	{STATE_ENDED, CALL_DISCONNECT, 0, SAME, 0},
	{STATE_SIDR_RECEIVED, CALL_ACCEPT, 0, STATE_SIDR_ANSWERED, RNIC_CM_SIDR_REP},
	{STATE_SIDR_RECEIVED, CALL_REJECT, 0, STATE_SIDR_ANSWERED, RNIC_CM_SIDR_REP},
};
/* clang-format on */

static int make_call(struct cm_connection *connection, enum call call, uint64_t now_ns)
{
	const struct cm_accept accept = {.qp = {.qpn = FIXTURE_QPN}};

	switch (call) {
	case CALL_ACCEPT:
		return cm_accept(connection, &accept, now_ns);
	case CALL_REJECT:
		return cm_reject(connection, 28, NULL, 0, now_ns);
	case CALL_ESTABLISH:
		return cm_establish(connection, now_ns);
	case CALL_DISCONNECT:
		return cm_disconnect(connection, now_ns);
	default:
		cm_note_traffic(connection, now_ns);
		return 0;
	}
}

static void check_call(enum connection_state state, bool is_active, enum call call)
{
	int result = call == CALL_TRAFFIC ? 0 : -ENOTCONN;
	enum connection_state next = state;
	struct cm_connection *connection;
	struct cm_fixture fixture;
	uint32_t answer = 0;

	for (size_t i = 0; i < RNIC_COUNT_OF(calls); i++) {
		if (calls[i].state != state || calls[i].call != call)
			continue;
		result = calls[i].result;
		next = calls[i].next == SAME ? state : calls[i].next;
		answer = calls[i].answer;
	}
	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, state, is_active);
	assert_int_equal(make_call(connection, call, fixture.now_ns), result);
	assert_string_equal(connection_state_text(connection->state), connection_state_text(next));
	if (answer != 0)
		fixture_pull(&fixture, (enum rnic_cm_kind)answer);
	fixture_expect_silence(&fixture);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_calls(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < STATE_COUNT; i++) {
		for (uint32_t call = 0; call < CALL_COUNT; call++) {
			if (can_be_active(i))
				check_call(i, true, call);
			if (can_be_passive(i))
				check_call(i, false, call);
		}
	}
}

/*
 * The message to the peer when the holder destroys the connection, and the end of a connection
 * without a holder.
 */
static const struct {
	enum connection_state state;
	bool is_active;
	uint32_t says[2];
	uint16_t reason; /* the reason of the REJ */
	bool is_gone;	 /* the connection is freed at once */
} farewells[] = {
	{STATE_REQ_SENT, ACTIVE, {RNIC_CM_REJ}, RNIC_CM_REJECT_TIMEOUT, true},
	{STATE_REP_RECEIVED, ACTIVE, {RNIC_CM_REJ}, RNIC_CM_REJECT_CONSUMER, false},
	{STATE_REQ_RECEIVED, PASSIVE, {RNIC_CM_REJ}, RNIC_CM_REJECT_CONSUMER, false},
	{STATE_REP_SENT, PASSIVE, {RNIC_CM_REJ, RNIC_CM_DREQ}, RNIC_CM_REJECT_CONSUMER, false},
	{STATE_ESTABLISHED, ACTIVE, {RNIC_CM_DREQ}, 0, false},
	{STATE_ESTABLISHED, PASSIVE, {RNIC_CM_DREQ}, 0, false},
	{STATE_DREQ_SENT, ACTIVE, {0}, 0, false},
	{STATE_DREQ_RECEIVED, ACTIVE, {RNIC_CM_DREP}, 0, false},
	{STATE_DREQ_RECEIVED, PASSIVE, {RNIC_CM_DREP}, 0, false},
	{STATE_TIMEWAIT, ACTIVE, {0}, 0, false},
	{STATE_REJECTED, PASSIVE, {0}, 0, false},
	{STATE_SIDR_SENT, ACTIVE, {0}, 0, true},
	{STATE_SIDR_RECEIVED, PASSIVE, {RNIC_CM_SIDR_REP}, 0, false},
	{STATE_SIDR_ANSWERED, PASSIVE, {0}, 0, false},
	{STATE_ENDED, ACTIVE, {0}, 0, true},
};

static void test_destroying(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(farewells); i++) {
		struct cm_connection *connection;
		struct cm_fixture fixture;

		fixture_init(&fixture, 4);
		connection = fixture_reach(&fixture, farewells[i].state, farewells[i].is_active);
		cm_destroy(connection, fixture.now_ns);
		for (uint32_t said = 0; said < 2 && farewells[i].says[said] != 0; said++) {
			struct rnic_cm_message message =
				fixture_pull(&fixture, farewells[i].says[said]);

			if (message.kind == RNIC_CM_REJ)
				assert_int_equal(message.rej.reason, farewells[i].reason);
			if (message.kind == RNIC_CM_SIDR_REP)
				assert_int_equal(message.sidr_rep.status, RNIC_CM_SIDR_REJECT);
		}
		fixture_expect_silence(&fixture);
		assert_int_equal(cm_next_connection(fixture.cm, NULL) == NULL,
				 farewells[i].is_gone);
		fixture_wait(&fixture, 60000 * MS);
		assert_null(cm_next_connection(fixture.cm, NULL));
		assert_true(cm_next_deadline_ns(fixture.cm) == UINT64_MAX);
		fixture_fini(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_destroying),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
