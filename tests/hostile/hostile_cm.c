/* SPDX-License-Identifier: MIT */
/*
 * Clients that lie to the connection manager: about identifiers that they were not told of yet, and
 * about fetching what happens. After each the daemon owns nothing of them and serves the next.
 *
 * usage: hostile_cm RNICD
 */
#include "hostile_link.h"

#include "ctl/ctl_cm.h"
#include "unit_test.h"

#include <poll.h>
#include <unistd.h>

#define PORT	  7471
#define WAIT_MS	  20000
#define ASKED_MAX 1000000

struct cm_client {
	struct hostile_client base;
	struct rnic_handle channel;
	int channel_fd;
};

static void open_client(struct cm_client *client)
{
	struct hostile_reply reply;

	hostile_client_open(&client->base, &rnicd, 1);
	hostile_must(client->base.fd, RNIC_CTL_CM_CREATE_CHANNEL, NULL, 0, &reply);
	memcpy(&client->channel, reply.payload, sizeof(client->channel));
	client->channel_fd = reply.fds[0];
}

static void close_client(struct cm_client *client)
{
	close(client->channel_fd);
	hostile_client_close(&client->base);
}

static int32_t ask(const struct cm_client *client, uint16_t operation, const void *request,
		   size_t bytes)
{
	struct hostile_reply reply;

	assert_true(hostile_call(client->base.fd, operation, request, bytes, &reply));
	return reply.header.status;
}

static struct rnic_handle create_id(const struct cm_client *client, uint32_t port_space,
				    uint32_t qp_type)
{
	const struct rnic_ctl_cm_create_id request = {client->channel, port_space, qp_type};
	struct rnic_ctl_cm_id_reply answer;
	struct hostile_reply reply;

	hostile_must(client->base.fd, RNIC_CTL_CM_CREATE_ID, &request, sizeof(request), &reply);
	memcpy(&answer, reply.payload, sizeof(answer));
	return answer.id;
}

static int32_t destroy_id(const struct cm_client *client, struct rnic_handle id)
{
	return ask(client, RNIC_CTL_CM_DESTROY_ID, &id, sizeof(id));
}

static struct rnic_endpoint own_address(const struct cm_client *client)
{
	struct rnic_ctl_gids_reply gids;
	struct hostile_reply reply;

	hostile_must(client->base.fd, RNIC_CTL_QUERY_GIDS, NULL, 0, &reply);
	memcpy(&gids, reply.payload, sizeof(gids));
	return (struct rnic_endpoint){gids.entries[0].gid, 0, PORT, 4, 0};
}

static struct rnic_handle make_listener(const struct cm_client *client)
{
	struct rnic_handle id = create_id(client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
	const struct rnic_ctl_cm_bind bind = {.id = id, .local = own_address(client)};
	const struct rnic_ctl_cm_listen listen = {.id = id};

	assert_int_equal(ask(client, RNIC_CTL_CM_BIND, &bind, sizeof(bind)), 0);
	assert_int_equal(ask(client, RNIC_CTL_CM_LISTEN, &listen, sizeof(listen)), 0);
	return id;
}

static int32_t resolve(const struct cm_client *client, struct rnic_handle id)
{
	const struct rnic_ctl_cm_resolve_address request = {
		.id = id,
		.destination = own_address(client),
	};

	return ask(client, RNIC_CTL_CM_RESOLVE_ADDRESS, &request, sizeof(request));
}

/* An identifier that asks the listener for a connection. */
static void connect_to_listener(const struct cm_client *client)
{
	struct rnic_handle id = create_id(client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
	const struct rnic_ctl_cm_resolve_route route = {.id = id};
	const struct rnic_ctl_cm_connect connect = {.id = id, .parameters = {.qpn = 17}};

	assert_int_equal(resolve(client, id), 0);
	assert_int_equal(ask(client, RNIC_CTL_CM_RESOLVE_ROUTE, &route, sizeof(route)), 0);
	assert_int_equal(ask(client, RNIC_CTL_CM_CONNECT, &connect, sizeof(connect)), 0);
}

/* Waits for an event that no client fetched. */
static void wait_for_event(const struct cm_client *client)
{
	struct pollfd event = {.fd = client->channel_fd, .events = POLLIN};

	assert_int_equal(poll(&event, 1, WAIT_MS), 1);
}

/*
 * A listener with a request that it did not fetch, of which `spare` is where the new identifier is:
 * a handle that was free last.
 */
static struct rnic_handle listener_with_request(struct cm_client *server, struct cm_client *peer,
						struct rnic_handle *spare)
{
	struct rnic_handle listener;

	open_client(server);
	open_client(peer);
	*spare = create_id(server, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
	listener = make_listener(server);
	assert_int_equal(destroy_id(server, *spare), 0);
	spare->generation++;
	connect_to_listener(peer);
	wait_for_event(server);
	return listener;
}

static void expect_service(void)
{
	struct cm_client client;

	hostile_expect_owned(&rnicd, 0, 0);
	open_client(&client);
	make_listener(&client);
	close_client(&client);
	hostile_expect_owned(&rnicd, 0, 0);
}

/* The identifier of the request lies before its listener, and both end with the client. */
static void test_end_with_a_request(void **state)
{
	struct cm_client server, peer;
	struct rnic_handle spare;

	(void)state;
	listener_with_request(&server, &peer, &spare);
	close_client(&server);
	close_client(&peer);
	expect_service();
}

/*
 * A client may guess an identifier that it was not told of yet, and destroy it before the listener
 * that has it.
 */
static void test_guessed_identifier(void **state)
{
	struct cm_client server, peer;
	struct rnic_handle listener, spare;
	struct hostile_reply reply;

	(void)state;
	listener = listener_with_request(&server, &peer, &spare);
	assert_int_equal(destroy_id(&server, spare), 0);
	assert_true(hostile_call(server.base.fd, RNIC_CTL_CM_GET_EVENT, &server.channel,
				 sizeof(server.channel), &reply));
	assert_int_equal(reply.header.status, -EAGAIN);
	assert_int_equal(destroy_id(&server, listener), 0);
	close_client(&server);
	close_client(&peer);
	expect_service();
}

/* Events that no client fetches are bounded, whichever requests cause them. */
static void test_events_are_bounded(void **state)
{
	struct cm_client client;
	struct rnic_handle id;
	uint32_t asked = 0;
	int32_t status;

	(void)state;
	open_client(&client);
	id = create_id(&client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
	while ((status = resolve(&client, id)) == 0)
		assert_true(++asked < ASKED_MAX);
	assert_int_equal(status, -ENOSPC);
	/* Room comes with each that is fetched. */
	assert_int_equal(
		ask(&client, RNIC_CTL_CM_GET_EVENT, &client.channel, sizeof(client.channel)), 0);
	assert_int_equal(resolve(&client, id), 0);
	close_client(&client);
	expect_service();
}

/* Nor do many identifiers help. */
static void test_events_of_a_client_are_bounded(void **state)
{
	struct cm_client client;
	uint32_t asked = 0;

	(void)state;
	open_client(&client);
	for (;;) {
		struct rnic_handle id = create_id(&client, RNIC_PORT_SPACE_TCP, RNIC_QP_TYPE_RC);
		uint32_t before = asked;

		while (resolve(&client, id) == 0)
			assert_true(++asked < ASKED_MAX);
		if (asked == before)
			break;
	}
	close_client(&client);
	expect_service();
}

/* The device has no IPv6 address. -ENODEV would say that the daemon is gone. */
static void test_joining_a_group_of_another_family(void **state)
{
	const struct rnic_endpoint any = {.family = 4, .address.bytes = {[10] = 0xff, [11] = 0xff}};
	const struct rnic_endpoint group = {.family = 6, .address.bytes = {0xff, 0x12, [15] = 9}};
	struct rnic_ctl_cm_multicast join = {.group = group};
	struct rnic_ctl_cm_bind bind = {.local = any};
	struct cm_client client;

	(void)state;
	open_client(&client);
	join.id = bind.id = create_id(&client, RNIC_PORT_SPACE_UDP, RNIC_QP_TYPE_UD);
	assert_int_equal(ask(&client, RNIC_CTL_CM_BIND, &bind, sizeof(bind)), 0);
	assert_int_equal(ask(&client, RNIC_CTL_CM_JOIN_MCAST, &join, sizeof(join)), -EADDRNOTAVAIL);
	close_client(&client);
	expect_service();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_with_a_request),
		cmocka_unit_test(test_guessed_identifier),
		cmocka_unit_test(test_events_are_bounded),
		cmocka_unit_test(test_events_of_a_client_are_bounded),
		cmocka_unit_test(test_joining_a_group_of_another_family),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}
