/* SPDX-License-Identifier: MIT */
#include "daemon/shared/quota/quota.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/device/session/session.h"
#include "daemon/shared/quota/user_quota.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

static void test_what_a_process_can_spare(void **state)
{
	static const uint64_t limits[RESOURCE_COUNT] = {[RESOURCE_QP] = 7};
	struct rlimit files;
	struct quota_pool pool;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	quota_pool_init(&pool, limits, 40);
	assert_int_equal(pool.limits[RESOURCE_QP], 7);
	assert_int_equal(pool.limits[RESOURCE_PD], 0);
	assert_int_equal(pool.limits[RESOURCE_DESCRIPTORS], files.rlim_cur - 40);
	assert_true(pool.limits[RESOURCE_MAPPINGS] > 1000);
	quota_pool_fini(&pool);
	/* Where the process needs more than there is, clients still get something. */
	quota_pool_init(&pool, limits, files.rlim_cur);
	assert_int_equal(pool.limits[RESOURCE_DESCRIPTORS], files.rlim_cur / 4);
	quota_pool_fini(&pool);
}

#define MAPPINGS 16

/* Each region is a mapping of ours, of which there are not so many. */
static void test_regions_are_mappings(void **state)
{
	struct shared_region regions[MAPPINGS + 1];
	struct family family = {0};
	struct quota_pool *pool = &family.device.connections.peers.quotas;
	struct session *session;
	uint64_t mappings, shared_bytes; /* of the session itself */
	unsigned made = 0;
	int fd;

	(void)state;
	family_init(&family, NULL, NULL);
	pool->limits[RESOURCE_MAPPINGS] = MAPPINGS;
	session = client_fixture_open(client_fixture_connect_device(&family, geteuid(), NULL), NULL,
				      NULL);
	mappings = pool->usage[RESOURCE_MAPPINGS];
	shared_bytes = pool->usage[RESOURCE_SHARED_BYTES];
	while (session_open_shared(session, &regions[made], RNIC_REGION_CQ, 1, &fd) == 0) {
		close(fd);
		made++;
	}
	assert_true(made > 0);
	assert_int_equal(session->account->usage[RESOURCE_MAPPINGS], MAPPINGS / 4 * 3);
	assert_int_equal(pool->usage[RESOURCE_MAPPINGS], mappings + made);
	while (made > 0)
		session_close_shared(session, &regions[--made]);
	assert_int_equal(pool->usage[RESOURCE_MAPPINGS], mappings);
	assert_int_equal(pool->usage[RESOURCE_SHARED_BYTES], shared_bytes);
	family_fini(&family);
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
	static const uint64_t limits[RESOURCE_COUNT] = {[RESOURCE_SESSION] = 1};
	struct quota_account account;
	struct quota_pool pool;
	int gate[2];

	(void)state;
	quota_pool_init(&pool, limits, 0);
	pool.limits[RESOURCE_DESCRIPTORS] = 8;
	assert_int_equal(pipe(gate), 0);
	gate_fd = gate[0];
	slow_fd = dup(STDERR_FILENO);
	assert_int_equal(quota_open(&account, &pool, NULL), 0);
	assert_int_equal(quota_pool_left(&pool, RESOURCE_DESCRIPTORS), 8);
	quota_defer_close(&account, slow_fd);
	quota_defer_close(&account, dup(STDERR_FILENO));
	assert_int_equal(quota_pool_left(&pool, RESOURCE_DESCRIPTORS), 6);
	assert_false(quota_closes_are_behind(&account));
	quota_close(&account);
	assert_int_equal(quota_open(&account, &pool, NULL), 0);
	assert_int_equal(quota_charge(&account, RESOURCE_DESCRIPTORS, 5), 0);
	assert_int_equal(quota_charge(&account, RESOURCE_DESCRIPTORS, 2), -ENOSPC);
	assert_true(quota_closes_are_behind(&account));
	quota_discharge(&account, RESOURCE_DESCRIPTORS, 5);
	close(gate[1]);
	while (quota_pool_left(&pool, RESOURCE_DESCRIPTORS) < 8)
		sched_yield();
	close(gate[0]);
	quota_close(&account);
	quota_pool_fini(&pool);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* A connection whose close hangs counts for its user, and no other user's waits for it. */
static void test_connections_close_apart(void **state)
{
	const uid_t stranger = geteuid() + 1;
	struct client *slow, *other;
	struct family family = {0};
	int gate[2], other_fd;

	(void)state;
	family_init(&family, NULL, NULL);
	assert_int_equal(pipe(gate), 0);
	gate_fd = gate[0];
	slow = client_fixture_connect(&family, stranger, NULL);
	other = client_fixture_connect(&family, stranger + 1, NULL);
	slow_fd = slow->peer.requests.fd;
	other_fd = other->peer.requests.fd;
	served_peer_end(&slow->peer);
	family_reap(&family);
	served_peer_end(&other->peer);
	family_reap(&family);
	for (int i = 0; i < 10000 && is_open(other_fd); i++)
		poll(NULL, 0, 1);
	assert_false(is_open(other_fd));
	slow = client_fixture_connect(&family, stranger, NULL);
	assert_int_equal(deferred_close_pending(&slow->peer.account.user->deferred_close), 1);
	assert_int_equal(user_quotas_pending(&family.clients.users), 1);
	close(gate[1]);
	while (deferred_close_pending(&slow->peer.account.user->deferred_close) > 0)
		poll(NULL, 0, 1);
	close(gate[0]);
	family_fini(&family);
}

/* No client takes all. */
static void test_no_client_takes_all_mappings(void **state)
{
	struct family family = {0};
	struct client *own;

	(void)state;
	family_init(&family, NULL, NULL);
	family.clients.peers.quotas.limits[RESOURCE_MAPPINGS] = MAPPINGS;
	own = client_fixture_connect(&family, geteuid(), NULL);
	assert_int_equal(quota_charge(&own->peer.account, RESOURCE_MAPPINGS, MAPPINGS), -ENOSPC);
	assert_int_equal(quota_charge(&own->peer.account, RESOURCE_MAPPINGS, MAPPINGS / 4 * 3), 0);
	assert_int_equal(quota_charge(&own->peer.account, RESOURCE_MAPPINGS, 1), -ENOSPC);
	quota_discharge(&own->peer.account, RESOURCE_MAPPINGS, MAPPINGS / 4 * 3);
	family_fini(&family);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_process_can_spare),
		cmocka_unit_test(test_regions_are_mappings),
		cmocka_unit_test(test_no_client_takes_all_mappings),
		cmocka_unit_test(test_what_is_being_closed_counts),
		cmocka_unit_test(test_connections_close_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
