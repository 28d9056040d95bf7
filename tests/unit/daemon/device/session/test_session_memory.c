/* SPDX-License-Identifier: MIT */
/* Large mappings take long to be undone: not in the thread that serves clients. */
#include "daemon/shared/quota/quota.h"

#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "tests/unit/daemon/device/session/client_fixture.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define LARGE_BYTES (UINT64_C(64) << 20)

static __thread uint64_t unmapped_bytes;       /* by this thread */
static _Atomic uint64_t unmapped_by_all_bytes; /* the address may be in use again at once */

int __real_munmap(void *address, size_t bytes);
int __wrap_munmap(void *address, size_t bytes);

int __wrap_munmap(void *address, size_t bytes)
{
	unmapped_bytes += bytes;
	unmapped_by_all_bytes += bytes;
	return __real_munmap(address, bytes);
}

struct fixture {
	struct family family;
	struct session *session;
	uint64_t usage[RESOURCE_COUNT]; /* before the test */
	int peer_fd;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;

	memset(f, 0, sizeof(*f));
	family_init(&f->family, NULL, NULL);
	f->session = client_fixture_open(
		client_fixture_connect_device(&f->family, geteuid(), &f->peer_fd), NULL, NULL);
	memcpy(f->usage, f->session->account->usage, sizeof(f->usage));
	unmapped_bytes = 0;
	unmapped_by_all_bytes = 0;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	/* What is unmapped in the background is no other test's. */
	served_peer_end(&f->session->connection->peer);
	while (f->family.device.connections.peers.count > 0)
		family_reap(&f->family);
	while (deferred_close_pending(&f->family.device.connections.peers.quotas.deferred_close) >
	       0)
		sched_yield();
	family_fini(&f->family);
	close(f->peer_fd);
	return 0;
}

static void expect_unmapped(const struct fixture *f)
{
	assert_int_equal(unmapped_bytes, 0);
	while (deferred_close_pending(&f->session->account->pool->deferred_close) > 0)
		sched_yield();
	assert_int_equal(unmapped_by_all_bytes, LARGE_BYTES);
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert_int_equal(f->session->account->usage[i], f->usage[i]);
}

static void test_memory_of_clients(void **state)
{
	struct fixture *f = *state;
	struct mapped_region region;
	int memfd = memfd_create("client", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(memfd >= 0);
	assert_int_equal(ftruncate(memfd, LARGE_BYTES), 0);
	assert_int_equal(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(session_open_mapping(f->session, &region, memfd, 0, LARGE_BYTES), 0);
	close(memfd);
	session_close_mapping(f->session, &region);
	expect_unmapped(f);
}

static void test_rings(void **state)
{
	struct fixture *f = *state;
	struct shared_region region;
	int fd;

	assert_int_equal(session_open_shared(f->session, &region, RNIC_REGION_CQ, LARGE_BYTES, &fd),
			 0);
	close(fd);
	session_close_shared(f->session, &region);
	assert_null(region.address);
	expect_unmapped(f);
}

/* Quick unmappings happen at once. */
static void test_small_rings(void **state)
{
	struct fixture *f = *state;
	struct shared_region region;
	int fd;

	assert_int_equal(session_open_shared(f->session, &region, RNIC_REGION_CQ, 1, &fd), 0);
	close(fd);
	session_close_shared(f->session, &region);
	assert_int_equal(unmapped_bytes, 4096);
	assert_int_equal(deferred_close_pending(&f->session->account->pool->deferred_close), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_memory_of_clients, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_rings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_small_rings, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
