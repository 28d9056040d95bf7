/* SPDX-License-Identifier: MIT */
/*
 * A REQ names the queue pair of a living connection. It is refused, and ends nothing: the
 * connection ends when the peer gives no sign of life.
 */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

#include "daemon/control/cm/cm_state.h"

#include <errno.h>

#define TRIES	8
#define TRY_NS	(UINT64_C(4096) << 15) /* the ACK timeout of the connection */
#define REST_NS (1000 * MS)

/* A REQ of a new connection with the peer's old QPN is refused as stale. */
static void name_the_qp(struct cm_fixture *fixture)
{
	struct rnic_cm_message req = fixture_req(fixture);

	req.req.local_comm_id = (uint32_t)prng_next(&fixture->random) | 1;
	fixture_push(fixture, &req);
	assert_int_equal(fixture_pull(fixture, RNIC_CM_REJ).rej.reason,
			 RNIC_CM_REJECT_STALE_CONNECTION);
}

static void answer(struct cm_fixture *fixture, int status, uint64_t received_packets)
{
	const struct cm_peer_answer answer = {
		.comm_id = fixture->asked_comm_id,
		.qpn = FIXTURE_QPN,
		.status = status,
		.received_packets = received_packets,
	};

	cm_peer_answered(fixture->cm, &answer, fixture->now_ns);
}

struct named {
	struct cm_fixture fixture;
	struct cm_binding *binding;
	struct cm_connection *connection;
};

/* An established connection of `qp_type`, whose RTUs have been sent. */
static void named_init(struct named *named, bool is_active, uint8_t qp_type)
{
	struct cm_fixture *fixture = &named->fixture;

	fixture_init(fixture, 8);
	named->connection = fixture_reach(fixture, STATE_ESTABLISHED, is_active);
	named->connection->qp_type = qp_type;
	named->binding = fixture_listen(fixture, 0);
	fixture_wait(fixture, 4 * FIXTURE_TRY_NS);
	while (cm_has_ready(fixture->cm))
		fixture_pull(fixture, RNIC_CM_RTU);
}

static void named_fini(struct named *named)
{
	cm_destroy(named->connection, named->fixture.now_ns);
	cm_unbind(named->fixture.cm, named->binding);
	fixture_fini(&named->fixture);
}

static void expect_standing(struct named *named)
{
	assert_int_equal(named->connection->state, STATE_ESTABLISHED);
	fixture_expect_silence(&named->fixture);
	fixture_expect_no_event(&named->fixture);
	assert_int_equal(named->fixture.cm->counters[CM_COUNTER_PEERS_GONE], 0);
}

static void expect_gone(struct named *named)
{
	assert_int_equal(named->connection->state, STATE_DREQ_SENT);
	assert_int_equal(fixture_pull(&named->fixture, RNIC_CM_DREQ).dreq.remote_qpn,
			 FIXTURE_PEER_QPN);
	assert_int_equal(named->fixture.cm->counters[CM_COUNTER_PEERS_GONE], 1);
}

/* RC, both sides: the first answer of the device is where the count begins. */
static void test_queue_pair(void **state)
{
	(void)state;
	for (int row = 0; row < 4; row++) {
		const bool answers = row / 2 != 0;
		struct named named;

		named_init(&named, row % 2 != 0, RNIC_QP_TYPE_RC);
		name_the_qp(&named.fixture);
		answer(&named.fixture, 0, 1000);
		for (uint32_t i = 0; i < TRIES; i++) {
			expect_standing(&named);
			assert_int_equal(named.fixture.question_count, i + 1);
			fixture_wait(&named.fixture, TRY_NS);
			/* The last try has its answer. */
			answer(&named.fixture, 0, 1000 + (answers && i + 1 == TRIES));
		}
		if (answers)
			expect_standing(&named);
		else
			expect_gone(&named);
		named_fini(&named);
	}
}

/* A REQ of the same QP gets in as soon as the old connection has ended. */
static void test_a_later_request_gets_in(void **state)
{
	struct named named;
	struct rnic_cm_message req;

	(void)state;
	named_init(&named, false, RNIC_QP_TYPE_RC);
	name_the_qp(&named.fixture);
	answer(&named.fixture, 0, 5);
	for (uint32_t i = 0; i < TRIES; i++) {
		name_the_qp(&named.fixture);
		fixture_wait(&named.fixture, TRY_NS);
		answer(&named.fixture, 0, 5);
	}
	expect_gone(&named);
	req = fixture_req(&named.fixture);
	req.req.local_comm_id++;
	fixture_push(&named.fixture, &req);
	cm_destroy(fixture_expect_event(&named.fixture, CM_EVENT_CONNECT_REQUEST)->event.connection,
		   named.fixture.now_ns);
	named_fini(&named);
}

/* One question at a time, and a rest after each: a flood of requests asks rarely. */
static void test_one_question_at_a_time(void **state)
{
	struct named named;

	(void)state;
	named_init(&named, false, RNIC_QP_TYPE_RC);
	for (uint32_t i = 0; i < 1000; i++)
		name_the_qp(&named.fixture);
	assert_int_equal(named.fixture.question_count, 1);
	answer(&named.fixture, 0, 1);
	fixture_wait(&named.fixture, TRY_NS);
	answer(&named.fixture, 0, 2);
	for (uint32_t i = 0; i < 1000; i++)
		name_the_qp(&named.fixture);
	assert_int_equal(named.fixture.question_count, 2);
	fixture_wait(&named.fixture, REST_NS);
	name_the_qp(&named.fixture);
	assert_int_equal(named.fixture.question_count, 3);
	assert_int_equal(named.fixture.cm->counters[CM_COUNTER_PEERS_ASKED], 2);
	expect_standing(&named);
	named_fini(&named);
}

/* What the device says at the first question, and whether the connection stands after all tries. */
static void test_what_the_device_says(void **state)
{
	static const struct {
		int status;
		bool stands;
	} rows[] = {{-ENOTCONN, false}, {-ENOENT, false}, {-EAGAIN, true}, {-EOPNOTSUPP, true}};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct named named;

		named_init(&named, true, RNIC_QP_TYPE_RC);
		name_the_qp(&named.fixture);
		for (uint32_t j = 0; rows[i].stands && j < 4 * TRIES; j++) {
			answer(&named.fixture, rows[i].status, 0);
			fixture_wait(&named.fixture, TRY_NS);
		}
		answer(&named.fixture, rows[i].status, 0);
		if (rows[i].stands)
			expect_standing(&named);
		else
			expect_gone(&named);
		named_fini(&named);
	}
}

/* A device that is stopped proves nothing, and one that lies about other queue pairs neither. */
static void test_no_answer_and_a_wrong_one(void **state)
{
	struct cm_peer_answer wrong = {.qpn = FIXTURE_QPN + 1, .status = -ENOENT};
	struct named named;

	(void)state;
	named_init(&named, false, RNIC_QP_TYPE_RC);
	answer(&named.fixture, -ENOENT, 0); /* nobody asked */
	name_the_qp(&named.fixture);
	wrong.comm_id = named.connection->comm_id;
	cm_peer_answered(named.fixture.cm, &wrong, named.fixture.now_ns);
	fixture_wait(&named.fixture, 4 * TRIES * TRY_NS);
	assert_int_equal(named.fixture.question_count, 2 * TRIES);
	expect_standing(&named);
	named_fini(&named);
}

/*
 * UC and XRC: the peer's connection manager answers the REP again, and nobody asks the peer of an
 * active side.
 */
static void test_other_types(void **state)
{
	static const struct {
		bool is_active;
		uint32_t rtu_at; /* the try that the peer answers; 0: none */
		bool stands;
	} rows[] = {{false, 0, false}, {false, 1, true}, {false, TRIES, true}, {true, 0, true}};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct rnic_cm_message rtu;
		struct named named;

		named_init(&named, rows[i].is_active, RNIC_QP_TYPE_UC);
		rtu = fixture_about(RNIC_CM_RTU, named.connection->comm_id);
		name_the_qp(&named.fixture);
		for (uint32_t try = 1; try <= TRIES && !rows[i].is_active; try++) {
			fixture_pull(&named.fixture, RNIC_CM_REP);
			if (try == rows[i].rtu_at)
				fixture_push(&named.fixture, &rtu);
			fixture_wait(&named.fixture, TRY_NS);
			if (try == rows[i].rtu_at)
				break;
		}
		if (rows[i].stands)
			expect_standing(&named);
		else
			expect_gone(&named);
		assert_int_equal(named.fixture.question_count, 0);
		named_fini(&named);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue_pair),
		cmocka_unit_test(test_a_later_request_gets_in),
		cmocka_unit_test(test_one_question_at_a_time),
		cmocka_unit_test(test_what_the_device_says),
		cmocka_unit_test(test_no_answer_and_a_wrong_one),
		cmocka_unit_test(test_other_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
