/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/dropin/guard/guard_fixture.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit_test.h"

#define CASE_SECONDS 60

const struct rnic_guard *guard;
volatile sig_atomic_t repairs;
siginfo_t repaired_info;

void check_failed(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
	_exit(1);
}

/*
 * A sanitizer's handlers would turn a death by a signal into an exit. A case that hangs with all
 * signals blocked has no alarm, so it ends with the test program.
 */
static void run_case(guard_case *run)
{
	const struct rlimit no_core = {0, 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	alarm(CASE_SECONDS);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	run();
	_exit(0);
}

int wait_for_child(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_in_child(guard_case *run)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		run_case(run);
	return wait_for_child(child);
}

void expect_success(guard_case *run)
{
	assert_int_equal(run_in_child(run), 0);
}

void expect_death(guard_case *run, int signal_number)
{
	assert_int_equal(run_in_child(run), 128 + signal_number);
}

/* Lets the child have each signal, and keeps the last one's siginfo. */
static int trace(pid_t child, siginfo_t *info)
{
	int status;

	for (;;) {
		int sent;

		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		sent = WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
		if (sent != 0)
			assert_int_equal(ptrace(PTRACE_GETSIGINFO, child, NULL, info), 0);
		assert_int_equal(ptrace(PTRACE_CONT, child, NULL, (uintptr_t)sent), 0);
	}
}

void expect_traced_death(guard_case *run, int signal_number, siginfo_t *info)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
		raise(SIGSTOP);
		run_case(run);
	}
	assert_int_equal(trace(child, info), 128 + signal_number);
	assert_int_equal(info->si_signo, signal_number);
}

void open_guard(void)
{
	CHECK(rnic_guard_open(&guard) == 0);
}

size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

uint8_t *map_pages(size_t count, int protection)
{
	uint8_t *pages =
		mmap(NULL, count * page_bytes(), protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED);
	return pages;
}

uint8_t *map_truncated(void)
{
	int file = memfd_create("truncated", 0);
	uint8_t *page;

	CHECK(file >= 0 && ftruncate(file, (off_t)page_bytes()) == 0);
	page = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(page != MAP_FAILED && ftruncate(file, 0) == 0);
	close(file);
	return page;
}

void fault_guarded(void)
{
	static uint8_t *page;
	struct rnic_guard_turn turn;
	uint8_t bytes[100] = {0};

	if (page == NULL)
		page = map_pages(1, PROT_NONE);
	CHECK(guard->turn_begin(&turn) == 0);
	CHECK(guard->write(page, bytes, sizeof(bytes)) == -EFAULT);
	CHECK(guard->read(bytes, page, sizeof(bytes)) == -EFAULT);
	guard->turn_end(&turn);
}

void *fault_until_over(void *is_over)
{
	while (!atomic_load((atomic_bool *)is_over)) {
		fault_guarded();
		sched_yield();
	}
	return NULL;
}

__attribute__((noinline)) void store_byte(volatile uint8_t *address)
{
	*address = 1;
}

void set_handler(int signal_number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};

	CHECK(sigaction(signal_number, &action, NULL) == 0);
}

void repair_page(int signal_number, siginfo_t *info, void *context)
{
	const uintptr_t page = (uintptr_t)info->si_addr & ~(page_bytes() - 1);

	(void)signal_number;
	(void)context;
	repaired_info = *info;
	repairs++;
	CHECK(mprotect((void *)page, page_bytes(), PROT_READ | PROT_WRITE) == 0);
}

int sigaction_of_libc(int signal_number, const struct sigaction *act, struct sigaction *old)
{
	void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	int (*function)(int, const struct sigaction *, struct sigaction *) = NULL;

	CHECK(library != NULL);
	*(void **)&function = dlsym(library, "sigaction");
	CHECK(function != NULL);
	return function(signal_number, act, old);
}

uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
