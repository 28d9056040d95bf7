/* SPDX-License-Identifier: MIT */
/* Programs that are their own device processes: the control plane neither kills nor reaps them. */
#include "tests/unit/daemon/control/supervisor/device_fixture.h"

#include "tests/unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char reason[DEVICE_TEXT_BYTES];
static struct served_client program;

static int programs_open(void **state)
{
	const pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (pid < 0 || device_fixture_open(state) != 0)
		return -1;
	/* The fixture's daemon is root's. */
	program = (struct served_client){
		.client_id = 5,
		.uid = 0,
		.pid = pid,
		.pid_fd = (int)syscall(SYS_pidfd_open, pid, 0),
		.program = "prog",
	};
	return program.pid_fd >= 0 ? 0 : -1;
}

static int programs_close(void **state)
{
	close(program.pid_fd);
	kill(program.pid, SIGKILL);
	waitpid(program.pid, NULL, 0);
	return device_fixture_close(state);
}

/* Adopts the program. fixture_expect() and fixture_say() speak for it. */
static struct device_child *programs_adopt(void)
{
	struct device_child *process;
	int fd;

	assert_int_equal(device_set_adopt(&fixture->set, &program, &process, &fd, reason), 0);
	fixture->link_fds[0] = fd;
	return process;
}

/* Adopts the program, which answers READY and takes GIDs and FACTS. */
static struct device_child *programs_serve(void)
{
	struct device_child *process = programs_adopt();

	fixture_expect(RNIC_PROCESS_START);
	fixture_say_ready(0, "");
	fixture_turn(0);
	assert_int_equal(process->state, DEVICE_CHILD_SERVING);
	fixture_expect(RNIC_PROCESS_GID);
	fixture_expect(RNIC_PROCESS_FACTS);
	return process;
}

static void programs_hang_up(void)
{
	close(fixture->link_fds[0]);
	fixture->link_fds[0] = -1;
}

static bool program_lives(void)
{
	return waitpid(program.pid, NULL, WNOHANG) == 0;
}

static void test_start_of_a_program(void **state)
{
	struct device_child *process = programs_adopt();
	const struct rnic_process_start *start = fixture_expect(RNIC_PROCESS_START);

	(void)state;
	assert_int_equal(start->lane, process->lane);
	assert_int_equal(start->uid, 0);
	/* The memory is the program's own, however many others there are. */
	assert_true(start->memory_bytes == UINT64_MAX);
	assert_int_equal(fixture->set.common.memory.given_bytes, 0);
	assert_int_equal(fixture->receipt.fd_count, 2);
	assert_int_equal(fixture->launch_count, 0);
	assert_true(device_set_holds_client(&fixture->set, 5));
	fixture_say_ready(0, "");
	fixture_turn(0);
	fixture_expect(RNIC_PROCESS_GID);
	assert_int_equal(fixture->receipt.fd_count, 9);
	fixture_expect(RNIC_PROCESS_FACTS);
	programs_hang_up();
	fixture_await(process, DEVICE_CHILD_DEAD);
	device_set_release(process);
}

/* The closed link says that the program holds nothing of the lane; the program goes on. */
static void test_a_program_that_closes_its_device(void **state)
{
	struct device_child *process = programs_serve();

	(void)state;
	programs_hang_up();
	fixture_await(process, DEVICE_CHILD_DEAD);
	assert_int_equal(fixture->lanes_given_back, 1);
	assert_int_equal(fixture->set.common.memory.process_count, 0);
	assert_false(device_set_holds_client(&fixture->set, 5));
	assert_true(program_lives());
	device_set_release(process);
	fixture_await_closes();
	fixture_turn(0);
	assert_true(list_is_empty(&fixture->set.processes));
}

/* A copy of the link in another process does not hide the end of the program. */
static void test_a_program_that_is_killed(void **state)
{
	struct device_child *process = programs_serve();

	(void)state;
	kill(program.pid, SIGKILL);
	fixture_await(process, DEVICE_CHILD_DEAD);
	assert_int_equal(fixture->lanes_given_back, 1);
	device_set_release(process);
}

static void test_a_program_that_breaks_the_protocol(void **state)
{
	struct device_child *process = programs_serve();

	(void)state;
	fixture_say_ready(0, "");
	fixture_turn(0);
	assert_int_equal(process->state, DEVICE_CHILD_KILLED);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), -EPIPE);
	fixture_turn(3 * FIXTURE_SECOND);
	assert_int_equal(process->state, DEVICE_CHILD_ABANDONED);
	assert_int_equal(fixture->lanes_given_back, 1);
	assert_true(program_lives());
	kill(program.pid, SIGKILL);
	fixture_await(process, DEVICE_CHILD_DEAD);
	device_set_release(process);
}

/* Another program of the user does not end up in this one. */
static void test_others_of_the_user(void **state)
{
	struct device_child *process = programs_serve(), *shared;

	(void)state;
	assert_int_equal(device_set_acquire(&fixture->set, 0, &shared, reason), 0);
	assert_ptr_not_equal(shared, process);
	assert_int_equal(fixture->launch_count, 1);
	device_set_release(shared);
	device_set_release(process);
}

static void expect_refusal(int error, const char *sentence)
{
	struct device_child *process;
	int fd;

	assert_int_equal(device_set_adopt(&fixture->set, &program, &process, &fd, reason), error);
	assert_non_null(strstr(reason, sentence));
	assert_int_equal(fixture->lanes_taken, 0);
}

static void test_refusals(void **state)
{
	struct device_set *set = &fixture->set;
	const int pid_fd = program.pid_fd;

	(void)state;
	program.uid = FIXTURE_UID;
	expect_refusal(-EPERM, "this rnicd is user 0's");
	program.uid = 0;
	program.pid_fd = -1;
	expect_refusal(-EOPNOTSUPP, "Linux 5.3");
	program.pid_fd = pid_fd;
	set->common.capture_fd = 0;
	expect_refusal(-EOPNOTSUPP, "--capture");
	set->common.capture_fd = -1;
	set->common.rules.entries[3] = (struct rule_entry){
		.id = 1,
		.owner = {.is_of_all = true},
		.needs_process = true,
	};
	expect_refusal(-EOPNOTSUPP, "rnicctl fault clear");
	set->common.rules.entries[3].id = 0;
	set->has_one_lane = true;
	expect_refusal(-EOPNOTSUPP, "lanes");
	set->has_one_lane = false;
}

static void test_no_lane_for_a_program(void **state)
{
	struct device_child *process;
	int fd;

	(void)state;
	fixture->lane_error = -ENOSPC;
	assert_int_equal(device_set_adopt(&fixture->set, &program, &process, &fd, reason), -ENOSPC);
	assert_string_equal(reason, "no lane is left");
	assert_true(list_is_empty(&fixture->set.processes));
	assert_int_equal(fixture->set.common.memory.process_count, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, programs_open, programs_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_start_of_a_program),	     TEST(test_a_program_that_closes_its_device),
		TEST(test_a_program_that_is_killed), TEST(test_a_program_that_breaks_the_protocol),
		TEST(test_others_of_the_user),	     TEST(test_refusals),
		TEST(test_no_lane_for_a_program),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
