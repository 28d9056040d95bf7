/* SPDX-License-Identifier: MIT */
/* An address that has not answered yet: how much it gets, and how much room it has. */
#include "tests/unit/daemon/control/cm/cm_fixture.h"

#include "daemon/control/cm/cm_state.h"
#include "daemon/control/cm/proven_address.h"

#define BACKLOG 8

/* What our side does with a REQ of a forged address. */
enum doing { DOING_NOTHING, DOING_ACCEPT, DOING_REJECT, DOING_DESTROY, DOING_TAKE_BACK };

static uint32_t pull_all(struct cm_fixture *fixture)
{
	struct rnic_packet built;
	uint32_t count = 0;

	while (cm_transmit(fixture->cm, &built))
		count++;
	return count;
}

static void do_with(struct cm_fixture *fixture, struct cm_connection *connection, enum doing doing)
{
	const struct cm_accept accept = {.qp = {.qpn = FIXTURE_QPN}};

	if (doing == DOING_ACCEPT || doing == DOING_TAKE_BACK)
		assert_int_equal(cm_accept(connection, &accept, fixture->now_ns), 0);
	if (doing == DOING_REJECT)
		assert_int_equal(cm_reject(connection, 28, NULL, 0, fixture->now_ns), 0);
}

/* At most three messages for each that came, whatever the holder does and however long it takes. */
static void test_three_times(void **state)
{
	(void)state;
	for (uint32_t row = 0; row < 5 * 3; row++) {
		const enum doing doing = (enum doing)(row / 3);
		const uint32_t copies = row % 3;
		struct cm_connection *connection;
		struct rnic_cm_message req;
		struct cm_binding *binding;
		struct cm_fixture fixture;
		uint32_t sent;

		fixture_init(&fixture, 8);
		binding = fixture_listen(&fixture, 0);
		req = fixture_req(&fixture);
		req.req.max_cm_retries = 15;
		fixture_push(&fixture, &req);
		connection =
			fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST)->event.connection;
		for (uint32_t i = 0; i < copies; i++)
			fixture_push(&fixture, &req);
		sent = pull_all(&fixture);
		do_with(&fixture, connection, doing);
		sent += pull_all(&fixture);
		if (doing != DOING_ACCEPT)
			cm_destroy(connection, fixture.now_ns);
		for (uint32_t i = 0; i < 64; i++) {
			fixture_wait(&fixture, FIXTURE_TRY_NS);
			sent += pull_all(&fixture);
		}
		assert_in_range(sent, 1, CREDIT_OF_MESSAGE * (1 + copies));
		if (doing == DOING_ACCEPT) {
			fixture_expect_event(&fixture, CM_EVENT_UNREACHABLE);
			cm_destroy(connection, fixture.now_ns);
		}
		assert_int_equal(fixture.cm->connection_count, 0);
		cm_unbind(fixture.cm, binding);
		fixture_fini(&fixture);
	}
}

/* An RTU, or traffic on the queue pair, lifts the limit: all tries of a DREQ are sent. */
static void test_proof(void **state)
{
	(void)state;
	for (int with_rtu = 0; with_rtu < 2; with_rtu++) {
		struct cm_connection *connection;
		struct cm_fixture fixture;

		fixture_init(&fixture, 8);
		connection = fixture_reach(&fixture, with_rtu ? STATE_ESTABLISHED : STATE_REP_SENT,
					   false);
		if (!with_rtu) {
			cm_note_traffic(connection, fixture.now_ns);
			fixture_wait(&fixture, 0);
			fixture_expect_event(&fixture, CM_EVENT_ESTABLISHED);
		}
		assert_int_equal(cm_disconnect(connection, fixture.now_ns), 0);
		for (uint32_t i = 0; i < 4; i++) {
			fixture_pull(&fixture, RNIC_CM_DREQ);
			fixture_wait(&fixture, FIXTURE_TRY_NS);
		}
		fixture_expect_event(&fixture, CM_EVENT_DISCONNECTED);
		assert_int_equal(fixture.cm->counters[CM_COUNTER_HELD_BACK], 0);
		cm_destroy(connection, fixture.now_ns);
		fixture_fini(&fixture);
	}
}

/* Requests of one address, each a new one; returns how many reached the listener. */
static uint32_t flood(struct cm_fixture *fixture, uint8_t host, uint32_t count)
{
	struct rnic_cm_message req;
	uint32_t arrived = 0;

	fixture->peer.bytes[15] = host;
	req = fixture_req(fixture);
	req.req.local_comm_id ^= 0x100000;
	req.req.local_qpn ^= 0x100000;
	for (uint32_t i = 0; i < count; i++) {
		req.req.local_comm_id++;
		req.req.local_qpn++;
		fixture_push(fixture, &req);
		if (fixture->event_read == fixture->event_count)
			continue;
		fixture_expect_event(fixture, CM_EVENT_CONNECT_REQUEST);
		fixture->event_count = fixture->event_read = 0;
		arrived++;
	}
	return arrived;
}

/* Whether a request of host 2 reaches a listener of the user at the next port. */
static bool is_heard_by(struct cm_fixture *fixture, uint32_t owner)
{
	const struct cm_bind bind = {
		.port_space = RNIC_PORT_SPACE_TCP,
		.address = {fixture->local, FIXTURE_PORT + 1},
		.owner = owner,
		.user = fixture,
	};
	struct rnic_cm_message req = fixture_req(fixture);
	struct cm_binding *binding;
	bool is_heard;

	req.req.service_id++;
	req.req.local_comm_id ^= 0x200000;
	req.req.local_qpn ^= 0x200000;
	assert_int_equal(cm_bind(fixture->cm, &bind, &binding), 0);
	assert_int_equal(cm_listen(binding, 0), 0);
	fixture_push(fixture, &req);
	is_heard = fixture->event_read != fixture->event_count;
	fixture->event_count = fixture->event_read = 0;
	cm_unbind(fixture->cm, binding);
	return is_heard;
}

static void end_all(struct cm_fixture *fixture, struct cm_binding *binding)
{
	struct list *node, *next;

	list_for_each_safe (node, next, &fixture->cm->connections)
		cm_destroy(list_entry(node, struct cm_connection, node), fixture->now_ns);
	cm_unbind(fixture->cm, binding);
	fixture_fini(fixture);
}

/* Requests that a user's listeners let wait take nothing from the listeners of another user. */
static void test_listeners_of_users(void **state)
{
	struct cm_binding *binding;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 4 * LIMIT_CM_UNPROVEN);
	binding = fixture_listen(&fixture, 0);
	binding->backlog = 2 * LIMIT_CM_UNPROVEN; /* as several listeners have together */
	assert_int_equal(flood(&fixture, 2, 2 * LIMIT_CM_UNPROVEN), LIMIT_CM_UNPROVEN);
	assert_false(is_heard_by(&fixture, binding->owner));
	assert_true(is_heard_by(&fixture, binding->owner + 1));
	end_all(&fixture, binding);
}

/* A flood of one address fills no backlog: others have the last quarter. */
static void test_backlog(void **state)
{
	struct cm_binding *binding;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 1000);
	binding = fixture_listen(&fixture, BACKLOG);
	assert_int_equal(flood(&fixture, 2, 100), BACKLOG - BACKLOG / 4);
	assert_int_equal(flood(&fixture, 3, 100), BACKLOG / 4);
	assert_int_equal(flood(&fixture, 4, 1), 0);
	assert_int_equal(fixture.cm->counters[CM_COUNTER_PEER_SHARE], 100 - BACKLOG + BACKLOG / 4);
	end_all(&fixture, binding);
}

/* What proves an address comes before the holder's answer, and makes no room in a backlog. */
static void test_proven_backlog(void **state)
{
	struct cm_binding *binding;
	struct cm_fixture fixture;
	struct list *node;
	uint32_t arrived = 0;

	(void)state;
	fixture_init(&fixture, 1000);
	binding = fixture_listen(&fixture, BACKLOG);
	for (uint32_t i = 0; i < 2 * BACKLOG; i++) {
		struct rnic_cm_message req = fixture_req(&fixture), rtu;

		req.req.local_comm_id += i;
		req.req.local_qpn += i;
		fixture_push(&fixture, &req);
		if (fixture.event_read == fixture.event_count)
			continue;
		fixture.event_count = fixture.event_read = 0;
		arrived++;
		node = fixture.cm->connections.prev;
		rtu = fixture_about(RNIC_CM_RTU,
				    list_entry(node, struct cm_connection, node)->comm_id);
		rtu.rtu.local_comm_id = req.req.local_comm_id;
		fixture_push(&fixture, &rtu);
		assert_true(list_entry(node, struct cm_connection, node)->address.is_proven);
	}
	assert_int_equal(arrived, BACKLOG - BACKLOG / 4);
	assert_int_equal(flood(&fixture, 3, 1), 1);
	end_all(&fixture, binding);
}

/* A backlog that one address has filled, and that is too short for a quarter: others get in. */
static void test_short_backlog(void **state)
{
	(void)state;
	for (uint32_t backlog = 1; backlog < 4; backlog++) {
		struct cm_binding *binding;
		struct cm_fixture fixture;

		fixture_init(&fixture, 1000);
		binding = fixture_listen(&fixture, backlog);
		assert_int_equal(flood(&fixture, 2, 100), backlog);
		for (uint8_t host = 3; host < 7; host++)
			assert_int_equal(flood(&fixture, host, 100), 1);
		assert_int_equal(flood(&fixture, 7, 1), 0);
		assert_int_equal(flood(&fixture, 2, 1), 0);
		assert_true(fixture.cm->counters[CM_COUNTER_BACKLOG_FULL] > 0);
		end_all(&fixture, binding);
	}
}

/* Requests of a user of our own host, one after the other; returns how many were heard. */
static uint32_t ask_as(struct cm_fixture *fixture, uint32_t user, uint32_t count)
{
	static uint32_t qpn = FIXTURE_QPN;
	uint32_t arrived = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct cm_connect connect = fixture_connect_parameters(fixture);
		struct cm_connection *connection;
		struct rnic_cm_message req;

		connect.owner = user;
		connect.qp.qpn = ++qpn;
		assert_int_equal(cm_connect(fixture->cm, &connect, fixture->now_ns, &connection),
				 0);
		req = fixture_pull(fixture, RNIC_CM_REQ);
		fixture_push(fixture, &req);
		arrived += fixture->event_read != fixture->event_count;
		fixture->event_count = fixture->event_read = 0;
	}
	return arrived;
}

/* The users of our own host have one address, and each of them a share. */
static void test_users_of_own_host(void **state)
{
	struct cm_binding *binding;
	struct cm_fixture fixture;

	(void)state;
	fixture_init(&fixture, 1000);
	fixture.peer = fixture.local;
	binding = fixture_listen(&fixture, BACKLOG);
	assert_int_equal(ask_as(&fixture, 1, 100), BACKLOG - BACKLOG / 4);
	assert_int_equal(ask_as(&fixture, 2, 100), BACKLOG / 4);
	assert_int_equal(ask_as(&fixture, 3, 1), 0);
	end_all(&fixture, binding);
}

/* A listener that accepts each request at once: the address has its share of what is unproven. */
static void test_accepted_flood(void **state)
{
	const uint32_t count = LIMIT_CM_UNPROVEN + 100;
	struct cm_binding *binding;
	struct cm_fixture fixture;
	struct list *node;
	uint32_t arrived = 0;

	(void)state;
	fixture_init(&fixture, 4 * LIMIT_CM_UNPROVEN);
	binding = fixture_listen(&fixture, 0);
	for (uint32_t i = 0; i < count; i++) {
		struct rnic_cm_message req = fixture_req(&fixture);

		req.req.local_comm_id += i;
		req.req.local_qpn += i;
		fixture_push(&fixture, &req);
		if (fixture.event_read == fixture.event_count)
			continue;
		do_with(&fixture,
			fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST)->event.connection,
			DOING_ACCEPT);
		fixture.event_count = fixture.event_read = 0;
		arrived++;
		pull_all(&fixture);
	}
	assert_int_equal(arrived, LIMIT_CM_UNPROVEN);
	assert_int_equal(flood(&fixture, 3, 1), 1);
	/* Each RTU makes room for one. */
	list_for_each (node, &fixture.cm->connections)
		proven_address_heard(fixture.cm,
				     &list_entry(node, struct cm_connection, node)->address, true);
	assert_int_equal(flood(&fixture, 2, 1), 1);
	end_all(&fixture, binding);
}

/*
 * Requests that end without a proof count on, and are forgiven at their rate: short times between
 * tries do not make a flood of few requests at a time.
 */
static void test_failures_count_on(void **state)
{
	struct cm_binding *binding;
	struct cm_fixture fixture;
	uint32_t arrived = 0;

	(void)state;
	fixture_init(&fixture, 4 * LIMIT_CM_UNPROVEN);
	binding = fixture_listen(&fixture, 0);
	for (uint32_t i = 0; i < 2 * LIMIT_CM_UNPROVEN; i++) {
		struct rnic_cm_message req = fixture_req(&fixture);
		struct cm_connection *connection;

		req.req.local_comm_id += i;
		req.req.local_qpn += i;
		fixture_push(&fixture, &req);
		if (fixture.event_read == fixture.event_count)
			continue;
		connection =
			fixture_expect_event(&fixture, CM_EVENT_CONNECT_REQUEST)->event.connection;
		fixture.event_count = fixture.event_read = 0;
		connection->is_abandoned = true; /* as after its end, without the wait for that */
		connection_end(connection);
		arrived++;
	}
	assert_int_equal(arrived, LIMIT_CM_UNPROVEN);
	assert_int_equal(flood(&fixture, 3, 1), 1);
	fixture_wait(&fixture, 2000 * MS);
	assert_int_equal(flood(&fixture, 2, 1000), 2 * LIMIT_CM_FORGIVEN);
	end_all(&fixture, binding);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_times),	  cmocka_unit_test(test_proof),
		cmocka_unit_test(test_backlog),		  cmocka_unit_test(test_listeners_of_users),
		cmocka_unit_test(test_accepted_flood),	  cmocka_unit_test(test_failures_count_on),
		cmocka_unit_test(test_proven_backlog),	  cmocka_unit_test(test_short_backlog),
		cmocka_unit_test(test_users_of_own_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
