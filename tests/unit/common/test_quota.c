/* SPDX-License-Identifier: MIT */
#include "common/client_limits.h"
#include "common/quota.h"

#include "client_fixture.h"

#include "common/user_quota.h"
#include "device/session/session.h"
#include "unit_test.h"

#include <unistd.h>

static void test_what_a_process_can_spare(void **state)
{
	struct quota_pool pool;

	(void)state;
	quota_pool_init(&pool);
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert_true(pool.limits[i] > 0);
	assert_int_equal(pool.limits[RESOURCE_QP], LIMIT_QPS);
}

#define MAPPINGS 16

/* Each region is a mapping of ours, of which there are not so many. */
static void test_regions_are_mappings(void **state)
{
	struct shared_region regions[MAPPINGS + 1];
	struct session *stranger, *own;
	struct halves halves = {0};
	uint64_t mappings, shared_bytes; /* of the sessions themselves */
	unsigned made = 0;
	int fd;

	(void)state;
	halves_init(&halves, NULL, NULL);
	halves.clients.quotas.limits[RESOURCE_MAPPINGS] = MAPPINGS;
	stranger = client_fixture_greet(client_fixture_connect(&halves, geteuid() + 1, NULL), NULL,
					NULL);
	own = client_fixture_greet(client_fixture_connect(&halves, geteuid(), NULL), NULL, NULL);
	mappings = halves.clients.quotas.usage[RESOURCE_MAPPINGS];
	shared_bytes = halves.clients.quotas.usage[RESOURCE_SHARED_BYTES];
	while (session_open_shared(stranger, &regions[made], RNIC_REGION_CQ, 1, &fd) == 0) {
		close(fd);
		made++;
	}
	assert_true(made > 0);
	assert_int_equal(stranger->account->usage[RESOURCE_MAPPINGS], MAPPINGS / LIMIT_USER_PART);
	assert_int_equal(halves.clients.quotas.usage[RESOURCE_MAPPINGS], mappings + made);
	assert_int_equal(session_open_shared(own, &regions[made], RNIC_REGION_CQ, 1, &fd), 0);
	close(fd);
	session_close_shared(own, &regions[made]);
	while (made > 0)
		session_close_shared(stranger, &regions[--made]);
	assert_int_equal(halves.clients.quotas.usage[RESOURCE_MAPPINGS], mappings);
	assert_int_equal(halves.clients.quotas.usage[RESOURCE_SHARED_BYTES], shared_bytes);
	halves_fini(&halves);
}

static int slow_fd = -1, gate_fd;

int __real_close(int fd);
int __wrap_close(int fd);

/* As slow as a file system may be that a user serves. */
int __wrap_close(int fd)
{
	char byte;

	if (fd == slow_fd) {
		slow_fd = -1;
		while (read(gate_fd, &byte, 1) < 0)
			continue;
	}
	return __real_close(fd);
}

/* A descriptor that is not closed yet counts, also when the client that sent it is gone. */
static void test_what_is_being_closed_counts(void **state)
{
	const uid_t stranger = geteuid() + 1;
	struct user_quota *user;
	struct halves halves = {0};
	int gate[2];

	(void)state;
	halves_init(&halves, NULL, NULL);
	assert_int_equal(pipe(gate), 0);
	gate_fd = gate[0];
	slow_fd = dup(STDERR_FILENO);
	user = user_quota_join(&halves.clients.quotas, stranger);
	assert_non_null(user);
	assert_true(user_quota_may_have(user, RESOURCE_DESCRIPTORS, 4, 8));
	deferred_close_take(&user->deferred_close, slow_fd);
	deferred_close_take(&user->deferred_close, dup(STDERR_FILENO));
	assert_false(user_quota_may_have(user, RESOURCE_DESCRIPTORS, 3, 8));
	user_quota_leave(user);
	assert_ptr_equal(user_quota_join(&halves.clients.quotas, stranger), user);
	assert_false(user_quota_may_have(user, RESOURCE_DESCRIPTORS, 3, 8));
	user_quota_leave(user);
	close(gate[1]);
	while (!list_is_empty(&halves.clients.quotas.users))
		user_quota_sweep(&halves.clients.quotas, false);
	close(gate[0]);
	halves_fini(&halves);
}

/* Nor does one client of any user take all. */
static void test_no_client_takes_all_mappings(void **state)
{
	struct halves halves = {0};
	struct client *own;

	(void)state;
	halves_init(&halves, NULL, NULL);
	halves.clients.quotas.limits[RESOURCE_MAPPINGS] = MAPPINGS;
	own = client_fixture_connect(&halves, geteuid(), NULL);
	assert_int_equal(quota_charge(&own->account, RESOURCE_MAPPINGS, MAPPINGS), -ENOSPC);
	assert_int_equal(quota_charge(&own->account, RESOURCE_MAPPINGS, MAPPINGS / 4 * 3), 0);
	assert_int_equal(quota_charge(&own->account, RESOURCE_MAPPINGS, 1), -ENOSPC);
	quota_discharge(&own->account, RESOURCE_MAPPINGS, MAPPINGS / 4 * 3);
	halves_fini(&halves);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_process_can_spare),
		cmocka_unit_test(test_regions_are_mappings),
		cmocka_unit_test(test_no_client_takes_all_mappings),
		cmocka_unit_test(test_what_is_being_closed_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
