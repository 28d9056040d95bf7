/* SPDX-License-Identifier: MIT */
#include "lib/nic/mem/ordered_copy.h"
#include "tests/unit/lib/nic/mem/copy_check.h"
#include "tests/unit/unit_test.h"

/* Every length at every alignment of both sides: the bytes arrive, and no others change. */
static void the_bytes_arrive(void **state)
{
	const char *difference = copy_differs_from_memcpy(ordered_write, ordered_read);

	(void)state;
	if (difference != NULL)
		fail_msg("%s", difference);
}

/* Reported, not judged: a loaded machine may say anything. */
static void the_speed_is_measured(void **state)
{
	(void)state;
	print_copy_speed("ordered_write", ordered_write, "ordered_read", ordered_read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_arrive),
		cmocka_unit_test(the_speed_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
