/* SPDX-License-Identifier: MIT */
/* The phase that the holder's program sees in each state. */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

static void expect_phase(enum connection_state state, bool is_active, enum cm_phase expected)
{
	struct cm_connection *connection;
	struct cm_fixture fixture;

	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, state, is_active);
	assert_int_equal(cm_connection_phase(connection), expected);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_states(void **state)
{
	(void)state;
	expect_phase(STATE_REQ_SENT, true, CM_PHASE_CONNECTING);
	expect_phase(STATE_REP_RECEIVED, true, CM_PHASE_ANSWERED);
	expect_phase(STATE_REQ_RECEIVED, false, CM_PHASE_REQUESTED);
	expect_phase(STATE_REP_SENT, false, CM_PHASE_ACCEPTED);
	expect_phase(STATE_ESTABLISHED, true, CM_PHASE_CONNECTED);
	expect_phase(STATE_ESTABLISHED, false, CM_PHASE_CONNECTED);
	expect_phase(STATE_DREQ_SENT, true, CM_PHASE_CONNECTED);
	expect_phase(STATE_DREQ_RECEIVED, true, CM_PHASE_CLOSED);
	expect_phase(STATE_DREQ_RECEIVED, false, CM_PHASE_CLOSED);
	expect_phase(STATE_TIMEWAIT, true, CM_PHASE_CLOSED);
	expect_phase(STATE_TIMEWAIT, false, CM_PHASE_CLOSED);
	expect_phase(STATE_REJECTED, true, CM_PHASE_CLOSED);
	expect_phase(STATE_REJECTED, false, CM_PHASE_CLOSED);
	expect_phase(STATE_ENDED, true, CM_PHASE_CLOSED);
	expect_phase(STATE_SIDR_SENT, true, CM_PHASE_CONNECTING);
	expect_phase(STATE_SIDR_RECEIVED, false, CM_PHASE_REQUESTED);
}

/* Traffic establishes a connection, but its holder gets the event at the next tick. */
static void test_traffic(void **state)
{
	struct cm_connection *connection;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, STATE_REP_SENT, false);
	cm_note_traffic(connection, fixture.now_ns);
	assert_int_equal(cm_connection_phase(connection), CM_PHASE_ACCEPTED);
	assert_int_equal(cm_disconnect(connection, fixture.now_ns), 0);
	assert_int_equal(cm_connection_phase(connection), CM_PHASE_ACCEPTED);
	fixture_pull(&fixture, RNIC_CM_DREQ);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void expect_resolution(uint8_t status, enum cm_event_type event, enum cm_phase expected)
{
	struct cm_connection *connection;
	struct rnic_cm_message rep;
	struct cm_fixture fixture;

	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, STATE_SIDR_SENT, true);
	rep = fixture_about(RNIC_CM_SIDR_REP, connection->comm_id);
	rep.sidr_rep.status = status;
	fixture_push(&fixture, &rep);
	fixture_expect_event(&fixture, event);
	assert_int_equal(cm_connection_phase(connection), expected);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_resolving(void **state)
{
	(void)state;
	expect_resolution(RNIC_CM_SIDR_SUCCESS, CM_EVENT_ESTABLISHED, CM_PHASE_CONNECTED);
	expect_resolution(RNIC_CM_SIDR_UNSUPPORTED, CM_EVENT_REJECTED, CM_PHASE_CLOSED);
}

/* The phase keeps the answer after the manager has forgotten the answer for the peer. */
static void expect_answer(bool is_accepted, enum cm_phase expected)
{
	const struct cm_accept accept = {.qp = {.qpn = FIXTURE_QPN}};
	struct cm_connection *connection;
	struct cm_fixture fixture;

	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, STATE_SIDR_RECEIVED, false);
	if (is_accepted)
		assert_int_equal(cm_accept(connection, &accept, fixture.now_ns), 0);
	else
		assert_int_equal(
			cm_reject(connection, RNIC_CM_SIDR_REJECT, NULL, 0, fixture.now_ns), 0);
	fixture_pull(&fixture, RNIC_CM_SIDR_REP);
	assert_int_equal(cm_connection_phase(connection), expected);
	fixture_wait(&fixture, 10000 * MS);
	assert_int_equal(connection->state, STATE_ENDED);
	assert_int_equal(cm_connection_phase(connection), expected);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_answering(void **state)
{
	(void)state;
	expect_answer(true, CM_PHASE_ACCEPTED);
	expect_answer(false, CM_PHASE_CLOSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_resolving),
		cmocka_unit_test(test_answering),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
