/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/deferred_close.h"

#include "tests/hostile/lingering_socket.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 10000

/* A pipe ends when the last descriptor of its other end is closed. */
static void expect_end(int read_fd)
{
	struct pollfd end = {.fd = read_fd, .events = POLLIN};

	assert_int_equal(poll(&end, 1, WAIT_MS), 1);
	assert_true((end.revents & POLLHUP) != 0);
	close(read_fd);
}

static void what_is_taken_is_closed(void **state)
{
	struct deferred_close deferred_close = {0};
	int first[2], second[2];

	(void)state;
	assert_int_equal(pipe(first), 0);
	assert_int_equal(pipe(second), 0);
	deferred_close_take(&deferred_close, first[1]);
	expect_end(first[0]);
	/* Descriptors taken before the end are closed as well. */
	deferred_close_take(&deferred_close, second[1]);
	deferred_close_close(&deferred_close);
	expect_end(second[0]);
}

static void mappings_go(void **state)
{
	const size_t bytes = (8 << 20) + 4096;
	struct deferred_close deferred_close = {0};
	uint8_t *address =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned char present[1];

	(void)state;
	assert_ptr_not_equal(address, MAP_FAILED);
	memset(address, 1, bytes);
	deferred_close_unmap(&deferred_close, address, bytes);
	while (deferred_close_pending(&deferred_close) > 0)
		sched_yield();
	for (size_t offset = 0; offset < bytes; offset += 4096)
		assert_int_equal(mincore(address + offset, 1, present), -1);
	deferred_close_close(&deferred_close);
}

static void nobody_holds_the_others_up(void **state)
{
	struct deferred_close deferred_close = {0};
	int peers[8], ends[2];

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(peers); i++)
		deferred_close_take(&deferred_close, make_lingering_socket(&peers[i]));
	assert_int_equal(pipe(ends), 0);
	deferred_close_take(&deferred_close, ends[1]);
	expect_end(ends[0]);
	while (deferred_close_pending(&deferred_close) > 0)
		sched_yield();
	for (unsigned i = 0; i < COUNT_OF(peers); i++)
		close(peers[i]);
	deferred_close_close(&deferred_close);
	assert_int_equal(deferred_close_pending(&deferred_close), 0);
}

static uint64_t private_memory_bytes(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];

	assert_non_null(status);
	while (kib == 0 && fgets(line, sizeof(line), status) != NULL)
		sscanf(line, "VmData: %llu", &kib);
	fclose(status);
	assert_true(kib > 0);
	return kib << 10;
}

/* A bound of the process's memory has room for the thread, whatever `ulimit -s` says. */
static void the_stack_is_small(void **state)
{
	const size_t default_bytes = (size_t)1 << 30;
	struct deferred_close deferred_close = {0};
	pthread_attr_t defaults, large;
	uint64_t before_bytes;
	int ends[2];

	(void)state;
	assert_int_equal(pthread_getattr_default_np(&defaults), 0);
	assert_int_equal(pthread_attr_init(&large), 0);
	assert_int_equal(pthread_attr_setstacksize(&large, default_bytes), 0);
	assert_int_equal(pthread_setattr_default_np(&large), 0);
	assert_int_equal(pipe(ends), 0);
	before_bytes = private_memory_bytes();
	deferred_close_take(&deferred_close, ends[1]);
	assert_true(private_memory_bytes() < before_bytes + default_bytes / 2);
	expect_end(ends[0]);
	deferred_close_close(&deferred_close);
	assert_int_equal(pthread_setattr_default_np(&defaults), 0);
	pthread_attr_destroy(&defaults);
	pthread_attr_destroy(&large);
}

/* A program with the device inside has signals and threads of its own. */
static void a_program_closes_by_itself(void **state)
{
	const struct sigaction own = {.sa_handler = SIG_IGN};
	struct deferred_close deferred_close = {.is_immediate = true};
	void *address = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction before, after;
	unsigned char present[1];
	int ends[2];

	(void)state;
	assert_ptr_not_equal(address, MAP_FAILED);
	assert_int_equal(sigaction(SIGALRM, &own, &before), 0);
	assert_int_equal(pipe(ends), 0);
	deferred_close_take(&deferred_close, ends[1]);
	assert_int_equal(fcntl(ends[1], F_GETFD), -1);
	deferred_close_unmap(&deferred_close, address, 4096);
	assert_int_equal(mincore(address, 1, present), -1);
	assert_int_equal(deferred_close_pending(&deferred_close), 0);
	deferred_close_close(&deferred_close);
	assert_int_equal(sigaction(SIGALRM, &before, &after), 0);
	assert_true(after.sa_handler == SIG_IGN);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken_is_closed),    cmocka_unit_test(mappings_go),
		cmocka_unit_test(nobody_holds_the_others_up), cmocka_unit_test(the_stack_is_small),
		cmocka_unit_test(a_program_closes_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
