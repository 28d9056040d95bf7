/* SPDX-License-Identifier: MIT */
#include "daemon/device/queues/doorbell.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session_set.h"
#include "daemon/device/session_turn.h"
#include "proto/ctl/ctl_message.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <sys/socket.h>
#include <unistd.h>

#define START_NS UINT64_C(1000000000)

/* A server and a client; the test plays the client's side of the rings and of the connection. */
struct fixture {
	struct family family;
	struct session *session;
	struct rnic_session_region *region;
	int doorbell_fd;
	int peer_fd;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;

	memset(f, 0, sizeof(*f));
	family_init(&f->family, NULL, NULL);
	f->family.device.sessions.now_ns = START_NS;
	f->session = client_fixture_open(client_fixture_connect_device(&f->family, 1, &f->peer_fd),
					 &f->doorbell_fd, NULL);
	f->region = session_region(f->session);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	family_fini(&f->family);
	close(f->doorbell_fd);
	close(f->peer_fd);
	return 0;
}

/* Rings as a client does; returns whether the daemon wanted to be woken. */
static bool ring(struct fixture *f)
{
	const uint64_t one = 1;
	const uint32_t producer = rnic_index_load(&f->region->doorbell_producer);

	atomic_store(&f->region->doorbells[producer % RNIC_DOORBELL_SLOTS],
		     RNIC_DOORBELL(RNIC_DOORBELL_SEND, 0));
	rnic_index_publish(&f->region->doorbell_producer, producer + 1);
	if (!rnic_wake_take(&f->region->need_wakeup))
		return false;
	assert_int_equal(write(f->doorbell_fd, &one, sizeof(one)), sizeof(one));
	return true;
}

static void ask(const struct fixture *f)
{
	const struct rnic_ctl_header request = {
		.magic = RNIC_CTL_MAGIC,
		.version = RNIC_CTL_VERSION_MAX,
		.operation = RNIC_CTL_QUERY_PORT,
		.bytes = sizeof(request),
	};

	assert_int_equal(send(f->peer_fd, &request, sizeof(request), 0), sizeof(request));
}

static bool is_answered(const struct fixture *f)
{
	uint8_t message[RNIC_CTL_MESSAGE_BYTES];

	return recv(f->peer_fd, message, sizeof(message), MSG_DONTWAIT) > 0;
}

static void fall_asleep(struct fixture *f)
{
	f->family.device.sessions.now_ns += LIMIT_DOORBELL_IDLE_NS;
	assert_int_equal(doorbell_take_all(&f->family.device.sessions), 0);
	assert_false(scheduler_has(&f->family.device.sessions.scheduler, WAIT_DOORBELL_LOOK));
}

static void test_who_rings_stays_awake(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 4; i++) {
		f->family.device.sessions.now_ns += LIMIT_DOORBELL_IDLE_NS - 1;
		assert_false(ring(f));
		assert_int_equal(doorbell_take_all(&f->family.device.sessions), 1);
		assert_int_equal(doorbell_take_all(&f->family.device.sessions), 0);
		assert_true(
			scheduler_has(&f->family.device.sessions.scheduler, WAIT_DOORBELL_LOOK));
	}
	/* Late, but before it was looked at. */
	f->family.device.sessions.now_ns += 2 * LIMIT_DOORBELL_IDLE_NS;
	assert_false(ring(f));
	assert_int_equal(doorbell_take_all(&f->family.device.sessions), 1);
	assert_false(ring(f));
}

static void test_an_idle_session_rings_by_the_descriptor(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 3; i++) {
		fall_asleep(f);
		assert_true(ring(f));
		assert_false(ring(f));
		assert_true(device_poll(&f->family.device));
		assert_int_equal(doorbell_take_all(&f->family.device.sessions), 2);
		assert_false(ring(f));
		assert_int_equal(doorbell_take_all(&f->family.device.sessions), 1);
	}
}

/* The loop's own sleep is no client's: an idle session rings all along. */
static void test_sleep_of_the_loop(void **state)
{
	struct fixture *f = *state;

	session_turn_announce_sleep(&f->family.device.sessions);
	assert_int_equal(f->region->need_wakeup.value, 1);
	session_turn_withdraw_sleep(&f->family.device.sessions);
	assert_int_equal(f->region->need_wakeup.value, 0);
	fall_asleep(f);
	session_turn_announce_sleep(&f->family.device.sessions);
	session_turn_withdraw_sleep(&f->family.device.sessions);
	assert_int_equal(f->region->need_wakeup.value, 1);
}

/*
 * The daemon takes entries posted before a request before it answers the request, also of an idle
 * session.
 */
static void test_requests_come_after_doorbells(void **state)
{
	struct fixture *f = *state;

	fall_asleep(f);
	ring(f);
	ask(f);
	device_note_requests(&f->family.device);
	assert_int_equal(doorbell_take_all(&f->family.device.sessions), 1);
	device_serve(&f->family.device);
	assert_true(is_answered(f));
}

/* A client may post between two requests, after the turn that has taken its earlier entries. */
static void test_next_requests_wait_for_a_turn(void **state)
{
	struct fixture *f = *state;

	ask(f);
	device_note_requests(&f->family.device);
	ask(f);
	device_serve(&f->family.device);
	assert_true(is_answered(f));
	device_serve(&f->family.device);
	assert_false(is_answered(f));
	device_note_requests(&f->family.device);
	device_serve(&f->family.device);
	assert_true(is_answered(f));
}

/* The look after idling finds the lie. */
static void test_lies_of_an_idle_session(void **state)
{
	const uint64_t one = 1;
	struct fixture *f = *state;

	fall_asleep(f);
	rnic_index_publish(&f->region->doorbell_producer, 2 * RNIC_DOORBELL_SLOTS);
	assert_int_equal(write(f->doorbell_fd, &one, sizeof(one)), sizeof(one));
	assert_true(device_poll(&f->family.device));
	assert_int_equal(doorbell_take_all(&f->family.device.sessions), 0);
	assert_true(family_have_work(&f->family));
	family_reap(&f->family);
	assert_int_equal(f->family.device.connections.peers.count, 0);
}

#define QPS 1000

/* Queue pairs of the session that do nothing, for what is scheduled. */
static struct session_qp qps[QPS];

static void add_qps(struct fixture *f)
{
	struct rnic_handle handle;

	for (uint32_t i = 0; i < QPS; i++) {
		qps[i] = (struct session_qp){.session = f->session};
		list_init(&qps[i].fetch_node);
		list_init(&qps[i].review_node);
		assert_int_equal(handle_table_add(&f->session->qps, &qps[i], &handle), 0);
		qps[i].handle = handle;
	}
}

/* Takes the queue pairs off the lists, and returns how many were scheduled. */
static uint32_t take_scheduled(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < QPS; i++) {
		assert_int_equal(list_is_linked(&qps[i].fetch_node),
				 list_is_linked(&qps[i].review_node));
		count += list_is_linked(&qps[i].fetch_node);
		list_remove(&qps[i].fetch_node);
		list_remove(&qps[i].review_node);
	}
	return count;
}

static void lose_doorbell(struct fixture *f)
{
	rnic_index_publish(&f->region->doorbells_lost,
			   rnic_index_load(&f->region->doorbells_lost) + 1);
}

/* Takes doorbells until nothing is scheduled any more, and returns how many were in all turns. */
static uint32_t take_turns(struct fixture *f)
{
	uint32_t all = 0, count;

	do {
		doorbell_take(f->session);
		count = take_scheduled();
		assert_true(count <= LIMIT_TURN_LOST_SLOTS);
		all += count;
	} while (count > 0);
	return all;
}

/* One word of a client must not cost a turn as much as all its queue pairs. */
static void test_lost_doorbells_take_turns(void **state)
{
	struct fixture *f = *state;

	add_qps(f);
	lose_doorbell(f);
	assert_int_equal(take_turns(f), QPS);
	assert_int_equal(doorbell_take(f->session), 0);
	/* A doorbell lost meanwhile makes each queue pair's turn come once more. */
	lose_doorbell(f);
	assert_int_equal(doorbell_take(f->session), 1);
	assert_int_equal(take_scheduled(), LIMIT_TURN_LOST_SLOTS);
	lose_doorbell(f);
	assert_int_equal(take_turns(f), QPS);
	for (uint32_t i = 0; i < QPS; i++)
		handle_table_remove(&f->session->qps, qps[i].handle);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_who_rings_stays_awake),
		TEST(test_an_idle_session_rings_by_the_descriptor),
		TEST(test_sleep_of_the_loop),
		TEST(test_requests_come_after_doorbells),
		TEST(test_next_requests_wait_for_a_turn),
		TEST(test_lies_of_an_idle_session),
		TEST(test_lost_doorbells_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
