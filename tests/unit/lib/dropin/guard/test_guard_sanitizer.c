/* SPDX-License-Identifier: MIT */
/* AddressSanitizer, whose handlers are the application's, reports under the guard as without. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/lib/dropin/guard/guard_fixture.h"
#include "tests/unit/unit_test.h"

static void store_to_page(void)
{
	open_guard();
	fault_guarded();
	store_byte(map_pages(1, PROT_NONE));
}

static void store_past_block(void)
{
	volatile uint8_t *block = malloc(16);

	open_guard();
	fault_guarded();
	store_byte(block + 16);
}

static struct sigaction action_at_start;

/* Runs the case with the sanitizer's handler, which cmocka's has replaced. Returns what the child
 * writes. */
static const char *report_of(guard_case *run)
{
	static char report[65536];
	size_t bytes = 0;
	ssize_t more;
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		CHECK(sigaction(SIGSEGV, &action_at_start, NULL) == 0);
		run();
		_exit(0);
	}
	close(ends[1]);
	while ((more = read(ends[0], report + bytes, sizeof(report) - 1 - bytes)) > 0)
		bytes += (size_t)more;
	report[bytes] = 0;
	close(ends[0]);
	assert_int_not_equal(wait_for_child(child), 0);
	return report;
}

static void assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is not in this report:\n%s", part, text);
}

static void a_fault_is_reported(void **state)
{
	const char *report = report_of(store_to_page);

	(void)state;
	assert_contains(report, "AddressSanitizer: SEGV on unknown address");
	assert_contains(report, "caused by a WRITE memory access");
	assert_contains(report, "#0 ");
	assert_contains(report, "in store_byte");
}

static void a_store_past_a_block_is_reported(void **state)
{
	const char *report = report_of(store_past_block);

	(void)state;
	assert_contains(report, "AddressSanitizer: heap-buffer-overflow");
	assert_contains(report, "in store_byte");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_is_reported),
		cmocka_unit_test(a_store_past_a_block_is_reported),
	};

	sigaction(SIGSEGV, NULL, &action_at_start);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
