/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/client_teardown.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/control/cm/cm.h"
#include "daemon/control/cm_ids/cm_identifier.h"
#include "daemon/control/cm_ids/ctl_cm_handlers.h"
#include "daemon/control/supervisor/device_child.h"
#include "daemon/shared/served_peer/ctl_call.h"
#include "lib/nic/base/prng.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 2
#define IDS	(LIMIT_TURN_TEARDOWN * 3 / 2) /* more than a turn frees */

/* Clients of the control plane; the test holds their ends of the connections. */
struct fixture {
	struct cm *cm;
	struct prng random; /* of the CM */
	struct family family;
	struct client *clients[CLIENTS];
	int peer_fds[CLIENTS];
};

static struct fixture fixture;

static int set_up(void **state)
{
	struct fixture *f = &fixture;
	const struct cm_config cm_config = {
		.random = prng_source(&f->random),
		.max_connections = 1,
		.max_bindings = 8,
	};

	memset(f, 0, sizeof(*f));
	prng_init(&f->random, 0);
	f->cm = cm_create(&cm_config);
	assert_non_null(f->cm);
	family_init(&f->family, NULL, f->cm);
	for (unsigned i = 0; i < CLIENTS; i++) {
		f->clients[i] = client_fixture_connect(&f->family, geteuid(), &f->peer_fds[i]);
		f->clients[i]->has_greeted = true;
		list_remove(&f->clients[i]->peer.silent_node);
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	family_fini(&f->family);
	cm_free(f->cm);
	for (unsigned i = 0; i < CLIENTS; i++)
		close(f->peer_fds[i]);
	return 0;
}

static bool is_hung_up(int fd)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};

	return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

static void create_channels(struct client *client, unsigned count)
{
	static struct ctl_call call;

	call.client = client;
	while (count-- > 0) {
		assert_int_equal(ctl_cm_create_channel(&call), 0);
		close(call.reply_fds[0]);
	}
}

static void create_identifiers(struct client *client, unsigned count)
{
	static struct ctl_call call;
	const struct rnic_ctl_cm_channel_reply *reply = (void *)call.reply.payload;
	struct client_cm_channel *channel;
	struct client_cm_id *id;

	call.client = client;
	assert_int_equal(ctl_cm_create_channel(&call), 0);
	close(call.reply_fds[0]);
	channel = handle_table_get(&client->cm_channels, reply->channel);
	while (count-- > 0)
		assert_int_equal(cm_identifier_create(client, channel, RNIC_PORT_SPACE_TCP,
						      RNIC_QP_TYPE_RC, &id),
				 0);
}

/* Cut off at once, freed by and by, and nothing is left. */
static void test_freed_by_and_by(void **state)
{
	struct fixture *f = *state;
	unsigned turns = 0;

	for (unsigned i = 0; i < CLIENTS; i++) {
		create_identifiers(f->clients[i], IDS);
		served_peer_end(&f->clients[i]->peer);
	}
	while (f->family.clients.peers.count > 0) {
		const uint64_t before = f->family.clients.peers.quotas.usage[RESOURCE_CM_ID];

		assert_true(family_have_work(&f->family));
		family_reap(&f->family);
		for (unsigned i = 0; i < CLIENTS; i++)
			assert_true(is_hung_up(f->peer_fds[i]));
		assert_true(before - f->family.clients.peers.quotas.usage[RESOURCE_CM_ID] <=
			    LIMIT_TURN_TEARDOWN);
		turns++;
	}
	assert_true(turns >= CLIENTS * IDS / LIMIT_TURN_TEARDOWN);
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert_int_equal(f->family.clients.peers.quotas.usage[i], 0);
	assert_false(family_have_work(&f->family));
}

/* A program that only waits for the connection manager learns that its device has ended. */
static void test_ends_with_its_device_process(void **state)
{
	struct device_common common = {.now_ns = 1};
	struct device_child dead = {
		.common = &common, .state = DEVICE_CHILD_ENDING, .references = 1};
	struct device_child alive = {
		.common = &common, .state = DEVICE_CHILD_SERVING, .references = 1};
	struct fixture *f = *state;

	f->clients[0]->device = &dead;
	f->clients[1]->device = &alive;
	client_teardown_break_orphans(&f->family.clients);
	family_reap(&f->family);
	assert_true(is_hung_up(f->peer_fds[0]));
	assert_false(is_hung_up(f->peer_fds[1]));
	assert_int_equal(dead.references, 0);
	served_peer_end(&f->clients[1]->peer);
	family_reap(&f->family);
	assert_int_equal(alive.references, 0);
}

/* The device process is to end the client, too: a thread may wait for its events alone. */
static void test_the_device_process_is_told(void **state)
{
	struct device_common common = {.now_ns = 1};
	struct device_child child = {
		.common = &common, .state = DEVICE_CHILD_SERVING, .references = 1};
	struct fixture *f = *state;
	struct ledger_entry *ended;

	assert_int_equal(client_ledger_add(&child.held, f->clients[0]->peer.client_id + 1), 0);
	assert_int_equal(client_ledger_add(&child.held, f->clients[0]->peer.client_id), 0);
	f->clients[0]->device = &child;
	served_peer_end(&f->clients[0]->peer);
	family_reap(&f->family);
	ended = client_ledger_next_ended(&child.held);
	assert_non_null(ended);
	assert_int_equal(ended->client_id, child.held.entries[1].client_id);
	assert_int_equal(child.held.ended_count, 1);
	client_ledger_clear(&child.held);
}

static uint32_t connect_once_more(struct fixture *f)
{
	return client_fixture_connect(&f->family, geteuid(), NULL)->peer.client_id;
}

/* When the numbers wrap, no client gets one that a client or a device process has. */
static void test_numbers_wrap(void **state)
{
	struct fixture *f = *state;
	struct device_child child = {.references = 1};

	assert_int_equal(f->clients[0]->peer.client_id, 1);
	assert_int_equal(f->clients[1]->peer.client_id, 2);
	assert_int_equal(client_ledger_add(&child.held, 3), 0);
	list_add_tail(&f->family.devices.processes, &child.node);
	f->family.clients.next_client_id = UINT32_MAX;
	assert_int_equal(connect_once_more(f), UINT32_MAX);
	assert_int_equal(connect_once_more(f), 4);
	assert_int_equal(connect_once_more(f), 5);
	list_remove(&child.node);
	client_ledger_clear(&child.held);
}

/*
 * Connections and ports of a client wait for no other client's objects: peers and successors want
 * them.
 */
static void test_connections_end_first(void **state)
{
	struct fixture *f = *state;

	create_channels(f->clients[0], 128);
	served_peer_end(&f->clients[0]->peer);
	create_identifiers(f->clients[1], LIMIT_TURN_TEARDOWN / 2);
	served_peer_end(&f->clients[1]->peer);
	family_reap(&f->family);
	assert_int_equal(f->family.clients.peers.quotas.usage[RESOURCE_CM_ID], 0);
	assert_true(f->family.clients.peers.quotas.usage[RESOURCE_CM_CHANNEL] > 0);
	while (f->family.clients.peers.count > 0)
		family_reap(&f->family);
	assert_false(family_have_work(&f->family));
}

/* Makes an identifier of the client and binds it to port 7471 of all addresses. */
static int bind_port(struct client *client, bool listens)
{
	static struct ctl_call call;
	struct rnic_ctl_cm_bind *bind = (void *)call.request.payload;
	struct rnic_ctl_cm_listen *listen = (void *)call.request.payload;
	const struct rnic_ctl_cm_channel_reply *reply = (void *)call.reply.payload;
	struct client_cm_id *id;
	int result;

	call.client = client;
	assert_int_equal(ctl_cm_create_channel(&call), 0);
	close(call.reply_fds[0]);
	assert_int_equal(
		cm_identifier_create(client, handle_table_get(&client->cm_channels, reply->channel),
				     RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC, &id),
		0);
	id->may_reuse = listens;
	*bind = (struct rnic_ctl_cm_bind){.id = id->handle, .local = {.family = 6, .port = 7471}};
	call.request.header.operation = RNIC_CTL_CM_BIND;
	result = ctl_cm_bind(&call);
	if (result != 0 || !listens)
		return result;
	*listen = (struct rnic_ctl_cm_listen){.id = id->handle, .backlog = 1};
	call.request.header.operation = RNIC_CTL_CM_LISTEN;
	return ctl_cm_listen(&call);
}

/* A program takes a port from one that is dead, and from no other, as a holder or a listener. */
static void test_who_has_gone_holds_no_port(void **state)
{
	static const uint8_t request[sizeof(struct rnic_ctl_header)];
	struct fixture *f = *state;

	for (int listens = 0; listens < 2; listens++) {
		int peer_fd;

		f->clients[0] = client_fixture_connect(&f->family, 1, &peer_fd);
		assert_int_equal(bind_port(f->clients[0], listens), 0);
		assert_int_equal(bind_port(f->clients[1], listens), -EADDRINUSE);
		assert_false(f->clients[0]->peer.requests.is_broken);
		/* It dies with a request under way. */
		assert_int_equal(send(peer_fd, request, sizeof(request), 0), sizeof(request));
		close(peer_fd);
		assert_int_equal(bind_port(f->clients[1], listens), -EINPROGRESS);
		family_reap(&f->family);
		assert_int_equal(bind_port(f->clients[1], listens), 0);
		served_peer_end(&f->clients[1]->peer);
		family_reap(&f->family);
		f->clients[1] = client_fixture_connect(&f->family, 1, NULL);
	}
}

/* A connection that says nothing is ended in time, and one that said HELLO is not. */
static void test_silent_connections_end(void **state)
{
	struct fixture *f = *state;
	struct client_set *set = &f->family.clients;
	int peer_fd;

	set->now_ns = 1000;
	assert_int_equal(client_next_hello_ns(set), UINT64_MAX);
	client_fixture_connect(&f->family, 1, &peer_fd);
	set->now_ns = client_next_hello_ns(set) - 1;
	family_reap(&f->family);
	assert_int_equal(set->peers.count, CLIENTS + 1);
	set->now_ns++;
	family_reap(&f->family);
	assert_int_equal(set->peers.count, CLIENTS);
	assert_int_equal(client_next_hello_ns(set), UINT64_MAX);
	assert_true(is_hung_up(peer_fd));
	close(peer_fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_freed_by_and_by),
		TEST(test_ends_with_its_device_process),
		TEST(test_connections_end_first),
		TEST(test_who_has_gone_holds_no_port),
		TEST(test_the_device_process_is_told),
		TEST(test_numbers_wrap),
		TEST(test_silent_connections_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
