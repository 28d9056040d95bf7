/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit_test.h"
#include "tools/lab/lab_text.h"

#include <stdio.h>
#include <unistd.h>

/* The output of lab_print_text() for these bytes, without the end of the line. */
static void assert_printed(const char *text, size_t bytes, const char *expected)
{
	char printed[256] = {0};
	int ends[2], output = dup(STDOUT_FILENO);
	ssize_t count;

	fflush(stdout);
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDOUT_FILENO);
	lab_print_text("", text, bytes);
	dup2(output, STDOUT_FILENO);
	close(output);
	close(ends[1]);
	count = read(ends[0], printed, sizeof(printed) - 1);
	close(ends[0]);
	assert_true(count > 0);
	printed[count - 1] = '\0';
	assert_string_equal(printed, expected);
}

static void text_stays_as_it_is(void **state)
{
	(void)state;
	assert_printed("plain\t~", 7, "plain\t~");
	assert_printed("Stra\xc3\x9f"
		       "e \xe2\x82\xac \xc2\xa7",
		       14,
		       "Stra\xc3\x9f"
		       "e \xe2\x82\xac \xc2\xa7");
}

static void what_a_terminal_obeys_is_spelled_out(void **state)
{
	(void)state;
	assert_printed("\x1b[2J\x7f", 5, "\\x1b[2J\\x7f");
	assert_printed("\xc2\x9b"
		       "2J",
		       4, "\\xc2\\x9b2J");
	assert_printed("\x9b"
		       "2J",
		       3, "\\x9b2J");
	assert_printed("a\x9b", 2, "a\\x9b");
	assert_printed("\xc2", 1, "\\xc2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_stays_as_it_is),
		cmocka_unit_test(what_a_terminal_obeys_is_spelled_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
