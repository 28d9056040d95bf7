/* SPDX-License-Identifier: MIT */
/* With more clients than places: which clients keep a place, and which give way. */
#include "tests/unit/unit_test.h"
#include "tools/lab/exchange/lab_clients.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process that serves a client until it is ended. */
static pid_t begin(struct lab_clients *clients)
{
	int met_fd = eventfd(0, EFD_CLOEXEC);
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(met_fd >= 0 && child > 0);
	lab_clients_add(clients, child, met_fd);
	return child;
}

static void meet(struct lab_clients *clients, uint32_t index)
{
	assert_int_equal(eventfd_write(clients->processes[index].met_fd, 1), 0);
}

static int set_up(void **state)
{
	struct lab_clients *clients = calloc(1, sizeof(*clients));

	assert_non_null(clients);
	while (clients->count < LAB_CLIENTS) {
		assert_true(lab_clients_make_room(clients));
		begin(clients);
	}
	*state = clients;
	return 0;
}

static int tear_down(void **state)
{
	struct lab_clients *clients = *state;

	for (uint32_t i = 0; i < clients->count; i++)
		kill(clients->processes[i].pid, SIGKILL);
	lab_clients_reap(clients, 0);
	assert_int_equal(clients->count, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	free(clients);
	return 0;
}

static bool is_served(const struct lab_clients *clients, pid_t pid)
{
	for (uint32_t i = 0; i < clients->count; i++) {
		if (clients->processes[i].pid == pid)
			return kill(pid, 0) == 0;
	}
	return false;
}

static void test_the_one_that_came_first_gives_way(void **state)
{
	struct lab_clients *clients = *state;
	pid_t first = clients->processes[0].pid, second = clients->processes[1].pid;

	assert_true(lab_clients_make_room(clients));
	assert_false(is_served(clients, first));
	assert_true(is_served(clients, second));
	begin(clients);
	assert_true(lab_clients_make_room(clients));
	assert_false(is_served(clients, second));
	assert_int_equal(clients->count, LAB_CLIENTS - 1);
}

static void test_one_that_has_met_its_client_stays(void **state)
{
	struct lab_clients *clients = *state;
	pid_t first = clients->processes[0].pid, second = clients->processes[1].pid;

	meet(clients, 0);
	assert_true(lab_clients_make_room(clients));
	assert_true(is_served(clients, first));
	assert_false(is_served(clients, second));
}

static void test_there_is_no_room_when_all_have_met(void **state)
{
	struct lab_clients *clients = *state;

	for (uint32_t i = 0; i < LAB_CLIENTS; i++)
		meet(clients, i);
	assert_false(lab_clients_make_room(clients));
	assert_int_equal(clients->count, LAB_CLIENTS);
	kill(clients->processes[7].pid, SIGTERM);
	while (clients->count == LAB_CLIENTS)
		lab_clients_reap(clients, WNOHANG);
	assert_true(clients->has_served);
	assert_int_equal(clients->last_status, EXIT_FAILURE);
	assert_true(lab_clients_make_room(clients));
	assert_int_equal(clients->count, LAB_CLIENTS - 1);
}

static void test_one_that_ends_without_a_client_has_served_none(void **state)
{
	struct lab_clients *clients = *state;

	assert_false(lab_clients_have_met(clients));
	kill(clients->processes[7].pid, SIGTERM);
	while (clients->count == LAB_CLIENTS)
		lab_clients_reap(clients, WNOHANG);
	assert_false(clients->has_served);
	assert_int_equal(clients->last_status, 0);
	meet(clients, 5);
	assert_true(lab_clients_have_met(clients));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_one_that_came_first_gives_way),
		TEST(test_one_that_has_met_its_client_stays),
		TEST(test_there_is_no_room_when_all_have_met),
		TEST(test_one_that_ends_without_a_client_has_served_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
