/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/ended_troubles.h"

#include "proto/base/bits.h"
#include "proto/base/causes.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the troubles of a log with this text. */
static int read_log(const char *text, struct rnic_show_trouble rows[ENDED_TROUBLES_MAX])
{
	char folder[] = "/tmp/test_ended_troubles.XXXXXX";
	char socket[64], path[72];
	FILE *file;
	int count;

	assert_non_null(mkdtemp(folder));
	snprintf(socket, sizeof(socket), "%s/s", folder);
	snprintf(path, sizeof(path), "%s.log", socket);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	count = ended_troubles_read(socket, rows);
	unlink(path);
	rmdir(folder);
	return count;
}

static void test_a_line(void **state)
{
	struct rnic_show_trouble rows[ENDED_TROUBLES_MAX];

	(void)state;
	assert_int_equal(read_log("rnicd: ready\n"
				  "rnicd: rping (pid 12, user 34), connection to ::1 port 7174: "
				  "nobody listens there (reason 8) (CM_NO_LISTENER)\n",
				  rows),
			 1);
	assert_string_equal(rows[0].program, "rping");
	assert_int_equal(rows[0].pid, 12);
	assert_int_equal(rows[0].uid, 34);
	assert_string_equal(rows[0].subject, "connection to ::1 port 7174");
	assert_string_equal(rows[0].reason, "nobody listens there (reason 8)");
	assert_int_equal(rows[0].cause, RNIC_CAUSE_CM_NO_LISTENER);
}

/* What stands in brackets at the end, and is no cause, belongs to the sentence. */
static void test_no_cause(void **state)
{
	static const char *const reasons[] = {
		"refused",
		"refused (reason 8)",
		"(REFUSED)",
		"refused (REFUSED",
		"refused (refused)",
		"refused(REFUSED)",
		"refused (REFUSED) again",
		"refused ()",
	};
	struct rnic_show_trouble rows[ENDED_TROUBLES_MAX];
	char line[128];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(reasons); i++) {
		snprintf(line, sizeof(line), "rnicd: pong (pid 1, user 2), GET: %s\n", reasons[i]);
		assert_int_equal(read_log(line, rows), 1);
		assert_string_equal(rows[0].reason, reasons[i]);
		assert_int_equal(rows[0].cause, RNIC_CAUSE_PASS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_line),
		cmocka_unit_test(test_no_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
