/* SPDX-License-Identifier: MIT */
/* The search for a server and its conversation, with a connection manager and a transport that are
 * fakes.
 */
#include "lib/apis/rpc/client/client_link.h"

#include "lib/apis/dial/dial.h"
#include "lib/apis/rpc/client/client_link.h"
#include "tests/unit/unit_test.h"

#define MS  UINT64_C(1000000)
#define NOW (1000 * MS)

struct rnic_cm_id {
	void *user;
};

/* --- what is not there ------------------------------------------------------------------------ */

static struct {
	struct rnic_cm_event event; /* the next one, with `has_event` */
	bool has_event;
	int event_error; /* instead of there being none */
	uint32_t ids;
	uint32_t routes;
	uint16_t asked_port; /* of the address that was resolved last */
	int seek_error;
	struct transport_datagram datagram; /* the next one, with `has_datagram` */
	bool has_datagram;
	uint8_t sent[RPC_DATAGRAM_MAX_BYTES];
	struct rpc_packet last; /* that was sent */
	uint32_t sent_count;
} fake;

#define NOBODY_LISTENS 1
#define SERVER_QPN     7

static struct transport_route the_route;
static struct transport_route probe_route; /* beside it, when a probe asks for the server */

static int seek(struct transport *transport, struct rnic_cm_id *id, struct transport_route **route)
{
	if (fake.seek_error != 0) {
		rnic_cm_destroy_id(id);
		return fake.seek_error;
	}
	*route = fake.routes == 0 ? &the_route : &probe_route;
	id->user = *route;
	**route = (struct transport_route){.transport = transport, .user = id};
	fake.routes++;
	return 0;
}

static int found(struct transport_route *route, const struct rnic_cm_event *event)
{
	(void)route;
	(void)event;
	return 0;
}

static void close_route(struct transport_route *route)
{
	rnic_cm_destroy_id(route->user);
	fake.routes--;
}

static bool is_source(const struct transport_route *route,
		      const struct transport_datagram *datagram)
{
	return datagram->route == route;
}

static bool is_same_peer(const struct transport_route *route, const struct rnic_cm_event *event)
{
	assert_ptr_equal(route, &the_route);
	return event->parameters.qpn == SERVER_QPN;
}

static int receive(struct transport *transport, struct transport_datagram *datagram)
{
	(void)transport;
	if (!fake.has_datagram)
		return 0;
	fake.has_datagram = false;
	*datagram = fake.datagram;
	return 1;
}

static uint8_t *room(struct transport_route *route)
{
	(void)route;
	return fake.sent;
}

static int send_datagram(struct transport_route *route, uint32_t bytes, bool is_urgent)
{
	(void)is_urgent;
	(void)route;
	fake.sent_count++;
	assert_int_equal(rpc_packet_decode(&fake.last, fake.sent, bytes), bytes);
	return 0;
}

static const struct transport_calls calls = {
	.config = &rpc_conversation_defaults,
	.found_event = RNIC_CM_ESTABLISHED,
	.nobody_listens = NOBODY_LISTENS,
	.is_same_peer = is_same_peer,
	.seek = seek,
	.found = found,
	.close_route = close_route,
	.is_source = is_source,
	.receive = receive,
	.room = room,
	.send = send_datagram,
};

int ud_transport_open(struct ud_transport *transport, struct transport_device *device,
		      uint32_t receive_slots, uint32_t send_slots)
{
	(void)device;
	(void)receive_slots;
	(void)send_slots;
	transport->base.calls = &calls;
	return 0;
}

void ud_transport_close(struct ud_transport *transport)
{
	(void)transport;
}

int rc_transport_open(struct rc_transport *transport, struct transport_device *device,
		      uint32_t connections_max, uint32_t receive_slots, uint32_t send_slots)
{
	(void)transport;
	(void)device;
	(void)connections_max;
	(void)receive_slots;
	(void)send_slots;
	return -EOPNOTSUPP;
}

void rc_transport_close(struct rc_transport *transport)
{
	(void)transport;
}

int transport_device_open(struct transport_device *device, const char *socket_path)
{
	(void)device;
	(void)socket_path;
	return 0;
}

void transport_device_close(struct transport_device *device)
{
	(void)device;
}

void transport_random(void *bytes, size_t count)
{
	memset(bytes, 0x5a, count);
}

uint64_t client_orphans_next_deadline_ns(const struct client_orphans *orphans)
{
	(void)orphans;
	return RPC_NEVER;
}

void client_orphans_free(struct client_orphans *orphans)
{
	assert_null(orphans->oldest);
}

uint64_t rnic_dial_now_ns(void)
{
	return NOW;
}

/* Two addresses, which differ by their ports. */
int rnic_dial_resolve(const char *host, uint16_t port, uint32_t max_count,
		      struct rnic_endpoint *endpoints)
{
	if (strcmp(host, "nowhere") == 0)
		return -ENOENT;
	assert_true(max_count >= 2);
	endpoints[0] = (struct rnic_endpoint){.family = 4, .port = port};
	endpoints[1] = (struct rnic_endpoint){.family = 6, .port = (uint16_t)(port + 1)};
	return 2;
}

int rnic_cm_create_id(struct rnic_cm_channel *channel, enum rnic_port_space port_space,
		      enum rnic_qp_type qp_type, void *user, struct rnic_cm_id **id)
{
	(void)channel;
	(void)port_space;
	(void)qp_type;
	*id = calloc(1, sizeof(**id));
	assert_non_null(*id);
	(*id)->user = user;
	fake.ids++;
	return 0;
}

int rnic_cm_destroy_id(struct rnic_cm_id *id)
{
	fake.ids--;
	free(id);
	return 0;
}

void *rnic_cm_user(const struct rnic_cm_id *id)
{
	return id->user;
}

int rnic_cm_resolve_address(struct rnic_cm_id *id, const struct rnic_endpoint *source,
			    const struct rnic_endpoint *destination, uint32_t timeout_ms)
{
	(void)id;
	(void)source;
	(void)timeout_ms;
	fake.asked_port = destination->port;
	return 0;
}

int rnic_cm_resolve_route(struct rnic_cm_id *id, uint32_t timeout_ms)
{
	(void)id;
	(void)timeout_ms;
	return 0;
}

int rnic_cm_get_event(struct rnic_cm_channel *channel, struct rnic_cm_event *event)
{
	(void)channel;
	if (!fake.has_event)
		return fake.event_error != 0 ? fake.event_error : -EAGAIN;
	fake.has_event = false;
	*event = fake.event;
	return 0;
}

void rnic_cm_ack_event(const struct rnic_cm_event *event)
{
	(void)event;
}

/* --- scenarios -------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct client_link *link = calloc(1, sizeof(*link));

	assert_non_null(link);
	memset(&fake, 0, sizeof(fake));
	assert_int_equal(client_link_open(link, NULL, "somewhere", 100), 0);
	*state = link;
	return 0;
}

/* In every case, closing leaves nothing. */
static int tear_down(void **state)
{
	client_link_close(*state);
	assert_int_equal(fake.ids, 0);
	assert_int_equal(fake.routes, 0);
	free(*state);
	return 0;
}

static void turn(struct client_link *link, uint64_t now_ns)
{
	assert_int_equal(client_link_receive(link, true, now_ns), 0);
	client_link_transmit(link, now_ns);
}

static void say(struct client_link *link, enum rnic_cm_event_type type)
{
	fake.event = (struct rnic_cm_event){.type = type,
					    .id = link->id != NULL ? link->id : the_route.user};
	fake.has_event = true;
	link->device.has_cm_events = true;
	turn(link, NOW);
}

static void refuse(struct client_link *link, int status)
{
	say(link, RNIC_CM_ADDR_RESOLVED);
	say(link, RNIC_CM_ROUTE_RESOLVED);
	fake.event = (struct rnic_cm_event){
		.type = RNIC_CM_REJECTED, .status = status, .id = the_route.user};
	fake.has_event = true;
	link->device.has_cm_events = true;
	turn(link, NOW);
	assert_int_equal(fake.routes, 0);
}

/* The manager of the server's host answers the probe. */
static void answer_probe(struct client_link *link, struct rnic_cm_event last)
{
	const enum rnic_cm_event_type steps[] = {RNIC_CM_ADDR_RESOLVED, RNIC_CM_ROUTE_RESOLVED};

	for (size_t i = 0; i < 2; i++) {
		fake.event = (struct rnic_cm_event){.type = steps[i], .id = link->probe.id};
		fake.has_event = true;
		link->device.has_cm_events = true;
		turn(link, NOW);
	}
	last.id = probe_route.user;
	fake.event = last;
	fake.has_event = true;
	link->device.has_cm_events = true;
	turn(link, NOW);
	assert_int_equal(link->probe.state, PROBE_IDLE);
}

static void reach_conversation(struct client_link *link)
{
	turn(link, NOW);
	say(link, RNIC_CM_ADDR_RESOLVED);
	say(link, RNIC_CM_ROUTE_RESOLVED);
	say(link, RNIC_CM_ESTABLISHED);
	assert_int_equal(link->state, LINK_CONVERSATION);
}

static void answer(struct client_link *link, enum rpc_packet_kind kind)
{
	static uint8_t bytes[RPC_DATAGRAM_MAX_BYTES];
	uint8_t incarnation[RPC_IDENTITY_BYTES] = "server";
	struct rpc_packet packet = {
		.kind = kind,
		.to = link->conversation.self.connection,
		.from = 9,
		.cumulative = link->conversation.self.first_sequence,
		.credit = link->conversation.self.first_sequence + RPC_WINDOW_PACKETS,
		.payload = incarnation,
		.payload_bytes = kind == RPC_PACKET_OPENED ? RPC_IDENTITY_BYTES : 0,
		.code = kind == RPC_PACKET_CLOSE ? RPC_CLOSE_DONE : 0,
	};

	fake.datagram = (struct transport_datagram){
		.bytes = bytes,
		.length = (uint32_t)rpc_packet_encode(&packet, bytes, sizeof(bytes)),
		.route = link->route,
	};
	fake.has_datagram = true;
	turn(link, NOW);
}

static void test_no_such_host(void **state)
{
	struct client_link link;

	(void)state;
	assert_int_equal(client_link_open(&link, NULL, "nowhere", 100), -EHOSTUNREACH);
}

static void test_not_wanted(void **state)
{
	struct client_link *link = *state;

	assert_int_equal(client_link_receive(link, false, NOW), 0);
	assert_int_equal(link->state, LINK_IDLE);
	assert_int_equal(fake.ids, 0);
	assert_true(client_link_next_deadline_ns(link) == RPC_NEVER);
}

static void test_step_by_step(void **state)
{
	struct client_link *link = *state;

	turn(link, NOW);
	assert_int_equal(link->state, LINK_ADDRESS);
	say(link, RNIC_CM_ADDR_RESOLVED);
	assert_int_equal(link->state, LINK_ROUTE);
	say(link, RNIC_CM_ROUTE_RESOLVED);
	assert_int_equal(link->state, LINK_SERVICE);
	assert_int_equal(fake.sent_count, 0);
	say(link, RNIC_CM_ESTABLISHED);
	assert_int_equal(fake.last.kind, RPC_PACKET_OPEN);
	assert_false(client_link_is_open(link));
	answer(link, RPC_PACKET_OPENED);
	assert_true(client_link_is_open(link));
	assert_string_equal((char *)link->conversation.peer_identity, "server");
}

/* After a rest, and at the host's next address. */
static void test_failure_is_tried_again(void **state)
{
	struct client_link *link = *state;

	turn(link, NOW);
	assert_int_equal(fake.asked_port, 100);
	say(link, RNIC_CM_ADDR_ERROR);
	assert_int_equal(link->state, LINK_IDLE);
	assert_int_equal(fake.ids, 0);
	assert_true(client_link_next_deadline_ns(link) == NOW + 100 * MS);
	turn(link, NOW + 100 * MS);
	assert_int_equal(fake.asked_port, 101);
	fake.seek_error = -ENOSPC;
	say(link, RNIC_CM_ADDR_RESOLVED);
	say(link, RNIC_CM_ROUTE_RESOLVED);
	assert_int_equal(link->state, LINK_IDLE);
	turn(link, NOW + 200 * MS);
	assert_int_equal(fake.asked_port, 100);
}

static void test_gives_up(void **state)
{
	struct client_link *link = *state;

	turn(link, NOW);
	assert_false(client_link_gives_up(link, NOW + 5000 * MS - 1));
	assert_true(client_link_next_deadline_ns(link) == NOW + 5000 * MS);
	assert_true(client_link_gives_up(link, NOW + 5000 * MS));
	assert_int_equal(fake.ids, 0);
	assert_false(client_link_gives_up(link, NOW + 5000 * MS)); /* said once */
}

static void test_server_closes(void **state)
{
	struct client_link *link = *state;

	reach_conversation(link);
	answer(link, RPC_PACKET_OPENED);
	answer(link, RPC_PACKET_CLOSE);
	assert_int_equal(link->conversation.state, RPC_CONVERSATION_CLOSED);
	client_link_drop(link, NOW);
	assert_int_equal(fake.routes, 0);
	turn(link, NOW + 100 * MS); /* and is looked for again */
	assert_int_equal(link->state, LINK_ADDRESS);
}

static void test_way_is_lost(void **state)
{
	struct client_link *link = *state;
	uint32_t sent;

	reach_conversation(link);
	answer(link, RPC_PACKET_OPENED);
	sent = fake.sent_count;
	fake.datagram = (struct transport_datagram){.route = link->route};
	fake.has_datagram = true;
	turn(link, NOW);
	assert_int_equal(link->conversation.state, RPC_CONVERSATION_CLOSED);
	assert_int_equal(link->conversation.error, -ECONNRESET);
	client_link_drop(link, NOW);
	assert_int_equal(fake.sent_count, sent); /* no peer to tell */
}

/* A datagram from elsewhere belongs to no conversation. */
static void test_stranger(void **state)
{
	struct client_link *link = *state;

	reach_conversation(link);
	answer(link, RPC_PACKET_OPENED);
	fake.datagram = (struct transport_datagram){.route = NULL};
	fake.has_datagram = true;
	turn(link, NOW);
	assert_true(client_link_is_open(link));
}

/* The other addresses of the host are tried at once; then the callers are told, once a round. */
static void test_nobody_listens(void **state)
{
	struct client_link *link = *state;

	for (int round = 0; round < 2; round++) {
		turn(link, NOW + 100 * MS);
		assert_int_equal(fake.asked_port, 100);
		refuse(link, NOBODY_LISTENS);
		assert_false(client_link_take_refusal(link));
		assert_int_equal(link->state, LINK_ADDRESS);
		assert_int_equal(fake.asked_port, 101);
		refuse(link, NOBODY_LISTENS);
		assert_true(link->begin_ns == NOW + 100 * MS);
		assert_true(client_link_take_refusal(link));
		assert_false(client_link_take_refusal(link));
	}
}

/* For another reason than that nobody listens. */
static void test_another_refusal_is_tried_again(void **state)
{
	struct client_link *link = *state;

	for (int i = 0; i < 4; i++) {
		turn(link, NOW + 100 * MS);
		refuse(link, NOBODY_LISTENS + 1);
		assert_false(client_link_take_refusal(link));
	}
}

/* A call is under way, and no answer comes. */
static void fall_silent(struct client_link *link)
{
	const struct rpc_frame frame = {.kind = RPC_FRAME_CANCEL, .call = 1};

	reach_conversation(link);
	answer(link, RPC_PACKET_OPENED);
	assert_int_equal(client_link_send(link, &frame), 0);
	turn(link, NOW);
	assert_true(client_link_next_deadline_ns(link) <= NOW + 50 * MS);
	turn(link, NOW + 50 * MS - 1);
	assert_int_equal(link->probe.state, PROBE_IDLE);
	turn(link, NOW + 50 * MS);
	assert_int_equal(link->probe.state, PROBE_ADDRESS);
	assert_int_equal(fake.asked_port, 100);
}

static void test_another_server_is_noticed(void **state)
{
	const struct rnic_cm_event events[] = {
		{.type = RNIC_CM_ESTABLISHED, .parameters.qpn = SERVER_QPN + 1},
		{.type = RNIC_CM_REJECTED, .status = NOBODY_LISTENS},
	};
	struct client_link *link = *state;

	for (size_t i = 0; i < 2; i++) {
		fall_silent(link);
		answer_probe(link, events[i]);
		assert_int_equal(link->conversation.state, RPC_CONVERSATION_CLOSED);
		client_link_drop(link, NOW);
		assert_true(link->begin_ns == NOW); /* and is looked for at once */
		link->server_next = 0;
		link->probe.again_ns = 0;
	}
}

static void test_a_slow_server_is_kept(void **state)
{
	const struct rnic_cm_event same = {.type = RNIC_CM_ESTABLISHED,
					   .parameters.qpn = SERVER_QPN};
	const struct rnic_cm_event unreachable = {.type = RNIC_CM_UNREACHABLE};
	struct client_link *link = *state;

	fall_silent(link);
	answer_probe(link, same);
	assert_true(client_link_is_open(link));
	turn(link, NOW + 1049 * MS); /* the next probe a second later */
	assert_int_equal(link->probe.state, PROBE_IDLE);
	turn(link, NOW + 1050 * MS);
	assert_int_equal(link->probe.state, PROBE_ADDRESS);
	answer_probe(link, unreachable);
	assert_true(client_link_is_open(link));
	turn(link, NOW + 2050 * MS);
	assert_int_equal(link->probe.state, PROBE_ADDRESS); /* closing ends it */
}

static void test_daemon_ends(void **state)
{
	struct client_link *link = *state;

	fake.event_error = -ENODEV;
	link->device.has_cm_events = true;
	assert_int_equal(client_link_receive(link, true, NOW), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_such_host),
		cmocka_unit_test_setup_teardown(test_not_wanted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_step_by_step, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_failure_is_tried_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gives_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_server_closes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_way_is_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stranger, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_daemon_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nobody_listens, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_refusal_is_tried_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_another_server_is_noticed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_slow_server_is_kept, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
