/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/apis/rpc/fake_transport.h"

#include "lib/apis/rpc/server/server_conversations.h"
#include "tests/unit/unit_test.h"

#define MS  UINT64_C(1000000)
#define NOW (1000 * MS)

struct world {
	struct fake_transport transport;
	struct server_conversations conversations;
	struct rnic_rpc_options options;
	uint32_t ended;
};

static void note_ended(void *user, const struct server_conversation *conversation)
{
	assert_int_equal(conversation->conversation.state, RPC_CONVERSATION_CLOSED);
	((struct world *)user)->ended++;
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	fake_transport_init(&world->transport);
	world->conversations.clients.client_quota_bytes = 1000;
	world->conversations.clients.quota_bytes = 2000;
	assert_int_equal(server_conversations_open(&world->conversations, &world->options), 0);
	world->conversations.ended = note_ended;
	world->conversations.ended_user = world;
	*state = world;
	return 0;
}

/* In every case, closing leaves no route open. */
static int tear_down(void **state)
{
	struct world *world = *state;

	server_conversations_close(&world->conversations, NOW);
	assert_int_equal(world->transport.routes, 0);
	free(world);
	return 0;
}

static void receive(struct world *world, uint32_t peer, const struct rpc_packet *packet)
{
	struct transport_datagram datagram = fake_datagram(&world->transport, peer, packet);

	server_conversations_receive(&world->conversations, &datagram, NOW);
}

/* OPEN of a peer, whose number is its connection and identity too. */
static void open_from(struct world *world, uint32_t peer)
{
	uint8_t identity[RPC_IDENTITY_BYTES] = {0};
	struct rpc_packet open = {.kind = RPC_PACKET_OPEN,
				  .from = peer,
				  .payload = identity,
				  .payload_bytes = sizeof(identity)};

	memcpy(identity, &peer, sizeof(peer));
	receive(world, peer, &open);
}

static struct server_conversation *conversation_of(struct world *world, uint32_t peer)
{
	for (uint32_t place = 0; place < world->conversations.place_count; place++)
		if (world->conversations.places[place] != NULL &&
		    world->conversations.places[place]->conversation.peer == peer)
			return world->conversations.places[place];
	return NULL;
}

static struct rpc_packet from_peer(struct world *world, enum rpc_packet_kind kind, uint32_t peer)
{
	const struct rpc_conversation *conversation = &conversation_of(world, peer)->conversation;

	return (struct rpc_packet){.kind = kind,
				   .to = conversation->self.connection,
				   .from = peer,
				   .cumulative = conversation->self.first_sequence,
				   .credit =
					   conversation->self.first_sequence + RPC_WINDOW_PACKETS};
}

static const struct fake_sent *last_sent(const struct world *world)
{
	assert_true(world->transport.sent_count > 0);
	return &world->transport.sent[world->transport.sent_count - 1];
}

/* A client that got the answer to its OPEN. */
static void open_confirmed(struct world *world, uint32_t peer)
{
	struct rpc_packet ack;

	open_from(world, peer);
	ack = from_peer(world, RPC_PACKET_ACK, peer);
	receive(world, peer, &ack);
}

static void test_open(void **state)
{
	struct world *world = *state;

	open_from(world, 7);
	assert_true(server_conversations_next_deadline_ns(&world->conversations) == 0);
	server_conversations_serve(&world->conversations, NOW);
	assert_int_equal(last_sent(world)->packet.kind, RPC_PACKET_OPENED);
	assert_int_equal(last_sent(world)->peer, 7);
	assert_true(server_conversations_next_deadline_ns(&world->conversations) > NOW);
	open_from(world, 7); /* the answer was lost */
	server_conversations_serve(&world->conversations, NOW);
	assert_int_equal(world->transport.sent_count, 2);
	assert_int_equal(world->transport.routes, 1);
}

static void test_unknown_conversation(void **state)
{
	struct world *world = *state;
	struct rpc_packet ping = {.kind = RPC_PACKET_PING, .to = 12345, .from = 7};

	receive(world, 7, &ping);
	assert_int_equal(last_sent(world)->packet.kind, RPC_PACKET_CLOSE);
	assert_int_equal(last_sent(world)->packet.code, RPC_CLOSE_NO_CONVERSATION);
	assert_int_equal(world->transport.routes, 0);
}

static void test_stranger(void **state)
{
	struct world *world = *state;
	struct rpc_packet close;

	open_from(world, 7);
	close = from_peer(world, RPC_PACKET_CLOSE, 7);
	close.code = RPC_CLOSE_DONE;
	receive(world, 8, &close);
	server_conversations_serve(&world->conversations, NOW);
	assert_int_equal(world->ended, 0);
	receive(world, 7, &close);
	server_conversations_serve(&world->conversations, NOW);
	assert_int_equal(world->ended, 1);
	assert_null(conversation_of(world, 7));
}

static void test_loss_of_the_route(void **state)
{
	struct world *world = *state;
	struct transport_datagram loss;

	open_confirmed(world, 7);
	loss = fake_loss(&world->transport, conversation_of(world, 7)->route);
	server_conversations_receive(&world->conversations, &loss, NOW);
	server_conversations_serve(&world->conversations, NOW);
	assert_int_equal(world->ended, 1);
	assert_int_equal(world->transport.routes, 0);
	assert_int_equal(world->transport.sent_count, 0);	 /* no peer to tell */
	assert_int_equal(world->conversations.clients.count, 1); /* the client may come back */
}

/* A turn looks only at the conversations with news, however many conversations there are. */
static void test_idle_conversations_cost_nothing(void **state)
{
	struct world *world = *state;
	struct rpc_packet ping;

	for (uint32_t peer = 1; peer <= 1000; peer++)
		open_from(world, peer);
	assert_int_equal(world->conversations.queue_length, 1000);
	server_conversations_serve(&world->conversations, NOW);
	server_conversations_tick(&world->conversations, NOW);
	assert_int_equal(world->conversations.queue_length, 0);
	ping = from_peer(world, RPC_PACKET_PING, 500);
	receive(world, 500, &ping);
	assert_int_equal(world->conversations.queue_length, 1);
	server_conversations_serve(&world->conversations, NOW);
	assert_int_equal(last_sent(world)->peer, 500);
	assert_int_equal(world->transport.sent_count, 1001);
}

/* When their time has come they are asked whether they live, and end when they do not answer. */
static void test_silent_conversations_end(void **state)
{
	struct world *world = *state;
	uint64_t now_ns = NOW;

	for (uint32_t peer = 1; peer <= 10; peer++)
		open_from(world, peer);
	server_conversations_serve(&world->conversations, now_ns);
	while (world->ended < 10) {
		now_ns = server_conversations_next_deadline_ns(&world->conversations);
		assert_true(now_ns <= NOW + rpc_conversation_defaults.dead_ns);
		server_conversations_tick(&world->conversations, now_ns);
		server_conversations_serve(&world->conversations, now_ns);
	}
	assert_true(now_ns == NOW + rpc_conversation_defaults.dead_ns);
	assert_int_equal(world->transport.routes, 0);
}

/* Gives the conversation so many messages of one fragment each. */
static void fill(struct world *world, uint32_t peer, struct shared_message *message, int count)
{
	struct server_conversation *conversation = conversation_of(world, peer);
	struct rpc_packet ack = from_peer(world, RPC_PACKET_ACK, peer);

	receive(world, peer, &ack);
	conversation->conversation.sender.allowance = RPC_WINDOW_PACKETS;
	for (int i = 0; i < count; i++)
		server_conversations_send(&world->conversations, conversation, message);
}

static struct shared_message *make_message(void)
{
	struct shared_message *message = calloc(1, sizeof(*message) + 1);

	assert_non_null(message);
	message->references = 1;
	message->bytes = 1;
	return message;
}

static uint32_t count_sent_to(const struct world *world, uint32_t from, uint32_t peer)
{
	uint32_t count = 0;

	for (uint32_t i = from; i < world->transport.sent_count; i++)
		count += world->transport.sent[i].peer == peer;
	return count;
}

/* A conversation with much to send does not delay another for longer than a round. */
static void test_fairness(void **state)
{
	struct world *world = *state;
	struct shared_message *message = make_message();
	uint32_t begin;

	open_from(world, 1);
	open_from(world, 2);
	server_conversations_serve(&world->conversations, NOW);
	begin = world->transport.sent_count;
	fill(world, 1, message, 60);
	fill(world, 2, message, 1);
	server_conversations_serve(&world->conversations, NOW);
	assert_int_equal(count_sent_to(world, begin, 1), 32);
	assert_int_equal(count_sent_to(world, begin, 2), 1);
	assert_true(server_conversations_next_deadline_ns(&world->conversations) == 0);
	for (int i = 0; i < 4; i++)
		server_conversations_serve(&world->conversations, NOW);
	assert_int_equal(count_sent_to(world, begin, 1), 60);
	assert_int_equal(world->conversations.queue_length, 0);
	shared_message_release(message);
}

/* Without room the conversation stays in the queue, and the owner sleeps until there is room. */
static void test_no_room(void **state)
{
	struct world *world = *state;
	struct shared_message *message = make_message();
	uint32_t begin;

	open_from(world, 1);
	server_conversations_serve(&world->conversations, NOW);
	begin = world->transport.sent_count;
	fill(world, 1, message, 5);
	world->transport.room = 2;
	server_conversations_serve(&world->conversations, NOW);
	assert_int_equal(count_sent_to(world, begin, 1), 2);
	assert_true(server_conversations_next_deadline_ns(&world->conversations) > NOW);
	world->transport.room = 100;
	server_conversations_tick(&world->conversations, NOW);
	server_conversations_serve(&world->conversations, NOW);
	assert_int_equal(count_sent_to(world, begin, 1), 5);
	shared_message_release(message);
}

static void test_full(void **state)
{
	struct world *world = *state;
	uint32_t peer = 1;

	for (; peer < SERVER_CONVERSATIONS_MAX; peer++)
		open_confirmed(world, peer);
	assert_int_equal(world->transport.sent_count, 0);
	open_from(world, peer);
	assert_int_equal(last_sent(world)->packet.kind, RPC_PACKET_CLOSE);
	assert_int_equal(last_sent(world)->packet.code, RPC_CLOSE_REFUSED);
	assert_int_equal(last_sent(world)->peer, peer);
	assert_int_equal(world->transport.routes, SERVER_CONVERSATIONS_MAX - 1);
}

/*
 * A client for whom there is no memory hears so on the route that is there: the route of a
 * connection cannot be opened again.
 */
static void test_no_place_for_a_client(void **state)
{
	struct world *world = *state;
	struct server_clients *clients = &world->conversations.clients;
	uint8_t identity[RPC_IDENTITY_BYTES] = {1};

	for (uint32_t i = 0; i < SERVER_CLIENTS_MAX; i++) {
		memcpy(identity + 4, &i, sizeof(i));
		server_clients_find(clients, identity, identity)->working_count = 1;
	}
	open_from(world, 7);
	assert_int_equal(last_sent(world)->packet.code, RPC_CLOSE_REFUSED);
	assert_int_equal(world->transport.openings, 1);
	assert_int_equal(world->transport.routes, 0);
	for (uint32_t i = 0; i < SERVER_CLIENTS_MAX; i++)
		clients->all[i]->working_count = 0;
}

/*
 * OPENs in the names of hosts that sent none take each other's places only, and leave no client
 * behind.
 */
static void test_openings_without_a_client(void **state)
{
	struct world *world = *state;
	uint32_t peer = 100;

	open_confirmed(world, 7);
	for (; peer < 3 * SERVER_CONVERSATIONS_MAX; peer++)
		open_from(world, peer);
	assert_non_null(conversation_of(world, 7));
	assert_null(conversation_of(world, 100));
	assert_int_equal(world->transport.routes, 1 + SERVER_UNCONFIRMED_MAX);
	assert_int_equal(world->conversations.clients.count, 1 + SERVER_UNCONFIRMED_MAX);
	open_confirmed(world, peer);
	for (uint32_t stranger = peer + 1; stranger < peer + 2 * SERVER_UNCONFIRMED_MAX; stranger++)
		open_from(world, stranger);
	assert_non_null(conversation_of(world, peer));
	assert_int_equal(world->transport.sent_count, 0); /* strangers hear nothing before a turn */
}

static void test_ends_have_words(void **state)
{
	struct world *world = *state;
	struct rpc_packet close;
	struct server_conversation *conversation;

	open_confirmed(world, 7);
	conversation = conversation_of(world, 7);
	close = from_peer(world, RPC_PACKET_CLOSE, 7);
	close.code = RPC_CLOSE_DONE;
	receive(world, 7, &close);
	assert_string_equal(rpc_conversation_end_text(&conversation->conversation),
			    "the client closed it");
	server_conversations_serve(&world->conversations, NOW);
	open_confirmed(world, 8);
	conversation = conversation_of(world, 8);
	rpc_conversation_tick(&conversation->conversation, NOW + 5000 * MS);
	assert_string_equal(rpc_conversation_end_text(&conversation->conversation),
			    "the client is silent");
	server_conversations_serve(&world->conversations, NOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_open, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown_conversation, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stranger, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_loss_of_the_route, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_idle_conversations_cost_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_silent_conversations_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fairness, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_place_for_a_client, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_openings_without_a_client, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ends_have_words, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
