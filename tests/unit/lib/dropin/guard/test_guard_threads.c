/* SPDX-License-Identifier: MIT */
/* Copies of many threads while mappings and actions change. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/unit_test.h"

#define COPYING_THREADS 4
#define RUN_NS		UINT64_C(1500000000)
#define PAGES		4
#define DELAY_MS	10

static uint8_t *shared_pages;
static atomic_bool is_over;
static atomic_uint good;
static atomic_uint bad;
static atomic_uint own_faults;
static _Thread_local sigjmp_buf back;
static _Thread_local volatile sig_atomic_t jumps;

static void jump_back(int signal_number)
{
	(void)signal_number;
	jumps++;
	siglongjmp(back, 1);
}

static void jump_back_with_info(int signal_number, siginfo_t *info, void *context)
{
	CHECK(info->si_signo == signal_number && info->si_code == SEGV_ACCERR);
	(void)context;
	jump_back(signal_number);
}

static void copy_once(size_t offset, size_t bytes)
{
	uint8_t buffer[4096] = {0};
	uint64_t original;
	uint8_t *at = shared_pages + offset;
	int results[3];

	results[0] = guard->write(at, buffer, bytes);
	results[1] = guard->read(buffer, at, bytes);
	results[2] = guard->fetch_add((uint64_t *)(void *)(shared_pages + (offset & ~UINT64_C(7))),
				      1, &original);
	for (size_t i = 0; i < COUNT_OF(results); i++) {
		CHECK(results[i] == 0 || results[i] == -EFAULT);
		atomic_fetch_add(results[i] == 0 ? &good : &bad, 1);
	}
}

static void *copy_all_the_time(void *argument)
{
	const size_t room = PAGES * page_bytes() - 4096;
	size_t step = (uintptr_t)argument;

	while (!atomic_load(&is_over)) {
		struct rnic_guard_turn turn;

		CHECK(guard->turn_begin(&turn) == 0);
		for (int i = 0; i < 16; i++, step += 7919)
			copy_once(step * 13 % room, 1 + step % 4096);
		guard->turn_end(&turn);
	}
	return NULL;
}

static void *change_mappings(void *argument)
{
	static const int protections[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};

	(void)argument;
	for (unsigned i = 0; !atomic_load(&is_over); i++) {
		uint8_t *page = shared_pages + i % PAGES * page_bytes();

		if (i % 7 == 0)
			CHECK(munmap(page, page_bytes()) == 0);
		CHECK(mmap(page, page_bytes(), protections[i / 3 % 3],
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page);
	}
	return NULL;
}

static void *change_actions(void *argument)
{
	(void)argument;
	while (!atomic_load(&is_over)) {
		CHECK(signal(SIGSEGV, jump_back) != SIG_ERR);
		set_handler(SIGSEGV, jump_back_with_info, SA_NODEFER);
		set_handler(SIGSEGV, jump_back_with_info, SA_ONSTACK);
	}
	return NULL;
}

static uint8_t *forbidden_page;

static void *fault_all_the_time(void *argument)
{
	(void)argument;
	while (!atomic_load(&is_over)) {
		const int before = jumps;

		if (sigsetjmp(back, 1) == 0)
			store_byte(forbidden_page);
		CHECK(jumps == before + 1);
		atomic_fetch_add(&own_faults, 1);
	}
	return NULL;
}

static bool all_have_worked(void)
{
	return atomic_load(&good) > 1000 && atomic_load(&bad) > 1000 &&
	       atomic_load(&own_faults) > 1000;
}

static void run_threads(void)
{
	/* The last one leaves holes between its pages: nobody may map anything from then on. */
	void *(*const functions[])(void *) = {change_actions, fault_all_the_time,
					      fault_all_the_time, change_mappings};
	pthread_t threads[COPYING_THREADS + COUNT_OF(functions)];
	const uint64_t end_ns = monotonic_ns() + RUN_NS;

	shared_pages = map_pages(PAGES, PROT_READ | PROT_WRITE);
	forbidden_page = map_pages(1, PROT_NONE);
	signal(SIGSEGV, jump_back);
	open_guard();
	fault_guarded();
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		CHECK(pthread_create(&threads[i], NULL,
				     i < COPYING_THREADS ? copy_all_the_time
							 : functions[i - COPYING_THREADS],
				     (void *)(uintptr_t)i) == 0);
	while (monotonic_ns() < end_ns || !all_have_worked())
		fault_guarded();
	atomic_store(&is_over, true);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

SUCCEEDS(threads_copy_while_mappings_and_actions_change, run_threads)

/* ---- faults while the guard opens ---- */

static void open_beside_faults(void)
{
	pthread_t thread;

	CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	forbidden_page = map_pages(1, PROT_NONE);
	signal(SIGSEGV, jump_back);
	CHECK(pthread_create(&thread, NULL, fault_all_the_time, NULL) == 0);
	while (atomic_load(&own_faults) < 100)
		sched_yield();
	raise(SIGSTOP);
	open_guard();
	atomic_store(&is_over, true);
	CHECK(pthread_join(thread, NULL) == 0);
	fault_guarded();
}

/* Lets the child go to its end, and leaves the other thread time where a system call begins or
 * ends. The signals of the traced thread are its own. */
static int delay_at_system_calls(pid_t child)
{
	int status;

	for (;;) {
		int sent;

		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		sent = WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == (SIGTRAP | 0x80)
			       ? 0
			       : WSTOPSIG(status);
		ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD);
		poll(NULL, 0, DELAY_MS);
		assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, (uintptr_t)sent), 0);
	}
}

/* All faults of the other thread are for the application's handler. */
static void the_guard_opens_while_a_thread_faults(void **state)
{
	pid_t child;

	(void)state;
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(60);
		open_beside_faults();
		_exit(0);
	}
	assert_int_equal(delay_at_system_calls(child), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_guard_opens_while_a_thread_faults),
		cmocka_unit_test(threads_copy_while_mappings_and_actions_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
