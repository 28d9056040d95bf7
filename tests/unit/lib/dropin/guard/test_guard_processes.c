/* SPDX-License-Identifier: MIT */
/* Children of a process with a guard. */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/unit_test.h"

#define CHILD_SECONDS  30
#define KILLED(signal) (128 + (signal))

static void own_fault_is_repaired(void)
{
	const int before = repairs;

	store_byte(map_pages(1, PROT_NONE));
	CHECK(repairs == before + 1);
}

static void check_handler(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction shown;

	CHECK(sigaction(SIGSEGV, NULL, &shown) == 0 && shown.sa_sigaction == handler);
}

static void fork_once(void)
{
	pid_t child;

	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		alarm(CHILD_SECONDS);
		fault_guarded();
		own_fault_is_repaired();
		CHECK(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
		fault_guarded();
		store_byte(map_pages(1, PROT_NONE));
	}
	CHECK(wait_for_child(child) == KILLED(SIGSEGV));
	check_handler(repair_page);
	fault_guarded();
	own_fault_is_repaired();
}

SUCCEEDS(a_forked_child_has_a_guard_of_its_own, fork_once)

static atomic_bool is_over;

static void *change_actions(void *argument)
{
	(void)argument;
	while (!atomic_load(&is_over)) {
		set_handler(SIGBUS, repair_page, SA_NODEFER);
		CHECK(signal(SIGBUS, SIG_DFL) != SIG_ERR);
		sched_yield();
	}
	return NULL;
}

static void use_guard_in_child(void)
{
	alarm(CHILD_SECONDS);
	set_handler(SIGBUS, repair_page, 0);
	own_fault_is_repaired();
	fault_guarded();
	_exit(0);
}

#define FORKS 100

static void fork_under_change(void)
{
	pthread_t threads[2];

	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	fault_guarded();
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		CHECK(pthread_create(&threads[i], NULL, i == 0 ? fault_until_over : change_actions,
				     &is_over) == 0);
	for (int i = 0; i < FORKS; i++) {
		const pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0)
			use_guard_in_child();
		CHECK(wait_for_child(child) == 0);
	}
	atomic_store(&is_over, true);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		pthread_join(threads[i], NULL);
}

SUCCEEDS(forks_while_others_change_actions_work, fork_under_change)

/* ---- a child that shares memory, but not the kernel's actions ---- */

static volatile bool saw_parents_handler;
static volatile bool saw_own_action;

static void change_in_shared_child(void)
{
	struct sigaction shown;

	saw_parents_handler = sigaction(SIGSEGV, NULL, &shown) == 0 &&
			      shown.sa_sigaction == repair_page &&
			      (shown.sa_flags & (int)(SA_SIGINFO | SA_RESETHAND)) == SA_SIGINFO;
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_IGN);
	saw_own_action = sigaction(SIGSEGV, NULL, &shown) == 0 && shown.sa_handler == SIG_DFL;
}

/* These calls must not be in the function that vfork() returns to twice. */
static __attribute__((noinline)) pid_t vfork_and_die(void)
{
	const pid_t child = vfork();

	if (child == 0) {
		change_in_shared_child();
		kill(getpid(), SIGSEGV);
		_exit(0);
	}
	return child;
}

static void change_actions_in_vfork(void)
{
	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	CHECK(wait_for_child(vfork_and_die()) == KILLED(SIGSEGV));
	CHECK(saw_parents_handler && saw_own_action);
	check_handler(repair_page);
	fault_guarded();
	own_fault_is_repaired();
}

SUCCEEDS(a_vforked_child_does_not_change_its_parent, change_actions_in_vfork)

static __attribute__((noinline)) pid_t vfork_and_fault(volatile uint8_t *page)
{
	const pid_t child = vfork();

	if (child == 0) {
		store_byte(page);
		store_byte(page + page_bytes());
		_exit(0);
	}
	return child;
}

static volatile sig_atomic_t calls;

/* The parent has the page too. */
static void repair_and_count(int signal_number, siginfo_t *info, void *context)
{
	calls++;
	repair_page(signal_number, info, context);
}

static void handle_once_in_vfork(void)
{
	uint8_t *pages = map_pages(2, PROT_NONE);
	struct sigaction shown;

	open_guard();
	set_handler(SIGSEGV, repair_and_count, (int)SA_RESETHAND);
	CHECK(wait_for_child(vfork_and_fault(pages)) == KILLED(SIGSEGV));
	CHECK(calls == 1);
	CHECK(sigaction(SIGSEGV, NULL, &shown) == 0 && shown.sa_sigaction == repair_and_count);
	store_byte(map_pages(1, PROT_NONE));
	CHECK(calls == 2);
	CHECK(sigaction(SIGSEGV, NULL, &shown) == 0 && shown.sa_handler == SIG_DFL);
}

SUCCEEDS(a_vforked_child_uses_up_its_own_handler, handle_once_in_vfork)

/* ---- other programs ---- */

static pid_t spawn(const char *command, short flags)
{
	char *const arguments[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
	posix_spawnattr_t attributes;
	sigset_t set;
	pid_t child;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, flags);
	posix_spawnattr_setsigdefault(&attributes, &set);
	CHECK(posix_spawn(&child, "/bin/sh", NULL, &attributes, arguments, environ) == 0);
	posix_spawnattr_destroy(&attributes);
	return child;
}

static void start_programs(void)
{
	pid_t child;

	/* For the shell, which has the sanitizer's library as well. */
	setenv("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0", 1);
	setenv("TSAN_OPTIONS", "handle_segv=0", 1);
	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	CHECK(WEXITSTATUS(system("exit 3")) == 3);
	CHECK(wait_for_child(spawn("exit 4", 0)) == 4);
	CHECK(wait_for_child(spawn("exit 5", POSIX_SPAWN_SETSIGDEF)) == 5);
	CHECK(wait_for_child(spawn("kill -SEGV $$", 0)) == KILLED(SIGSEGV));
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "exit 6", NULL);
		_exit(1);
	}
	CHECK(wait_for_child(child) == 6);
	check_handler(repair_page);
	fault_guarded();
	own_fault_is_repaired();
}

SUCCEEDS(programs_start_with_default_actions, start_programs)

/* ---- children that the C library does not know of ---- */

static void fork_past_handlers(void)
{
	pid_t child;

	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	child = _Fork();
	CHECK(child >= 0);
	if (child == 0) {
		alarm(CHILD_SECONDS);
		own_fault_is_repaired();
		check_handler(repair_page);
		signal(SIGSEGV, SIG_DFL);
		store_byte(map_pages(1, PROT_NONE));
	}
	CHECK(wait_for_child(child) == KILLED(SIGSEGV));
	check_handler(repair_page);
	own_fault_is_repaired();
}

SUCCEEDS(a_child_past_the_fork_handlers_has_its_actions, fork_past_handlers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_forked_child_has_a_guard_of_its_own),
		cmocka_unit_test(forks_while_others_change_actions_work),
		cmocka_unit_test(a_vforked_child_does_not_change_its_parent),
		cmocka_unit_test(a_vforked_child_uses_up_its_own_handler),
		cmocka_unit_test(programs_start_with_default_actions),
		cmocka_unit_test(a_child_past_the_fork_handlers_has_its_actions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
