/* SPDX-License-Identifier: MIT */
#include "common/user_quota.h"
#include "common/client_limits.h"

#include "client_fixture.h"

#include "unit_test.h"

#include <unistd.h>

/* Of each user as many clients as could take all. */
#define CLIENTS (LIMIT_PDS / LIMIT_SESSION_PDS)

/* How many PDs the clients of `uid` get when each takes all that it can. */
static uint64_t take_all(struct halves *halves, uid_t uid, struct client *clients[CLIENTS])
{
	uint64_t taken = 0;

	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = client_fixture_connect(halves, uid, NULL);
		while (quota_charge(&clients[i]->account, RESOURCE_PD, 1) == 0)
			taken++;
	}
	return taken;
}

static void give_all(struct client *clients[CLIENTS])
{
	for (int i = 0; i < CLIENTS; i++)
		quota_discharge(&clients[i]->account, RESOURCE_PD,
				clients[i]->account.usage[RESOURCE_PD]);
}

/* Nobody but root and ourselves takes it all, by however many connections. */
static void test_others_find_something(void **state)
{
	const uid_t stranger = geteuid() + 1;
	struct client *strangers[CLIENTS], *others[CLIENTS], *own[CLIENTS];
	struct halves halves = {0};

	(void)state;
	halves_init(&halves, NULL, NULL);
	assert_int_equal(take_all(&halves, stranger, strangers), LIMIT_PDS / LIMIT_USER_PART);
	assert_int_equal(take_all(&halves, stranger + 1, others), LIMIT_PDS / LIMIT_USER_PART);
	give_all(strangers);
	give_all(others);
	assert_int_equal(take_all(&halves, geteuid(), own), LIMIT_PDS);
	give_all(own);
	halves_fini(&halves);
}

static void test_too_many_clients(void **state)
{
	const uid_t stranger = geteuid() + 1;
	struct user_quota *user;
	struct halves halves = {0};

	(void)state;
	halves_init(&halves, NULL, NULL);
	for (int i = 0; i < LIMIT_SESSIONS / LIMIT_USER_PART; i++) {
		user = user_quota_join(&halves.clients.quotas, stranger);
		assert_non_null(user);
	}
	assert_null(user_quota_join(&halves.clients.quotas, stranger));
	user_quota_leave(user);
	assert_ptr_equal(user_quota_join(&halves.clients.quotas, stranger), user);
	while (user->session_count > 1)
		user_quota_leave(user);
	user_quota_leave(user);
	halves_fini(&halves);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_others_find_something),
		cmocka_unit_test(test_too_many_clients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
