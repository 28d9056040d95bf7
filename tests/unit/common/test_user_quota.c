/* SPDX-License-Identifier: MIT */
#include "common/client_limits.h"
#include "common/user_quota.h"

#include "client_fixture.h"

#include "device/session/session_set.h"
#include "unit_test.h"

#include <unistd.h>

/* Of each user as many clients as could take all. */
#define CLIENTS (LIMIT_PDS / LIMIT_SESSION_PDS)

static struct device_facts facts;

/* The number of PDs for the clients of `uid` when each takes all that it can. */
static uint64_t take_all(struct session_set *set, uid_t uid, struct session *clients[CLIENTS])
{
	uint64_t taken = 0;

	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = client_fixture_connect(set, uid, NULL);
		while (quota_charge(&clients[i]->account, RESOURCE_PD, 1) == 0)
			taken++;
	}
	return taken;
}

static void give_all(struct session *clients[CLIENTS])
{
	for (int i = 0; i < CLIENTS; i++)
		quota_discharge(&clients[i]->account, RESOURCE_PD,
				clients[i]->account.usage[RESOURCE_PD]);
}

/* Only root and the daemon's own user can take it all, by however many connections. */
static void test_others_find_something(void **state)
{
	const uid_t stranger = geteuid() + 1;
	struct session *strangers[CLIENTS], *others[CLIENTS], *own[CLIENTS];
	struct session_set set;

	(void)state;
	assert_int_equal(session_set_init(&set, NULL, NULL, &facts), 0);
	assert_int_equal(take_all(&set, stranger, strangers), LIMIT_PDS / LIMIT_USER_PART);
	assert_int_equal(take_all(&set, stranger + 1, others), LIMIT_PDS / LIMIT_USER_PART);
	give_all(strangers);
	give_all(others);
	assert_int_equal(take_all(&set, geteuid(), own), LIMIT_PDS);
	give_all(own);
	session_set_fini(&set);
}

static void test_too_many_clients(void **state)
{
	const uid_t stranger = geteuid() + 1;
	struct user_quota *user;
	struct session_set set;

	(void)state;
	assert_int_equal(session_set_init(&set, NULL, NULL, &facts), 0);
	for (int i = 0; i < LIMIT_SESSIONS / LIMIT_USER_PART; i++) {
		user = user_quota_join(&set.quotas, stranger);
		assert_non_null(user);
	}
	assert_null(user_quota_join(&set.quotas, stranger));
	user_quota_leave(user);
	assert_ptr_equal(user_quota_join(&set.quotas, stranger), user);
	while (user->session_count > 1)
		user_quota_leave(user);
	user_quota_leave(user);
	session_set_fini(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_others_find_something),
		cmocka_unit_test(test_too_many_clients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
