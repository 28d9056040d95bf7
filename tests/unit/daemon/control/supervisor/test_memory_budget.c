/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/memory_budget.h"

#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define MIB	  (UINT64_C(1) << 20)
#define ALL_BYTES (UINT64_C(16) << 30)
#define PROCESSES 127

/* --- measuring ------------------------------------------------------------------------------- */

/* A list of groups, and files as they lie under /sys/fs/cgroup; paths without a text: folders. */
static const struct {
	const char *name;
	const char *groups;
	const char *files[6][2];
	uint64_t expected; /* UINT64_MAX: the machine's */
} places[] = {
	{"no limit", "0::/\n", {{"/memory.max", "max\n"}}, UINT64_MAX},
	{"no such files", "0::/a/b\n", {{NULL}}, UINT64_MAX},
	{"version 2", "0::/a\n", {{"/a", NULL}, {"/a/memory.max", "4194304\n"}}, 4 * MIB},
	{"above",
	 "0::/a/b\n",
	 {{"/a", NULL},
	  {"/a/b", NULL},
	  {"/a/memory.max", "2097152\n"},
	  {"/a/b/memory.max", "max\n"}},
	 2 * MIB},
	{"the smallest",
	 "0::/a/b\n",
	 {{"/a", NULL},
	  {"/a/b", NULL},
	  {"/a/memory.max", "8388608\n"},
	  {"/a/b/memory.max", "1048576\n"}},
	 MIB},
	{"version 1",
	 "5:cpu,cpuacct:/c\n4:hugetlb,memory:/m\n0::/\n",
	 {{"/memory", NULL},
	  {"/memory/m", NULL},
	  {"/memory/m/memory.limit_in_bytes", "3145728\n"},
	  {"/memory/memory.limit_in_bytes", "9223372036854771712\n"}},
	 3 * MIB},
	{"a container that sees itself as the root",
	 "4:memory:/docker/1234\n",
	 {{"/memory", NULL}, {"/memory/memory.limit_in_bytes", "5242880\n"}},
	 5 * MIB},
	{"another controller",
	 "4:notmemory:/m\n",
	 {{"/memory", NULL}, {"/memory/m", NULL}, {"/memory/m/memory.limit_in_bytes", "1048576"}},
	 UINT64_MAX},
	{"no lines at all", "what\n\n:\n", {{NULL}}, UINT64_MAX},
	{"more than there is", "0::/\n", {{"/memory.max", "18446744073709551615"}}, UINT64_MAX},
};

static void path_of(char path[256], const char *root, const char *name)
{
	snprintf(path, 256, "%s%s", root, name);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static uint64_t measure(size_t place)
{
	const char *const(*files)[2] = places[place].files;
	char root[] = "/tmp/rnic-budget-XXXXXX", path[256], groups[256];
	uint64_t bytes;
	int count = 0;

	assert_non_null(mkdtemp(root));
	path_of(groups, root, "/groups");
	write_text(groups, places[place].groups);
	for (; count < 6 && files[count][0] != NULL; count++) {
		path_of(path, root, files[count][0]);
		if (files[count][1] == NULL)
			assert_int_equal(mkdir(path, 0700), 0);
		else
			write_text(path, files[count][1]);
	}
	bytes = memory_budget_measure(groups, root);
	/* Folders come after their content. */
	while (count-- > 0) {
		path_of(path, root, files[count][0]);
		if (files[count][1] != NULL)
			unlink(path);
	}
	for (count = 5; count >= 0; count--) {
		if (files[count][0] == NULL)
			continue;
		path_of(path, root, files[count][0]);
		rmdir(path);
	}
	unlink(groups);
	assert_int_equal(rmdir(root), 0);
	return bytes;
}

static void test_measures(void **state)
{
	struct sysinfo machine;
	uint64_t machine_bytes;

	(void)state;
	assert_int_equal(sysinfo(&machine), 0);
	machine_bytes = (uint64_t)machine.totalram * machine.mem_unit;
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		print_message("%s\n", places[i].name);
		assert_int_equal(measure(i), places[i].expected == UINT64_MAX ? machine_bytes
									      : places[i].expected);
	}
	assert_int_equal(memory_budget_measure("/none", "/none"), machine_bytes);
}

/* --- giving ---------------------------------------------------------------------------------- */

static void test_shares(void **state)
{
	const uint64_t sure = ALL_BYTES / 4 / PROCESSES;
	struct memory_budget budget;
	uint64_t given[PROCESSES], sum = 0;

	(void)state;
	memory_budget_init(&budget, ALL_BYTES, PROCESSES);
	for (unsigned i = 0; i < PROCESSES; i++) {
		given[i] = memory_budget_take(&budget);
		assert_in_range(given[i], sure, ALL_BYTES / 8);
		assert_true(i == 0 || given[i] <= given[i - 1]);
		sum += given[i];
		assert_true(sum <= ALL_BYTES / 2);
	}
	assert_int_equal(given[0], ALL_BYTES / 8);
	assert_true(given[4] > 4 * sure);
	for (unsigned i = 0; i < PROCESSES; i++)
		memory_budget_give_back(&budget, given[i]);
	assert_int_equal(budget.given_bytes, 0);
	assert_int_equal(memory_budget_take(&budget), ALL_BYTES / 8);
}

/* Processes that hang have budgets beside those of their successors. */
static void test_more_than_planned(void **state)
{
	struct memory_budget budget;
	uint64_t sum = 0;

	(void)state;
	memory_budget_init(&budget, ALL_BYTES, 1);
	for (unsigned i = 0; i < 1000; i++) {
		const uint64_t bytes = memory_budget_take(&budget);

		assert_true(bytes <= ALL_BYTES / 8);
		assert_true(bytes > 0 || i >= MEMORY_BUDGET_PARTS_EACH / MEMORY_BUDGET_PARTS_ALL);
		sum += bytes;
		assert_true(sum <= ALL_BYTES / 2);
	}
}

/* A user who comes and goes does not use up what there is. */
static void test_again_and_again(void **state)
{
	struct memory_budget budget;
	uint64_t first, second;

	(void)state;
	memory_budget_init(&budget, ALL_BYTES, PROCESSES);
	first = memory_budget_take(&budget);
	second = memory_budget_take(&budget);
	for (unsigned i = 0; i < 1000; i++) {
		memory_budget_give_back(&budget, second);
		assert_int_equal(memory_budget_take(&budget), second);
	}
	memory_budget_give_back(&budget, first);
	memory_budget_give_back(&budget, second);
	assert_int_equal(budget.process_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_measures),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_more_than_planned),
		cmocka_unit_test(test_again_and_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
