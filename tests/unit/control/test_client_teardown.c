/* SPDX-License-Identifier: MIT */
#include "control/client_teardown.h"
#include "common/client_limits.h"

#include "client_fixture.h"

#include "base/prng.h"
#include "engine/engine.h"
#include "cm_ids/cm_identifier.h"
#include "cm_ids/ctl_cm_handlers.h"
#include "device/objects/object_requests.h"
#include "device/objects/session_objects.h"
#include "control/ctl_server.h"
#include "device/queues/session_queues.h"
#include "device/session/session_set.h"
#include "device/session_turn.h"
#include "unit_test.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 2
#define PDS	(LIMIT_TURN_TEARDOWN * 3 / 2) /* more than a turn frees */

/* Clients; the test holds their ends of the connections. */
struct fixture {
	struct engine engine;
	struct cm *cm;
	struct prng random; /* of the CM */
	struct halves halves;
	struct ctl_server server;
	struct session *sessions[CLIENTS];
	int peer_fds[CLIENTS];
	int doorbell_fds[CLIENTS];
};

static struct fixture fixture;

static void create_client(struct fixture *f, unsigned i)
{
	f->sessions[i] =
		client_fixture_greet(client_fixture_connect(&f->halves, geteuid(), &f->peer_fds[i]),
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
	const struct cm_config cm_config = {
		.random = prng_source(&f->random),
		.max_connections = 1,
		.max_bindings = 1,
	};

	memset(f, 0, sizeof(*f));
	prng_init(&f->random, 0);
	f->cm = cm_create(&cm_config);
	assert_non_null(f->cm);
	halves_init(&f->halves, &f->engine, f->cm);
	f->server.set = &f->halves.clients;
	for (unsigned i = 0; i < CLIENTS; i++)
		create_client(f, i);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	halves_fini(&f->halves);
	cm_free(f->cm);
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
		client_end(f->sessions[i]->client);
	while (f->halves.clients.client_count > 0) {
		const uint64_t before = f->halves.clients.quotas.usage[RESOURCE_PD];

		assert_true(halves_have_work(&f->halves));
		halves_reap(&f->halves);
		for (unsigned i = 0; i < CLIENTS; i++)
			assert_true(is_hung_up(f->peer_fds[i]));
		assert_true(before - f->halves.clients.quotas.usage[RESOURCE_PD] <=
			    LIMIT_TURN_TEARDOWN);
		turns++;
	}
	assert_true(turns >= CLIENTS * PDS / LIMIT_TURN_TEARDOWN);
	for (unsigned i = 0; i < RESOURCE_COUNT; i++)
		assert_int_equal(f->halves.clients.quotas.usage[i], 0);
	assert_int_equal(f->halves.device.sessions.session_count, 0);
	assert_false(halves_have_work(&f->halves));
}

/* Objects left over can be told apart from live ones, and do nothing any more. */
static void test_what_is_left_is_dead(void **state)
{
	const uint64_t one = 1;
	struct fixture *f = *state;
	struct session_pd *pd;

	create_pds(f->sessions[0], PDS);
	client_end(f->sessions[0]->client);
	halves_reap(&f->halves);
	pd = handle_table_at(&f->sessions[0]->pds, PDS - 1);
	assert_non_null(pd);
	assert_true(pd->pd.is_closed);
	/*
	 * The session's doorbell wakes no thread, and the session is neither notified nor looked
	 * at.
	 */
	assert_int_equal(write(f->doorbell_fds[0], &one, sizeof(one)), sizeof(one));
	ctl_server_poll(&f->server);
	assert_false(list_is_linked(&f->sessions[0]->look_node));
	f->halves.device.sessions.is_bulk = true;
	session_turn_take_work(&f->halves.device.sessions);
	session_turn_deliver(&f->halves.device.sessions, false);
	assert_int_equal(session_status(f->sessions[1])->is_bulk.value, 1);
}

/* The end of the daemon waits for nothing. */
static void test_end_of_the_set(void **state)
{
	struct fixture *f = *state;

	create_pds(f->sessions[0], PDS);
	client_end(f->sessions[0]->client);
	halves_reap(&f->halves);
	assert_int_equal(f->halves.clients.client_count, CLIENTS);
}

/* However fast clients end: no client is left to notify of traffic. */
static void test_nobody_left_to_tell(void **state)
{
	struct fixture *f = *state;

	f->halves.device.sessions.is_bulk = true;
	session_turn_deliver(&f->halves.device.sessions, false);
	assert_int_equal(f->halves.device.sessions.bulk_notify_pending, 0);
	f->halves.device.sessions.bulk_notify_pending = f->halves.device.sessions.session_count;
	for (unsigned i = 0; i < CLIENTS; i++) {
		client_end(f->sessions[i]->client);
		while (f->halves.clients.client_count == CLIENTS - i)
			halves_reap(&f->halves);
		assert_int_equal(f->halves.device.sessions.bulk_notify_pending,
				 f->halves.device.sessions.session_count);
	}
	session_turn_deliver(&f->halves.device.sessions, false);
	assert_true(list_is_empty(&f->halves.device.sessions.sessions));
}

/* Session `i` asks for a PD, in a turn of its own. */
static void ask_for_pd(struct fixture *f, unsigned i)
{
	const struct rnic_ctl_header request = {
		.magic = RNIC_CTL_MAGIC,
		.version = RNIC_CTL_VERSION_MAX,
		.operation = RNIC_CTL_ALLOC_PD,
		.bytes = sizeof(request),
	};

	assert_int_equal(send(f->peer_fds[i], &request, sizeof(request), 0), sizeof(request));
	ctl_server_poll(&f->server);
}

/* The status of the reply; 1: there is none. */
static int reply_status(const struct fixture *f, unsigned i)
{
	static uint8_t message[RNIC_CTL_MESSAGE_BYTES];
	const struct rnic_ctl_header *reply = (const void *)message;

	return recv(f->peer_fds[i], message, sizeof(message), MSG_DONTWAIT) > 0 ? reply->status : 1;
}

/* A restarted client gets its own objects back, but waits for no live client. */
static void test_what_is_freed_is_waited_for(void **state)
{
	struct fixture *f = *state;
	unsigned turns = 0;
	int status;

	create_pds(f->sessions[0], PDS);
	f->halves.clients.quotas.limits[RESOURCE_PD] = PDS;
	ask_for_pd(f, 1);
	assert_int_equal(reply_status(f, 1), -ENOSPC);

	client_end(f->sessions[0]->client);
	ask_for_pd(f, 1);
	while ((status = reply_status(f, 1)) == 1) {
		assert_true(turns++ <= PDS);
		assert_true(halves_have_work(&f->halves) && ctl_server_has_resumes(&f->server));
		halves_reap(&f->halves);
		ctl_server_poll(&f->server);
	}
	assert_int_equal(status, 0);
	assert_true(turns > 0);
}

/* Nor for clients that end later, of which there may always be more. */
static void test_who_ends_later_is_not_waited_for(void **state)
{
	struct fixture *f = *state;

	f->halves.clients.quotas.limits[RESOURCE_PD] = 0;
	client_end(f->sessions[0]->client);
	ask_for_pd(f, 1);
	assert_int_equal(reply_status(f, 1), 1);
	f->halves.clients.ended_count++;
	halves_reap(&f->halves);
	assert_int_equal(f->halves.clients.client_count, 1);
	ctl_server_poll(&f->server);
	assert_int_equal(reply_status(f, 1), -ENOSPC);
	f->halves.clients.ended_count--;
}

/* A waiting client may end, and so may the daemon. */
static void test_who_waits_may_end(void **state)
{
	struct fixture *f = *state;

	f->halves.clients.quotas.limits[RESOURCE_PD] = 0;
	client_end(f->sessions[0]->client);
	ask_for_pd(f, 1);
	assert_true(ctl_server_has_resumes(&f->server));
	client_end(f->sessions[1]->client);
	while (f->halves.clients.client_count > 0)
		halves_reap(&f->halves);
	assert_false(ctl_server_has_resumes(&f->server));
}

static void create_identifiers(struct client *client, unsigned count)
{
	static struct ctl_call call;
	const struct rnic_ctl_cm_channel_reply *reply = (void *)call.reply.payload;
	struct session_cm_channel *channel;
	struct session_cm_id *id;

	call.client = client;
	assert_int_equal(ctl_cm_create_channel(&call), 0);
	close(call.reply_fds[0]);
	channel = handle_table_get(&client->cm_channels, reply->channel);
	while (count-- > 0)
		assert_int_equal(cm_identifier_create(client, channel, RNIC_PORT_SPACE_TCP,
						      RNIC_QP_TYPE_RC, &id),
				 0);
}

/*
 * Connections and ports of a client wait for no other client's objects: peers and successors want
 * them.
 */
static void test_connections_end_first(void **state)
{
	struct fixture *f = *state;

	create_pds(f->sessions[0], 2 * LIMIT_TURN_TEARDOWN);
	client_end(f->sessions[0]->client);
	halves_reap(&f->halves);
	create_identifiers(f->sessions[1]->client, LIMIT_TURN_TEARDOWN / 2);
	client_end(f->sessions[1]->client);
	halves_reap(&f->halves);
	assert_int_equal(f->halves.clients.quotas.usage[RESOURCE_CM_ID], 0);
	assert_true(f->halves.clients.quotas.usage[RESOURCE_PD] > 0);
	while (f->halves.clients.client_count > 0)
		halves_reap(&f->halves);
	assert_false(halves_have_work(&f->halves));
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
	static struct ctl_call call;
	const int file = memfd_create("domain", MFD_CLOEXEC);
	struct fixture *f = *state;

	assert_true(file >= 0);
	assert_int_equal(open_xrcd(f->sessions[0], file, RNIC_XRCD_CREATE), 0);
	/* These are freed before domains. */
	call.client = f->sessions[0]->client;
	for (unsigned i = 0; i < 128; i++) {
		assert_int_equal(ctl_cm_create_channel(&call), 0);
		close(call.reply_fds[0]);
	}
	client_end(f->sessions[0]->client);
	halves_reap(&f->halves);
	assert_int_equal(f->halves.clients.quotas.usage[RESOURCE_XRCD], 1);
	assert_int_equal(open_xrcd(f->sessions[1], file, RNIC_XRCD_CREATE | RNIC_XRCD_EXCLUSIVE),
			 0);
	while (f->halves.clients.client_count == CLIENTS)
		halves_reap(&f->halves);
	assert_int_equal(open_xrcd(f->sessions[1], file, 0), 0);
	close(file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_freed_by_and_by),
		TEST(test_what_is_left_is_dead),
		TEST(test_end_of_the_set),
		TEST(test_connections_end_first),
		TEST(test_nobody_left_to_tell),
		TEST(test_what_is_freed_is_waited_for),
		TEST(test_who_ends_later_is_not_waited_for),
		TEST(test_who_waits_may_end),
		TEST(test_domains_end_with_their_clients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
