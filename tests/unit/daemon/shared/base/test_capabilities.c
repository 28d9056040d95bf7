/* SPDX-License-Identifier: MIT */
/* Capabilities given up, by a process of root that ends afterwards, and by one of any user. */
#include "daemon/shared/base/capabilities.h"
#include "tests/unit/unit_test.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ORDINARY_USER 12345
#define USED	      CAPABILITIES_BIT(CAP_KILL)
#define INHERITED     CAPABILITIES_BIT(CAP_SETUID)

static uint64_t own_set(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	uint64_t set = UINT64_MAX;
	char line[256];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			set = strtoull(line + strlen(name) + 1, NULL, 16);
	if (file != NULL)
		fclose(file);
	return set;
}

/* Each case runs in a process of its own, which returns whether all is well. */
static void assert_true_in_child(bool (*is_well)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(is_well() ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool keeps_what_is_named(void)
{
	const uint64_t had = own_set("CapPrm");
	const bool may_drop_bounding = (had & CAPABILITIES_BIT(CAP_SETPCAP)) != 0;

	return capabilities_keep(USED, INHERITED) == 0 && own_set("CapEff") == (had & USED) &&
	       own_set("CapInh") == (had & INHERITED) &&
	       own_set("CapPrm") == (had & (USED | INHERITED)) && own_set("CapAmb") == 0 &&
	       (!may_drop_bounding || own_set("CapBnd") == 0);
}

static void test_keeps_what_is_named(void **state)
{
	(void)state;
	assert_true_in_child(keeps_what_is_named);
}

static bool uses_what_is_at_hand(void)
{
	return keeps_what_is_named() && capabilities_use(INHERITED, true) == 0 &&
	       own_set("CapEff") == own_set("CapPrm") && capabilities_use(INHERITED, false) == 0 &&
	       (own_set("CapEff") & INHERITED) == 0 && capabilities_use(UINT64_MAX, true) == 0 &&
	       own_set("CapEff") == own_set("CapPrm");
}

static void test_uses_what_is_at_hand(void **state)
{
	(void)state;
	assert_true_in_child(uses_what_is_at_hand);
}

static bool keeps_fewer_the_second_time(void)
{
	return keeps_what_is_named() && capabilities_keep(INHERITED, 0) == 0 &&
	       own_set("CapInh") == 0 && (own_set("CapPrm") & ~INHERITED) == 0 &&
	       own_set("CapEff") == own_set("CapPrm") && capabilities_keep(USED, USED) == 0 &&
	       own_set("CapPrm") == 0;
}

static void test_nothing_comes_back(void **state)
{
	(void)state;
	assert_true_in_child(keeps_fewer_the_second_time);
}

static bool changes_nothing_for_ordinary_user(void)
{
	uint64_t bounding;

	if (geteuid() == 0 && setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) != 0)
		return false;
	bounding = own_set("CapBnd");
	return capabilities_keep(USED, INHERITED) == 0 && own_set("CapPrm") == 0 &&
	       own_set("CapInh") == 0 && own_set("CapBnd") == bounding;
}

static void test_an_ordinary_user_has_none(void **state)
{
	(void)state;
	assert_true_in_child(changes_nothing_for_ordinary_user);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_what_is_named),
		cmocka_unit_test(test_uses_what_is_at_hand),
		cmocka_unit_test(test_nothing_comes_back),
		cmocka_unit_test(test_an_ordinary_user_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
