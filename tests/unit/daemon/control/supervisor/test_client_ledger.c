/* SPDX-License-Identifier: MIT */
/* The ends of clients, as the control plane and a device process tell each other of them. */
#include "daemon/control/supervisor/client_ledger.h"

#include "tests/unit/daemon/control/supervisor/device_fixture.h"
#include "tests/unit/unit_test.h"

#include <signal.h>
#include <unistd.h>

static char reason[DEVICE_TEXT_BYTES];

static struct served_client held_client_of(uint32_t client_id)
{
	return (struct served_client){.client_id = client_id,
				      .uid = FIXTURE_UID,
				      .pid = 77,
				      .pid_fd = -1,
				      .program = "prog"};
}

static void hand_over(struct device_child *process, uint32_t client_id)
{
	const struct served_client client = held_client_of(client_id);
	int fd;

	assert_int_equal(device_set_connect(process, &client, &fd, reason), 0);
	fixture_expect(RNIC_PROCESS_CLIENT);
	close(fd);
}

static void say_gone(uint32_t client_id)
{
	const struct rnic_process_client_gone gone = {.client_id = client_id};

	fixture_say(RNIC_PROCESS_CLIENT_GONE, &gone, sizeof(gone));
	fixture_turn(0);
}

/* A device process ends a client that it holds, once. */
static void test_a_device_ends_a_client(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);

	(void)state;
	hand_over(process, 5);
	hand_over(process, 6);
	say_gone(5);
	assert_int_equal(fixture->gone_count, 1);
	assert_int_equal(fixture->gone_client_id, 5);
	assert_false(device_set_holds_client(&fixture->set, 5));
	assert_true(device_set_holds_client(&fixture->set, 6));
	assert_int_equal(process->state, DEVICE_CHILD_SERVING);

	/* The control plane has nothing to tell then. */
	device_set_end_client(process, 5);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), -EAGAIN);

	say_gone(5);
	fixture_await(process, DEVICE_CHILD_DEAD);
	assert_int_equal(fixture->gone_count, 1);
}

/* A process cannot name the client of another process. */
static void test_a_client_of_another_device(void **state)
{
	struct device_child *other = fixture_serve(FIXTURE_UID + 1), *process;

	(void)state;
	hand_over(other, 5);
	process = fixture_serve(FIXTURE_UID);
	say_gone(5);
	fixture_await(process, DEVICE_CHILD_DEAD);
	assert_int_equal(other->state, DEVICE_CHILD_SERVING);
	assert_int_equal(fixture->gone_count, 0);
	assert_true(device_set_holds_client(&fixture->set, 5));
}

/* The control plane ends a client, and the process is told once. */
static void test_the_control_plane_ends_a_client(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);
	const struct rnic_process_client_gone *gone;

	(void)state;
	hand_over(process, 5);
	device_set_end_client(process, 5);
	gone = fixture_expect(RNIC_PROCESS_CLIENT_GONE);
	assert_int_equal(gone->client_id, 5);
	device_set_end_client(process, 5);
	device_set_end_client(process, 6); /* of whom the process knows nothing */
	fixture_turn(FIXTURE_SECOND);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), -EAGAIN);
	assert_true(device_set_holds_client(&fixture->set, 5));
	say_gone(5);
	assert_false(device_set_holds_client(&fixture->set, 5));
	assert_int_equal(process->state, DEVICE_CHILD_SERVING);
}

/* A process that does not read hears of the end when it reads again. */
static void test_an_end_that_finds_no_room(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);
	const struct rnic_process_facts facts = {.sequence = 1};
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_FACTS, .payload = &facts, .payload_bytes = sizeof(facts)};
	uint32_t told = 0;

	(void)state;
	hand_over(process, 5);
	hand_over(process, 6);
	while (process_link_send(process->link_fd, &letter) == 0)
		;
	device_set_end_client(process, 5);
	device_set_end_client(process, 6);
	assert_true(device_set_next_deadline_ns(&fixture->set) <= fixture->now_ns + FIXTURE_SECOND);
	while (process_link_receive(fixture->link_fds[0], &fixture->receipt) == 0)
		assert_int_equal(fixture->receipt.header.operation, RNIC_PROCESS_FACTS);
	fixture_turn(FIXTURE_SECOND);
	while (process_link_receive(fixture->link_fds[0], &fixture->receipt) == 0) {
		assert_int_equal(fixture->receipt.header.operation, RNIC_PROCESS_CLIENT_GONE);
		told++;
	}
	assert_int_equal(told, 2);
}

/* A process that never lets clients go gets no more of them. */
static void test_a_device_that_lets_no_client_go(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);
	const struct served_client client = held_client_of(CLIENT_LEDGER_MAX + 1);
	int fd;

	(void)state;
	for (uint32_t i = 1; i <= CLIENT_LEDGER_MAX; i++) {
		hand_over(process, i);
		device_set_end_client(process, i);
		fixture_expect(RNIC_PROCESS_CLIENT_GONE);
	}
	assert_int_equal(device_set_connect(process, &client, &fd, reason), -EINPROGRESS);
	device_set_take_news(&fixture->set);
	say_gone(77);
	assert_true(device_set_take_news(&fixture->set));
	hand_over(process, CLIENT_LEDGER_MAX + 1);
	/* The end of the process lets all of them go. */
	device_child_happen(process, DEVICE_CHILD_HANG_UP, NULL);
	assert_false(device_set_holds_client(&fixture->set, 1));
}

#define TEST(function)                                                                             \
	cmocka_unit_test_setup_teardown(function, device_fixture_open, device_fixture_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_device_ends_a_client),	    TEST(test_a_client_of_another_device),
		TEST(test_the_control_plane_ends_a_client), TEST(test_an_end_that_finds_no_room),
		TEST(test_a_device_that_lets_no_client_go),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
