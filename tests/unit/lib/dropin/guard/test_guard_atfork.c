/* SPDX-License-Identifier: MIT */
/* The fork handlers of atfork_sigaction.c set actions while the guard's handlers hold the lock. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/unit_test.h"

/* The child's fork handler set the action by the table: the kernel has the guard's handler. */
static void use_guard_in_child(void)
{
	struct sigaction action;

	alarm(30);
	CHECK(sigaction(SIGBUS, NULL, &action) == 0 && action.sa_sigaction == repair_page);
	CHECK(sigaction_of_libc(SIGBUS, NULL, &action) == 0 && action.sa_sigaction != repair_page);
	fault_guarded();
	store_byte(map_pages(1, PROT_NONE));
	CHECK(repairs == 1);
	_exit(0);
}

static void fork_with_handlers(void)
{
	struct sigaction shown;
	pid_t child;

	open_guard();
	set_handler(SIGSEGV, repair_page, 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		use_guard_in_child();
	CHECK(wait_for_child(child) == 0);
	CHECK(sigaction(SIGBUS, NULL, &shown) == 0 && shown.sa_handler == SIG_DFL);
	fault_guarded();
	store_byte(map_pages(1, PROT_NONE));
	CHECK(repairs == 1);
}

SUCCEEDS(fork_handlers_may_set_actions, fork_with_handlers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fork_handlers_may_set_actions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
