/* SPDX-License-Identifier: MIT */
#include "daemon/device/requests/session_teardown.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/device/objects/object_requests.h"
#include "daemon/device/objects/session_objects.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session_set.h"
#include "daemon/device/session_turn.h"
#include "lib/nic/engine/engine.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 2
#define PDS	(LIMIT_TURN_TEARDOWN * 3 / 2) /* more than a turn frees */

/* Clients; the test holds their ends of the connections. */
struct fixture {
	struct engine engine;
	struct family family;
	struct session *sessions[CLIENTS];
	int peer_fds[CLIENTS];
	int doorbell_fds[CLIENTS];
};

static struct fixture fixture;

static void create_client(struct fixture *f, unsigned i)
{
	f->sessions[i] = client_fixture_open(
		client_fixture_connect_device(&f->family, geteuid(), &f->peer_fds[i]),
		&f->doorbell_fds[i], NULL);
}

static void create_pds(struct session *session, unsigned count)
{
	struct session_pd *pd;

	while (count-- > 0)
		assert_int_equal(session_make_pd(session, NULL, &pd), 0);
}

static int set_up(void **state)
{
	struct fixture *f = &fixture;
	memset(f, 0, sizeof(*f));
	family_init(&f->family, &f->engine, NULL);
	for (unsigned i = 0; i < CLIENTS; i++)
		create_client(f, i);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	family_fini(&f->family);
	for (unsigned i = 0; i < CLIENTS; i++) {
		close(f->peer_fds[i]);
		close(f->doorbell_fds[i]);
	}
	return 0;
}

static bool is_hung_up(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};

	return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

/* Cut off at once, freed by and by, and nothing is left. */
static void test_freed_by_and_by(void **state)
{
	struct fixture *f = *state;
	unsigned turns = 0;

	for (unsigned i = 0; i < CLIENTS; i++)
		create_pds(f->sessions[i], PDS);
	for (unsigned i = 0; i < CLIENTS; i++)
		served_peer_end(&f->sessions[i]->connection->peer);
	while (f->family.device.connections.peers.count > 0) {
		const uint64_t before =
			f->family.device.connections.peers.quotas.usage[RESOURCE_PD];

		assert_true(family_have_work(&f->family));
		family_reap(&f->family);
		for (unsigned i = 0; i < CLIENTS; i++)
			assert_true(is_hung_up(f->peer_fds[i]));
		assert_int_equal(f->family.gone_count, CLIENTS); /* told at once */
		assert_true(before - f->family.device.connections.peers.quotas.usage[RESOURCE_PD] <=
			    LIMIT_TURN_TEARDOWN);
		turns++;
	}
	assert_true(turns >= CLIENTS * PDS / LIMIT_TURN_TEARDOWN);
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert_int_equal(f->family.device.connections.peers.quotas.usage[i], 0);
	assert_int_equal(f->family.device.sessions.session_count, 0);
	assert_false(family_have_work(&f->family));
}

/* Objects left over can be told apart from live ones, and do nothing any more. */
static void test_what_is_left_is_dead(void **state)
{
	const uint64_t one = 1;
	struct fixture *f = *state;
	struct session_pd *pd;

	create_pds(f->sessions[0], PDS);
	served_peer_end(&f->sessions[0]->connection->peer);
	family_reap(&f->family);
	pd = handle_table_at(&f->sessions[0]->pds, PDS - 1);
	assert_non_null(pd);
	assert_true(pd->pd.is_closed);
	/*
	 * The session's doorbell wakes no thread, and the session is neither notified nor looked
	 * at.
	 */
	assert_int_equal(write(f->doorbell_fds[0], &one, sizeof(one)), sizeof(one));
	family_serve(&f->family);
	assert_false(list_is_linked(&f->sessions[0]->look_node));
	session_turn_take_work(&f->family.device.sessions);
	session_turn_deliver(&f->family.device.sessions, false);
	assert_false(list_is_linked(&f->sessions[0]->look_node));
}

/* A connection that says nothing is ended in time, and one that said OPEN_DEVICE is not. */
static void test_silent_connections_end(void **state)
{
	struct fixture *f = *state;
	struct connection_set *set = &f->family.device.connections;
	int peer_fd;

	f->family.device.sessions.now_ns = 1000;
	assert_int_equal(served_peer_deadline_ns(&set->peers.silent), UINT64_MAX);
	client_fixture_connect_device(&f->family, geteuid(), &peer_fd);
	f->family.device.sessions.now_ns = served_peer_deadline_ns(&set->peers.silent) - 1;
	family_reap(&f->family);
	assert_int_equal(set->peers.count, CLIENTS + 1);
	f->family.device.sessions.now_ns++;
	family_reap(&f->family);
	assert_int_equal(set->peers.count, CLIENTS);
	assert_int_equal(served_peer_deadline_ns(&set->peers.silent), UINT64_MAX);
	assert_true(is_hung_up(peer_fd));
	assert_int_equal(f->family.gone_count, 1);
	assert_int_equal(f->family.gone_client_id, f->family.last_client_id);
	close(peer_fd);
}

/* The control plane names the clients that are to end. */
static void test_ends_by_number(void **state)
{
	struct fixture *f = *state;
	struct connection_set *set = &f->family.device.connections;
	const uint32_t client_id = f->sessions[1]->connection->peer.client_id;

	device_connection_end_client(set, f->family.last_client_id + 1);
	family_reap(&f->family);
	assert_int_equal(set->peers.count, CLIENTS);
	device_connection_end_client(set, client_id);
	family_reap(&f->family);
	assert_true(is_hung_up(f->peer_fds[1]));
	assert_false(is_hung_up(f->peer_fds[0]));
	assert_int_equal(f->family.gone_client_id, client_id);
}

static int open_xrcd(struct session *session, int file, uint32_t flags)
{
	static struct ctl_call call;
	struct rnic_ctl_open_xrcd *request = (void *)call.request.payload;

	call.session = session;
	*request = (struct rnic_ctl_open_xrcd){.flags = RNIC_XRCD_FILE | flags};
	call.fds[0] = dup(file);
	call.fd_count = 1;
	return ctl_open_xrcd(&call);
}

/* A domain is gone with the last client that opened it, although not all of that is freed. */
static void test_domains_end_with_their_clients(void **state)
{
	const int file = memfd_create("domain", MFD_CLOEXEC);
	struct fixture *f = *state;
	struct session *other;

	assert_true(file >= 0);
	assert_int_equal(open_xrcd(f->sessions[0], file, RNIC_XRCD_CREATE), 0);
	other = client_fixture_open(client_fixture_connect_device(&f->family, geteuid(), NULL),
				    NULL, NULL);
	create_pds(other, PDS);
	served_peer_end(&other->connection->peer); /* is freed before */
	served_peer_end(&f->sessions[0]->connection->peer);
	family_reap(&f->family);
	assert_int_equal(f->family.device.connections.peers.quotas.usage[RESOURCE_XRCD], 1);
	assert_int_equal(open_xrcd(f->sessions[1], file, RNIC_XRCD_CREATE | RNIC_XRCD_EXCLUSIVE),
			 0);
	while (f->family.device.connections.peers.count >= CLIENTS)
		family_reap(&f->family);
	assert_int_equal(open_xrcd(f->sessions[1], file, 0), 0);
	close(file);
}

/* Where the stage of that name comes. */
static unsigned stage_of(const char *name)
{
	const struct teardown_stage *stage = session_teardown_stages;

	while (strcmp(stage->name, name) != 0)
		assert_non_null((++stage)->name);
	return (unsigned)(stage - session_teardown_stages);
}

/* No stage leaves a reference to an object that is freed. */
static void test_users_end_before_what_they_use(void **state)
{
	static const struct {
		const char *user;
		const char *used;
	} references[] = {
		{"queue pairs", "queue regions"},
		{"queue pairs", "shared receive queues"},
		{"queue pairs", "XRC domains"},
		{"queue pairs", "completion queues"},
		{"queue pairs", "protection domains"},
		{"shared receive queues", "XRC domains"},
		{"shared receive queues", "completion queues"},
		{"shared receive queues", "protection domains"},
		{"memory windows", "queue pairs"},
		{"memory windows", "memory regions"},
		{"memory windows", "protection domains"},
		{"memory regions", "protection domains"},
		{"address handles", "protection domains"},
		{"completion queues", "channels"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(references); i++)
		assert_true(stage_of(references[i].user) < stage_of(references[i].used));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_freed_by_and_by),
		TEST(test_what_is_left_is_dead),
		TEST(test_silent_connections_end),
		TEST(test_ends_by_number),
		TEST(test_domains_end_with_their_clients),
		TEST(test_users_end_before_what_they_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
