/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/gone_clients.h"

#include "tests/unit/unit_test.h"

static struct gone_clients all;

/* Notes clients of the user, numbered from `first` on. */
static void note(uid_t account, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct gone_client gone = {.client_id = first + i, .account = account};

		gone_clients_note(&all, &gone);
	}
}

static uint32_t count_known(uint32_t first, uint32_t count)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < count; i++)
		known += gone_clients_find(&all, first + i) != NULL;
	return known;
}

static void test_one_user(void **state)
{
	(void)state;
	memset(&all, 0, sizeof(all));
	assert_null(gone_clients_find(&all, 0));
	note(1000, 1, GONE_CLIENTS_MAX + 10);
	assert_int_equal(count_known(1, 10), 0);
	assert_int_equal(count_known(11, GONE_CLIENTS_MAX), GONE_CLIENTS_MAX);
}

/* However many clients of others come and go, the few of a user are known. */
static void test_users_share(void **state)
{
	(void)state;
	memset(&all, 0, sizeof(all));
	note(1000, 1, 3);
	note(1001, 100, 1000);
	note(1002, 2000, 1000);
	assert_int_equal(count_known(1, 3), 3);
	/* Whoever has most gives way, the oldest first. */
	assert_int_equal(count_known(100, 1000) + count_known(2000, 1000), GONE_CLIENTS_MAX - 3);
	assert_true(count_known(1099 - 29, 30) == 30);
	assert_true(count_known(2999 - 29, 30) == 30);
	note(1003, 5000, 20);
	assert_int_equal(count_known(5000, 20), 20);
	assert_int_equal(count_known(1, 3), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_user),
		cmocka_unit_test(test_users_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
