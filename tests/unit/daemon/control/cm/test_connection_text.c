/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

static void expect_waiting(enum connection_state state, bool is_active, const char *expected)
{
	struct cm_connection *connection;
	struct cm_fixture fixture;
	char text[80];

	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, state, is_active);
	cm_waiting_for(connection, text, sizeof(text));
	assert_string_equal(text, expected);
	cm_destroy(connection, fixture.now_ns);
	fixture_fini(&fixture);
}

static void test_waiting(void **state)
{
	(void)state;
	expect_waiting(STATE_REQ_SENT, true, "the peer's answer to the request (try 1 of 4)");
	expect_waiting(STATE_REP_RECEIVED, true,
		       "its program, to continue after the peer's agreement");
	expect_waiting(STATE_REQ_RECEIVED, false, "its program, to accept or refuse");
	expect_waiting(STATE_REP_SENT, false, "the peer, to confirm the answer (try 1 of 4)");
	expect_waiting(STATE_ESTABLISHED, true, "");
	expect_waiting(STATE_DREQ_SENT, true, "the peer, to confirm the end (try 1 of 4)");
}

static void test_tries_are_counted(void **state)
{
	struct cm_connection *connection;
	struct rnic_cm_message mra;
	struct cm_fixture fixture;
	char text[80];

	(void)state;
	fixture_init(&fixture, 4);
	connection = fixture_reach(&fixture, STATE_REQ_SENT, true);
	fixture_wait(&fixture, FIXTURE_TRY_NS);
	fixture_pull(&fixture, RNIC_CM_REQ);
	cm_waiting_for(connection, text, sizeof(text));
	assert_non_null(strstr(text, "(try 2 of 4)"));
	mra = fixture_about(RNIC_CM_MRA, connection->comm_id);
	fixture_push(&fixture, &mra);
	cm_waiting_for(connection, text, sizeof(text));
	assert_non_null(strstr(text, "asked for time"));
	cm_destroy(connection, fixture.now_ns);
	fixture_pull(&fixture, RNIC_CM_REJ);
	fixture_fini(&fixture);
}

static void test_refusals(void **state)
{
	char text[80];

	(void)state;
	cm_reject_text(RNIC_CM_REJECT_INVALID_SERVICE_ID, false, text, sizeof(text));
	assert_string_equal(text, "nobody listens at that port of the peer (reason 8)");
	cm_reject_text(RNIC_CM_SIDR_UNSUPPORTED, true, text, sizeof(text));
	assert_string_equal(text, "nobody offers that service at the peer (status 1)");
	cm_reject_text(99, false, text, sizeof(text));
	assert_string_equal(text, "the peer has refused (reason 99)");
	cm_reject_text(RNIC_CM_REJECT_CONSUMER, false, text, 9);
	assert_string_equal(text, "the peer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_tries_are_counted),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
