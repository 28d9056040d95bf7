/* SPDX-License-Identifier: MIT */
#include "daemon/shared/quota/client_limits.h"
#include "daemon/shared/quota/quota.h"
#include "daemon/shared/quota/user_quota.h"

#include "tests/unit/unit_test.h"

#include <unistd.h>

#define SESSIONS_MAX 8192

/* A control plane without sockets: users whose clients take what they can. */
struct fixture {
	struct quota_pool pool;
	struct user_quotas users;
	struct quota_account accounts[SESSIONS_MAX];
	uint32_t account_count;
};

static uid_t stranger(uint32_t number)
{
	return geteuid() + 1 + number;
}

static int set_up(void **state)
{
	static const uint64_t limits[RESOURCE_COUNT] = {
		[RESOURCE_SESSION] = LIMIT_SESSIONS,
		[RESOURCE_CM_ID] = LIMIT_SESSIONS,
	};
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	quota_pool_init(&f->pool, limits, 0);
	user_quotas_init(&f->users, &f->pool);
	*state = f;
	return 0;
}

static bool connect_once(struct fixture *f, uid_t uid)
{
	struct user_quota *user = user_quota_join(&f->users, uid, 0);

	assert_non_null(user);
	assert_true(f->account_count < SESSIONS_MAX);
	if (quota_open(&f->accounts[f->account_count], &f->pool, user) == 0) {
		f->account_count++;
		return true;
	}
	user_quota_leave(user, 0);
	return false;
}

/* The number of clients that the user gets who wants all there are. */
static uint32_t connect_all(struct fixture *f, uid_t uid)
{
	uint32_t count = 0;

	while (connect_once(f, uid))
		count++;
	return count;
}

static void disconnect(struct fixture *f, uint32_t index)
{
	struct quota_account *account = &f->accounts[index];
	struct user_quota *user = account->user;

	quota_close(account);
	user_quota_leave(user, 0);
	*account = f->accounts[--f->account_count];
}

static void disconnect_all(struct fixture *f)
{
	while (f->account_count > 0)
		disconnect(f, 0);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	disconnect_all(f);
	user_quotas_fini(&f->users);
	quota_pool_fini(&f->pool);
	free(f);
	return 0;
}

/* Ten users hold all they can; then others come. */
static void test_ten_users_leave_room(void **state)
{
	const uint32_t sure = LIMIT_SESSIONS / LIMIT_USER_PARTS * 15 / 16;
	struct fixture *f = *state;
	uint32_t before = UINT32_MAX, count;

	for (uint32_t i = 0; i < 10; i++) {
		count = connect_all(f, stranger(i));
		assert_in_range(count, sure, LIMIT_SESSIONS / 2);
		assert_true(count <= before);
		before = count;
	}
	assert_in_range(connect_all(f, stranger(10)), sure, LIMIT_SESSIONS / 2);
	assert_true(connect_all(f, 0) > LIMIT_SESSIONS / LIMIT_RESERVE_PARTS);
}

/*
 * A user at the limit may still look, and other users still get in. While the user looks, the place
 * of a program that ended goes to the next program.
 */
static void test_viewers(void **state)
{
	struct fixture *f = *state;
	struct quota_account viewers[LIMIT_USER_VIEWERS + 1];
	struct user_quota *user;
	uint32_t others;

	connect_all(f, stranger(0));
	user = f->accounts[0].user;
	for (uint32_t i = 0; i < LIMIT_USER_VIEWERS; i++)
		assert_int_equal(quota_open_viewer(&viewers[i], &f->pool, user), 0);
	assert_int_equal(quota_open_viewer(&viewers[LIMIT_USER_VIEWERS], &f->pool, user), -ENOSPC);
	assert_false(connect_once(f, stranger(0)));
	disconnect(f, 0);
	assert_true(connect_once(f, stranger(0)));
	others = connect_all(f, stranger(1));
	assert_true(others >= LIMIT_SESSIONS / LIMIT_USER_PARTS * 15 / 16);
	quota_close(&viewers[0]);
	assert_int_equal(quota_open_viewer(&viewers[0], &f->pool, user), 0);
	for (uint32_t i = 0; i < LIMIT_USER_VIEWERS; i++)
		quota_close(&viewers[i]);
}

/* Opens viewers of the user until one is refused. Returns their number. */
static uint32_t view_all(struct fixture *f, struct user_quota *user, struct quota_account *viewers)
{
	uint32_t count = 0;

	while (quota_open_viewer(&viewers[count], &f->pool, user) == 0)
		count++;
	return count;
}

/* Many users without a place take no viewer from a user that has one. */
static void test_viewers_beyond_the_places(void **state)
{
	struct fixture *f = *state;
	struct user_quota *users[LIMIT_USER_PLACES + LIMIT_OTHER_VIEWERS];
	struct quota_account viewers[LIMIT_VIEWERS + 1];
	uint32_t count = 0, seated = 0;

	for (uint32_t i = 0; i < COUNT_OF(users); i++)
		users[i] = user_quota_join(&f->users, stranger(i), 0);
	for (uint32_t i = LIMIT_USER_PLACES; i < COUNT_OF(users); i++)
		count += view_all(f, users[i], &viewers[count]);
	assert_int_equal(count, LIMIT_OTHER_VIEWERS);
	for (uint32_t i = 0; i < LIMIT_USER_PLACES; i++)
		seated += view_all(f, users[i], &viewers[count + seated]);
	assert_int_equal(seated, LIMIT_USER_PLACES * LIMIT_USER_VIEWERS);
	/* A user gets a free place, and the user's viewers leave room for those of others. */
	for (uint32_t i = 0; i < LIMIT_USER_VIEWERS; i++)
		quota_close(&viewers[count + i]);
	user_quota_leave(users[0], 0);
	assert_ptr_equal(user_quota_join(&f->users, stranger(LIMIT_USER_PLACES), 0),
			 users[LIMIT_USER_PLACES]);
	user_quota_leave(users[LIMIT_USER_PLACES], 0);
	assert_int_equal(view_all(f, users[COUNT_OF(users) - 1], &viewers[count]),
			 LIMIT_USER_VIEWERS);
	for (uint32_t i = 0; i < count + LIMIT_USER_PLACES * LIMIT_USER_VIEWERS; i++)
		quota_close(&viewers[i]);
	for (uint32_t i = 1; i < COUNT_OF(users); i++)
		user_quota_leave(users[i], 0);
}

static const struct {
	const char *name;
	uint32_t users;		/* who hold all they can, each */
	bool has_newcomer_part; /* the next one is sure of a part */
} cases[] = {
	{"nobody", 0, true},
	{"one", 1, true},
	{"two", 2, true},
	{"the last place", LIMIT_USER_PLACES - 1, true},
	{"no place is left", LIMIT_USER_PLACES, false},
};

static void test_newcomers(void **state)
{
	struct fixture *f = *state;
	uint32_t count;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		for (uint32_t k = 0; k < cases[i].users; k++)
			connect_all(f, stranger(k));
		print_message("%s: %u clients\n", cases[i].name, f->account_count);
		/* The reserve is root's. */
		assert_true(f->account_count <=
			    LIMIT_SESSIONS - LIMIT_SESSIONS / LIMIT_RESERVE_PARTS);
		count = connect_all(f, stranger(LIMIT_USER_PLACES));
		if (cases[i].has_newcomer_part)
			assert_true(count >= LIMIT_SESSIONS / LIMIT_USER_PARTS * 15 / 16);
		assert_true(connect_once(f, 0));
		assert_true(connect_once(f, geteuid()));
		disconnect_all(f);
	}
}

/* A user without clients is known for a while, and until the requests are paid. */
static void test_accounts_outlive_clients(void **state)
{
	static const struct {
		uint64_t paid_ns, back_ns;
		bool is_known;
	} rows[] = {
		{1, 0, true},
		{1, USER_QUOTA_KEPT_NS - 1, true},
		{1, USER_QUOTA_KEPT_NS, false},
		{USER_QUOTA_KEPT_NS + 10, USER_QUOTA_KEPT_NS + 9, true},
		{USER_QUOTA_KEPT_NS + 10, USER_QUOTA_KEPT_NS + 10, false},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct user_quota *user = user_quota_join(&f->users, stranger((uint32_t)i), 0);

		user->requests.paid_ns = rows[i].paid_ns;
		user_quota_leave(user, 0);
		assert_int_equal(f->users.place_count, 0);
		user = user_quota_join(&f->users, stranger((uint32_t)i), rows[i].back_ns);
		assert_int_equal(user->requests.paid_ns, rows[i].is_known ? rows[i].paid_ns : 0);
		user_quota_leave(user, 10 * USER_QUOTA_KEPT_NS);
	}
}

/* Root and the owner may have all; a user who comes then finds nothing, as they wanted it. */
static void test_owner_may_have_all(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(connect_all(f, geteuid()), LIMIT_SESSIONS);
	assert_false(connect_once(f, stranger(0)));
	assert_false(connect_once(f, 0));
}

/* A place that becomes free is the next comer's, also one's who had none. */
static void test_places_go_round(void **state)
{
	struct fixture *f = *state;
	uint32_t count;

	for (uint32_t i = 0; i <= LIMIT_USER_PLACES; i++)
		assert_true(connect_once(f, stranger(i)));
	assert_int_equal(f->users.place_count, LIMIT_USER_PLACES);
	assert_int_equal(f->users.common_usage[RESOURCE_SESSION], 1);
	disconnect(f, 0);
	assert_int_equal(f->users.place_count, LIMIT_USER_PLACES - 1);
	count = connect_all(f, stranger(LIMIT_USER_PLACES));
	assert_int_equal(f->users.place_count, LIMIT_USER_PLACES);
	assert_true(count > LIMIT_SESSIONS / LIMIT_USER_PARTS * 15 / 16);
	disconnect_all(f);
	assert_int_equal(f->users.place_count, 0);
	assert_int_equal(f->users.common_usage[RESOURCE_SESSION], 0);
}

/* The same shares hold for what one client can have many of. */
static void test_other_resources(void **state)
{
	struct fixture *f = *state;
	struct quota_account *first, *second;

	assert_true(connect_once(f, stranger(0)) && connect_once(f, stranger(1)));
	first = &f->accounts[0];
	second = &f->accounts[1];
	assert_int_equal(quota_charge(first, RESOURCE_CM_ID, LIMIT_SESSIONS / 2), -ENOSPC);
	while (quota_charge(first, RESOURCE_CM_ID, 1) == 0)
		continue;
	assert_true(first->usage[RESOURCE_CM_ID] > LIMIT_SESSIONS / 5);
	assert_int_equal(quota_charge(second, RESOURCE_CM_ID, LIMIT_SESSIONS / 8), 0);
	assert_int_equal(quota_charge(second, RESOURCE_CM_ID, UINT64_MAX - 1), -ENOSPC);
	quota_discharge(first, RESOURCE_CM_ID, first->usage[RESOURCE_CM_ID]);
	quota_discharge(second, RESOURCE_CM_ID, LIMIT_SESSIONS / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ten_users_leave_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_viewers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_viewers_beyond_the_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_newcomers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_accounts_outlive_clients, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_owner_may_have_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_places_go_round, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_resources, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
