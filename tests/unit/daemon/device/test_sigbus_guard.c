/* SPDX-License-Identifier: MIT */
/* Pages that cannot be had are stood in for by mappings of a file that has become too short. */
#include "daemon/device/sigbus_guard.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "daemon/device/session_turn.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS	     2
#define MEMORY_BYTES 65536

struct fixture {
	struct family family;
	struct session *sessions[CLIENTS];
	int peer_fds[CLIENTS];
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct fixture *f = &fixture;

	memset(f, 0, sizeof(*f));
	family_init(&f->family, NULL, NULL);
	for (unsigned i = 0; i < CLIENTS; i++) {
		f->sessions[i] = client_fixture_open(
			client_fixture_connect_device(&f->family, geteuid(), &f->peer_fds[i]), NULL,
			NULL);
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	sigbus_guard_unwatch();
	family_fini(&f->family);
	for (unsigned i = 0; i < CLIENTS; i++)
		close(f->peer_fds[i]);
	return 0;
}

/* In the test itself, since cmocka handles the signal until then. */
static struct fixture *watch(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(sigbus_guard_watch(&f->family.device.sessions), 0);
	return f;
}

/* Whoever touches these bytes from now on finds nothing there. */
static void lose(void *address, size_t bytes)
{
	int memfd = memfd_create("lost", MFD_CLOEXEC);

	assert_true(memfd >= 0);
	assert_ptr_equal(
		mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memfd, 0),
		address);
	close(memfd);
}

/* The second client is disconnected, and no other. */
static void expect_its_end(struct fixture *f)
{
	assert_false(f->sessions[1]->is_broken);
	family_reap(&f->family);
	while (f->family.device.connections.peers.count > 1)
		family_reap(&f->family);
	assert_ptr_equal(
		list_first_entry(&f->family.device.sessions.sessions, struct session, node),
		f->sessions[0]);
	assert_false(f->sessions[0]->is_broken);
	assert_false(f->family.device.sessions.has_sigbus);
}

static void test_session_region(void **state)
{
	struct fixture *f = watch(state);

	lose(f->sessions[1]->region.address, f->sessions[1]->region.bytes);
	session_turn_announce_sleep(&f->family.device.sessions);
	session_turn_take_work(&f->family.device.sessions);
	expect_its_end(f);
}

/* Read and written across pages; what was written can be read until the turn ends. */
static void test_memory_of_a_client(void **state)
{
	static uint8_t bytes[MEMORY_BYTES];
	struct fixture *f = watch(state);
	int memfd = memfd_create("client", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct mapped_region region;
	struct memory_transfer transfer = {
		.region = &region.region,
		.offset = 100,
		.bytes = bytes,
		.length = MEMORY_BYTES - 200,
	};
	uint64_t original;
	int error = 0;

	assert_true(memfd >= 0);
	assert_int_equal(ftruncate(memfd, MEMORY_BYTES), 0);
	assert_int_equal(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(session_open_mapping(f->sessions[1], &region, memfd, 0, MEMORY_BYTES), 0);
	close(memfd);
	lose(region.bytes, MEMORY_BYTES);
	errno = 77;
	assert_int_equal(region.region.ops->read(&transfer, 1, &error), 1);
	assert_int_equal(region.region.ops->write(&transfer, 1, &error), 1);
	assert_int_equal(
		region.region.ops->fetch_add(&region.region, MEMORY_BYTES - 64, 1, &original), 0);
	assert_int_equal(errno, 77);
	session_close_mapping(f->sessions[1], &region);
	expect_its_end(f);
}

/* Also before anything has it. */
static void test_region_that_is_new(void **state)
{
	struct fixture *f = watch(state);
	struct shared_region region;
	int fd;

	assert_int_equal(
		session_open_shared(f->sessions[1], &region, RNIC_REGION_CQ, 2 * 4096, &fd), 0);
	close(fd);
	lose((uint8_t *)region.address + 4096, 4096);
	((volatile uint8_t *)region.address)[4096] = 1;
	session_close_shared(f->sessions[1], &region);
	expect_its_end(f);
}

/* What one client's page held is not for another. */
static void test_no_bytes_of_others(void **state)
{
	struct fixture *f = watch(state);
	volatile uint8_t *pages[CLIENTS];

	for (unsigned i = 0; i < CLIENTS; i++) {
		lose(f->sessions[i]->region.address, 4096);
		pages[i] = f->sessions[i]->region.address;
	}
	pages[0][7] = 1;
	assert_int_equal(pages[1][7], 0);
	lose(f->sessions[0]->region.address, 4096);
	family_reap(&f->family);
	while (f->family.device.connections.peers.count > 0)
		family_reap(&f->family);
}

/* Elsewhere it is a fault of ours, and the end. */
static void test_memory_of_nobody(void **state)
{
	const struct rlimit no_core = {0, 0};
	uint8_t *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	watch(state);
	assert_ptr_not_equal(page, MAP_FAILED);
	lose(page, 4096);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		_exit(*(volatile uint8_t *)page);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	munmap(page, 4096);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_session_region),     TEST(test_memory_of_a_client),
		TEST(test_region_that_is_new), TEST(test_no_bytes_of_others),
		TEST(test_memory_of_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
