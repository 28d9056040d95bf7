/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

#include "daemon/control/cm/cm.h"

#define WAIT_NS (100 * MS)

static void end_request(struct cm_fixture *fixture, struct cm_binding *binding)
{
	const struct fixture_event *event = fixture_expect_event(fixture, CM_EVENT_CONNECT_REQUEST);

	assert_memory_equal(event->private_data, "hello", 6);
	cm_destroy(event->event.connection, fixture->now_ns);
	cm_unbind(fixture->cm, binding);
}

/* The manager offers a request once, with its repetitions, as soon as a listener exists. */
static void expect_patience(struct rnic_cm_message (*make)(const struct cm_fixture *fixture))
{
	struct rnic_cm_message message;
	struct cm_binding *binding;
	struct cm_fixture fixture;

	fixture_init_patient(&fixture, 4, WAIT_NS);
	message = make(&fixture);
	fixture_push(&fixture, &message);
	fixture_wait(&fixture, WAIT_NS / 2);
	fixture_push(&fixture, &message);
	fixture_expect_silence(&fixture);
	binding = fixture_listen(&fixture, 0);
	assert_true(cm_next_deadline_ns(fixture.cm) <= fixture.now_ns);
	fixture_wait(&fixture, 0);
	end_request(&fixture, binding);
	assert_int_equal(cm_counter(fixture.cm, CM_COUNTER_PENDING_LISTENS), 1);
	fixture_wait(&fixture, 10000 * MS);
	fixture_fini(&fixture);
}

static void test_listener_comes(void **state)
{
	(void)state;
	expect_patience(fixture_req);
	expect_patience(fixture_sidr_req);
}

static void test_listener_elsewhere(void **state)
{
	struct cm_binding *binding;
	struct cm_fixture fixture;
	struct rnic_cm_message req;

	(void)state;
	fixture_init_patient(&fixture, 4, WAIT_NS);
	req = fixture_req(&fixture);
	req.req.service_id++;
	fixture_push(&fixture, &req);
	binding = fixture_listen(&fixture, 0);
	fixture_wait(&fixture, WAIT_NS - 1);
	fixture_expect_silence(&fixture);
	fixture_wait(&fixture, 1);
	assert_int_equal(fixture_pull(&fixture, RNIC_CM_REJ).rej.reason,
			 RNIC_CM_REJECT_INVALID_SERVICE_ID);
	fixture_expect_silence(&fixture);
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
}

static void test_nobody_comes(void **state)
{
	struct cm_fixture fixture;
	struct rnic_cm_message message;

	(void)state;
	fixture_init_patient(&fixture, 4, WAIT_NS);
	message = fixture_sidr_req(&fixture);
	fixture_push(&fixture, &message);
	fixture_wait(&fixture, WAIT_NS);
	assert_int_equal(fixture_pull(&fixture, RNIC_CM_SIDR_REP).sidr_rep.status,
			 RNIC_CM_SIDR_UNSUPPORTED);
	fixture_fini(&fixture);
}

static void test_peer_gives_up(void **state)
{
	struct cm_binding *binding;
	struct cm_fixture fixture;
	struct rnic_cm_message message;

	(void)state;
	fixture_init_patient(&fixture, 4, WAIT_NS);
	message = fixture_req(&fixture);
	fixture_push(&fixture, &message);
	message = fixture_about(RNIC_CM_REJ, 0);
	fixture_push(&fixture, &message);
	binding = fixture_listen(&fixture, 0);
	fixture_wait(&fixture, 2 * WAIT_NS);
	fixture_expect_silence(&fixture);
	cm_unbind(fixture.cm, binding);
	fixture_fini(&fixture);
}

/*
 * Requests that need an earlier answer get that answer at once, and so do requests without a port.
 */
static void test_refused_at_once(void **state)
{
	struct cm_fixture fixture;
	struct rnic_cm_message req;

	(void)state;
	fixture_init_patient(&fixture, 4, WAIT_NS);
	req = fixture_req(&fixture);
	req.req.remote_response_timeout = 15; /* 134 ms */
	fixture_push(&fixture, &req);
	fixture_pull(&fixture, RNIC_CM_REJ);
	req = fixture_req(&fixture);
	req.req.service_id |= UINT64_C(1) << 40;
	fixture_push(&fixture, &req);
	fixture_pull(&fixture, RNIC_CM_REJ);
	assert_int_equal(cm_counter(fixture.cm, CM_COUNTER_PENDING_LISTENS), 0);
	fixture_fini(&fixture);
}

/* Requests of one more peer, of which the last one is refused at once. */
static void push_more_than_share(struct cm_fixture *fixture, uint32_t requests)
{
	struct rnic_cm_message req;

	fixture->peer.bytes[15]++;
	req = fixture_req(fixture);
	for (uint32_t i = 0; i < requests; i++) {
		fixture_expect_silence(fixture);
		req.req.local_comm_id++;
		fixture_push(fixture, &req);
	}
	fixture_pull(fixture, RNIC_CM_REJ);
	fixture_expect_silence(fixture);
}

/*
 * The manager remembers a bounded number of strangers' requests and refuses the rest at once. One
 * address leaves room for others.
 */
static void test_flood(void **state)
{
	const uint8_t peers = LIMIT_CM_PENDING_LISTENS / LIMIT_CM_PEER_LISTENS;
	struct cm_fixture fixture;
	uint8_t first;

	(void)state;
	fixture_init_patient(&fixture, 1, WAIT_NS);
	first = fixture.peer.bytes[15];
	for (uint32_t i = 0; i < peers; i++)
		push_more_than_share(&fixture, LIMIT_CM_PEER_LISTENS + 1);
	push_more_than_share(&fixture, 1);
	fixture_wait(&fixture, WAIT_NS);
	for (uint32_t i = 0; i < LIMIT_CM_PENDING_LISTENS; i++) {
		fixture.peer.bytes[15] = (uint8_t)(first + 1 + i / LIMIT_CM_PEER_LISTENS);
		fixture_pull(&fixture, RNIC_CM_REJ);
	}
	fixture_expect_silence(&fixture);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listener_comes),	cmocka_unit_test(test_listener_elsewhere),
		cmocka_unit_test(test_nobody_comes),	cmocka_unit_test(test_peer_gives_up),
		cmocka_unit_test(test_refused_at_once), cmocka_unit_test(test_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
