/* SPDX-License-Identifier: MIT */
/* Runs under a library that hides the application's calls of sigaction() from the guard. */
#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/unit_test.h"

/* The guard must not stay behind where the application could see or replace it. */
static void refuse(void)
{
	struct sigaction shown;

	set_handler(SIGSEGV, repair_page, SA_NODEFER);
	CHECK(rnic_guard_open(&guard) == -ENOTSUP && guard == NULL);
	CHECK(sigaction_of_libc(SIGSEGV, NULL, &shown) == 0);
	CHECK(shown.sa_sigaction == repair_page && (shown.sa_flags & SA_NODEFER) != 0);
	CHECK(sigaction_of_libc(SIGBUS, NULL, &shown) == 0);
	CHECK(shown.sa_handler == SIG_DFL);
	CHECK(rnic_guard_open(&guard) == -ENOTSUP && guard == NULL);
}

SUCCEEDS(a_guard_that_others_hide_is_refused, refuse)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guard_that_others_hide_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
