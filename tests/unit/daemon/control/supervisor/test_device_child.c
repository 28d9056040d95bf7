/* SPDX-License-Identifier: MIT */
/*
 * A START that cannot be sent, and what an ended device process leaves. The linker puts functions
 * of this file before those of the C library.
 */
#include "tests/unit/daemon/control/supervisor/device_fixture.h"

#include "tests/unit/unit_test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static _Atomic int slow_fd = -1;
static int gate_fd;

int __real_close(int fd);
int __wrap_close(int fd);

/* As slow as a file system may be whose descriptor is in the link. */
int __wrap_close(int fd)
{
	char byte;

	if (fd >= 0 && fd == slow_fd) {
		slow_fd = -1;
		while (read(gate_fd, &byte, 1) < 0)
			continue;
	}
	return __real_close(fd);
}

static bool are_too_many; /* descriptors of this user on their way */

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (!are_too_many || message->msg_controllen == 0)
		return __real_sendmsg(fd, message, flags);
	errno = ETOOMANYREFS;
	return -1;
}

/* Other programs of the user may have them on their way, and the process is not to suffer for it.
 */
static void test_start_waits_for_descriptors_on_their_way(void **state)
{
	struct device_child *process;

	(void)state;
	are_too_many = true;
	process = fixture_acquire();
	fixture_turn(0);
	assert_int_equal(process->state, DEVICE_CHILD_STARTING);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), -EAGAIN);
	assert_true(device_set_next_deadline_ns(&fixture->set) <=
		    fixture->now_ns + FIXTURE_SECOND / 10);
	are_too_many = false;
	fixture_turn(FIXTURE_SECOND / 10);
	fixture_expect(RNIC_PROCESS_START);
	assert_int_equal(fixture->receipt.fd_count, 2);
	assert_true(device_set_next_deadline_ns(&fixture->set) >
		    fixture->now_ns + FIXTURE_SECOND / 10);
	fixture_say_ready(0, "");
	fixture_turn(0);
	assert_int_equal(process->state, DEVICE_CHILD_SERVING);
	device_set_release(process);
}

static void end_process(struct device_child *process)
{
	kill(fixture->pids[0], SIGKILL);
	close(fixture->link_fds[0]);
	fixture->link_fds[0] = -1;
	fixture_await(process, DEVICE_CHILD_DEAD);
	device_set_release(process);
}

/* A link whose close hangs holds no other link up, and counts as a process that hangs. */
static void test_links_close_apart(void **state)
{
	struct device_child *slow = fixture_serve(FIXTURE_UID), *other;
	int gate[2];

	(void)state;
	assert_int_equal(pipe(gate), 0);
	gate_fd = gate[0];
	slow_fd = slow->link_fd;
	end_process(slow);
	while (slow_fd >= 0)
		poll(NULL, 0, 1);
	other = fixture_serve(FIXTURE_UID + 1);
	end_process(other);
	for (int i = 0; i < 10000 && device_child_is_closing(other); i++)
		poll(NULL, 0, 1);
	fixture_turn(0);
	assert_true(device_child_is_closing(slow));
	assert_ptr_equal(fixture->set.processes.next, &slow->node);
	assert_ptr_equal(fixture->set.processes.prev, &slow->node);
	close(gate[1]);
	fixture_await_closes();
	fixture_turn(0);
	assert_true(list_is_empty(&fixture->set.processes));
	close(gate[0]);
}

#define TEST(function)                                                                             \
	cmocka_unit_test_setup_teardown(function, device_fixture_open, device_fixture_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_links_close_apart),
		TEST(test_start_waits_for_descriptors_on_their_way),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
