/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_conversation.h"
#include "tests/unit/unit_test.h"

#define MS    UINT64_C(1000000)
#define START (1000 * MS)

/* A datagram, and where the packets begin that nobody has pulled yet. */
struct pulled {
	uint8_t bytes[RPC_DATAGRAM_MAX_BYTES];
	uint32_t length;
	uint32_t at;
};

struct pair {
	struct rpc_conversation_config config;
	struct rpc_conversation client;
	struct rpc_conversation server;
	void *client_memory;
	void *server_memory;
	struct pulled from_client;
	struct pulled from_server;
	uint64_t now_ns;
};

static const struct rpc_conversation_self client_self = {
	.connection = 11, .first_sequence = 0xfffffff0, .identity = "client"};
static const struct rpc_conversation_self server_self = {
	.connection = 22, .first_sequence = 5, .identity = "server"};

/* The next packet of `from`; false: none. It stays until the next call. */
static bool pull(struct pair *pair, struct rpc_conversation *from, struct rpc_packet *packet)
{
	struct pulled *pulled = from == &pair->client ? &pair->from_client : &pair->from_server;
	int bytes;

	if (pulled->at == pulled->length) {
		pulled->length = rpc_conversation_transmit(from, pulled->bytes, pair->now_ns);
		pulled->at = 0;
	}
	if (pulled->length == 0)
		return false;
	bytes = rpc_packet_decode(packet, pulled->bytes + pulled->at, pulled->length - pulled->at);
	assert_true(bytes > 0);
	pulled->at += (uint32_t)bytes;
	return true;
}

static uint32_t carry(struct pair *pair, struct rpc_conversation *from, struct rpc_conversation *to)
{
	struct rpc_packet packet;
	uint32_t count = 0;

	for (; pull(pair, from, &packet); count++)
		rpc_conversation_receive(to, &packet, pair->now_ns);
	return count;
}

static void settle(struct pair *pair)
{
	while (carry(pair, &pair->client, &pair->server) +
		       carry(pair, &pair->server, &pair->client) >
	       0)
		;
}

static int set_up(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	struct rpc_packet packet;

	assert_non_null(pair);
	pair->now_ns = START;
	pair->config = rpc_conversation_defaults;
	pair->config.window_packets = 8;
	pair->config.datagram_bytes = RPC_HEADER_BYTES + 64;
	pair->config.offer_bytes = 0;
	pair->config.max_message_bytes = 4096;
	pair->client_memory = malloc(rpc_conversation_memory_bytes(&pair->config));
	pair->server_memory = malloc(rpc_conversation_memory_bytes(&pair->config));
	assert_true(pair->client_memory != NULL && pair->server_memory != NULL);
	rpc_conversation_open(&pair->client, &pair->config, &client_self, pair->client_memory,
			      START);
	assert_true(pull(pair, &pair->client, &packet));
	rpc_conversation_accept(&pair->server, &pair->config, &server_self, &packet,
				pair->server_memory, START);
	*state = pair;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *pair = *state;

	free(pair->client_memory);
	free(pair->server_memory);
	free(pair);
	return 0;
}

static void tick(struct pair *pair, struct rpc_conversation *conversation)
{
	pair->now_ns = rpc_conversation_next_deadline_ns(conversation);
	rpc_conversation_tick(conversation, pair->now_ns);
}

static void test_open(void **state)
{
	struct pair *pair = *state;

	settle(pair);
	assert_int_equal(pair->client.state, RPC_CONVERSATION_OPEN);
	assert_int_equal(pair->client.peer, 22);
	assert_int_equal(pair->server.peer, 11);
	assert_string_equal((char *)pair->client.peer_identity, "server");
	assert_string_equal((char *)pair->server.peer_identity, "client");
}

static void test_open_is_repeated(void **state)
{
	struct pair *pair = *state;
	struct rpc_packet packet;
	uint64_t first_ns;

	assert_true(pull(pair, &pair->server, &packet)); /* the answer is lost */
	tick(pair, &pair->client);
	first_ns = pair->now_ns - START;
	assert_int_equal(first_ns, 20 * MS);
	assert_true(pull(pair, &pair->client, &packet));
	assert_int_equal(packet.kind, RPC_PACKET_OPEN);
	tick(pair, &pair->client);
	assert_int_equal(pair->now_ns - START, 60 * MS); /* twice as long */
	settle(pair);
	assert_int_equal(pair->client.state, RPC_CONVERSATION_OPEN);
}

static void test_large_message(void **state)
{
	struct pair *pair = *state;
	uint8_t bytes[4096];
	struct rpc_outgoing message = {.bytes = bytes, .length = sizeof(bytes)};
	const uint8_t *found;
	uint32_t length = 0;
	bool is_there = false;

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	assert_int_equal(rpc_conversation_send(&pair->client, &message), 0);
	for (int i = 0; i < 100 && !is_there; i++) {
		settle(pair);
		is_there = rpc_conversation_take(&pair->server, &found, &length);
	}
	assert_true(is_there);
	assert_int_equal(length, sizeof(bytes));
	assert_memory_equal(found, bytes, sizeof(bytes));
	settle(pair);
	assert_ptr_equal(rpc_conversation_take_released(&pair->client), &message);
	assert_null(rpc_conversation_take_released(&pair->client));
	assert_int_equal(pair->client.sender.retransmissions, 0);
}

/*
 * A receiver that takes no messages stops the sender after a window, and the sender goes on asking.
 */
static void test_slow_reader(void **state)
{
	struct pair *pair = *state;
	struct rpc_outgoing messages[20];
	const uint8_t *found;
	uint32_t length, count = 0;

	for (int i = 0; i < 20; i++) {
		messages[i] = (struct rpc_outgoing){.bytes = (const uint8_t *)"m", .length = 1};
		rpc_conversation_send(&pair->client, &messages[i]);
	}
	settle(pair);
	assert_int_equal(pair->server.receiver.cumulative - pair->server.receiver.taken, 8);
	assert_true(rpc_sender_is_blocked(&pair->client.sender));
	while (rpc_conversation_take(&pair->server, &found, &length))
		count++;
	assert_int_equal(count, 9); /* a window, and the message that waited for the caller */
	while (pair->server.receiver.taken - pair->server.receiver.told > 0) {
		struct rpc_packet lost;

		pull(pair, &pair->server, &lost);
	}
	tick(pair, &pair->client);
	settle(pair);
	while (rpc_conversation_take(&pair->server, &found, &length))
		count++;
	assert_int_equal(count, 18);
}

static void test_lost_fragment(void **state)
{
	struct pair *pair = *state;
	struct rpc_outgoing messages[6];
	struct rpc_packet packet;
	const uint8_t *found;
	uint32_t length;

	settle(pair);
	for (int i = 0; i < 6; i++) {
		messages[i] =
			(struct rpc_outgoing){.bytes = (const uint8_t *)"abcdef" + i, .length = 1};
		rpc_conversation_send(&pair->client, &messages[i]);
	}
	assert_true(pull(pair, &pair->client, &packet)); /* the first is lost */
	carry(pair, &pair->client, &pair->server);
	assert_false(rpc_conversation_take(&pair->server, &found, &length));
	carry(pair, &pair->server, &pair->client);
	assert_true(pull(pair, &pair->client, &packet)); /* at once, without a timer */
	assert_int_equal(packet.sequence, client_self.first_sequence);
	rpc_conversation_receive(&pair->server, &packet, pair->now_ns);
	rpc_conversation_receive(&pair->server, &packet, pair->now_ns); /* twice */
	for (int i = 0; i < 6; i++) {
		assert_true(rpc_conversation_take(&pair->server, &found, &length));
		assert_int_equal(found[0], "abcdef"[i]);
	}
	assert_false(rpc_conversation_take(&pair->server, &found, &length));
}

static void test_dead_peer(void **state)
{
	struct pair *pair = *state;
	struct rpc_outgoing message = {.bytes = (const uint8_t *)"m", .length = 1};
	struct rpc_packet packet;
	uint32_t asked = 0;

	settle(pair);
	rpc_conversation_send(&pair->client, &message);
	while (pair->client.state == RPC_CONVERSATION_OPEN) {
		while (pull(pair, &pair->client, &packet))
			asked += packet.kind == RPC_PACKET_PING;
		tick(pair, &pair->client);
	}
	assert_int_equal(pair->client.error, -ETIMEDOUT);
	assert_int_equal(pair->now_ns - START, pair->config.dead_ns);
	assert_int_equal(asked, 4);
	assert_int_equal(rpc_conversation_next_deadline_ns(&pair->client), RPC_NEVER);
	assert_ptr_equal(rpc_conversation_take_released(&pair->client), &message);
	assert_int_equal(rpc_conversation_send(&pair->client, &message), -ECONNRESET);
}

static void test_idle_stays(void **state)
{
	struct pair *pair = *state;

	settle(pair);
	for (int i = 0; i < 100; i++) {
		tick(pair, &pair->client);
		rpc_conversation_tick(&pair->server, pair->now_ns);
		settle(pair);
	}
	assert_int_equal(pair->client.state, RPC_CONVERSATION_OPEN);
	assert_int_equal(pair->server.state, RPC_CONVERSATION_OPEN);
	assert_true(pair->now_ns - START > 10 * pair->config.dead_ns);
}

static void test_closed(void **state)
{
	struct pair *pair = *state;

	settle(pair);
	rpc_conversation_close(&pair->server);
	assert_int_equal(carry(pair, &pair->server, &pair->client), 1);
	assert_int_equal(pair->client.error, -ESHUTDOWN);
	assert_int_equal(carry(pair, &pair->client, &pair->server), 0);
}

static void test_unknown_conversation(void **state)
{
	struct pair *pair = *state;
	uint8_t bytes[RPC_HEADER_BYTES];
	struct rpc_packet packet;
	uint32_t length;

	settle(pair);
	tick(pair, &pair->client);
	assert_true(pull(pair, &pair->client, &packet));
	length = rpc_conversation_refuse(&packet, RPC_CLOSE_NO_CONVERSATION, bytes, sizeof(bytes));
	assert_int_equal(rpc_packet_decode(&packet, bytes, length), length);
	assert_int_equal(
		rpc_conversation_refuse(&packet, RPC_CLOSE_NO_CONVERSATION, bytes, sizeof(bytes)),
		0); /* no answer to an answer */
	rpc_conversation_receive(&pair->client, &packet, pair->now_ns);
	assert_int_equal(pair->client.error, -ECONNRESET);
}

/* Packets that keep the header's rules and break the conversation's, and the state that they leave.
 */
static const struct {
	struct rpc_packet packet;
	enum rpc_conversation_state state;
} lies[] = {
	/* acknowledges a packet never sent */
	{{.kind = RPC_PACKET_ACK, .to = 22, .from = 11, .cumulative = 100}, RPC_CONVERSATION_OPEN},
	/* of another conversation */
	{{.kind = RPC_PACKET_CLOSE, .to = 22, .from = 12, .code = 1}, RPC_CONVERSATION_OPEN},
	{{.kind = RPC_PACKET_CLOSE, .to = 21, .from = 11, .code = 1}, RPC_CONVERSATION_OPEN},
	/* answers a server */
	{{.kind = RPC_PACKET_OPENED, .to = 22, .from = 11}, RPC_CONVERSATION_OPEN},
	/* beyond the credit: dropped */
	{{.kind = RPC_PACKET_DATA,
	  .to = 22,
	  .from = 11,
	  .sequence = 0xfffffff8,
	  .cumulative = 5,
	  .total = 1,
	  .payload_bytes = 1,
	  .payload = (uint8_t *)"x"},
	 RPC_CONVERSATION_OPEN},
	/* longer than a fragment is */
	{{.kind = RPC_PACKET_DATA,
	  .to = 22,
	  .from = 11,
	  .sequence = 0xfffffff0,
	  .cumulative = 5,
	  .total = 65,
	  .payload_bytes = 65,
	  .payload = (uint8_t *)"x"},
	 RPC_CONVERSATION_CLOSED},
	/* a message that does not begin at its beginning */
	{{.kind = RPC_PACKET_DATA,
	  .to = 22,
	  .from = 11,
	  .sequence = 0xfffffff0,
	  .cumulative = 5,
	  .offset = 1,
	  .total = 2,
	  .payload_bytes = 1,
	  .payload = (uint8_t *)"x"},
	 RPC_CONVERSATION_CLOSED},
	/* one that is too large */
	{{.kind = RPC_PACKET_DATA,
	  .to = 22,
	  .from = 11,
	  .sequence = 0xfffffff0,
	  .cumulative = 5,
	  .total = 4097,
	  .payload_bytes = 1,
	  .payload = (uint8_t *)"x"},
	 RPC_CONVERSATION_CLOSED},
};

static void test_hostile(void **state)
{
	const uint8_t *found;
	uint32_t length;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct pair *pair;

		if (i > 0)
			set_up(state);
		pair = *state;
		settle(pair);
		rpc_conversation_receive(&pair->server, &lies[i].packet, pair->now_ns);
		assert_false(rpc_conversation_take(&pair->server, &found, &length));
		assert_int_equal(pair->server.state, lies[i].state);
		if (i + 1 < sizeof(lies) / sizeof(lies[0]))
			tear_down(state);
	}
}

/* --- larger datagrams ------------------------------------------------------------------------- */

enum { SMALL = RPC_HEADER_BYTES + 64, LARGE = RPC_HEADER_BYTES + 1000 };

/* Begins both conversations anew, with these offers; returns the size that OPENED has. */
static uint32_t begin_with(struct pair *pair, uint32_t client_offer, uint32_t server_offer)
{
	struct rpc_packet packet;
	uint32_t agreed;

	free(pair->client_memory);
	free(pair->server_memory);
	pair->config.offer_bytes = client_offer;
	pair->client_memory = malloc(rpc_conversation_memory_bytes(&pair->config));
	rpc_conversation_open(&pair->client, &pair->config, &client_self, pair->client_memory,
			      pair->now_ns);
	assert_true(pull(pair, &pair->client, &packet));
	assert_int_equal(packet.credit, client_offer);
	pair->config.offer_bytes = server_offer;
	pair->server_memory = malloc(rpc_conversation_memory_bytes(&pair->config));
	rpc_conversation_accept(&pair->server, &pair->config, &server_self, &packet,
				pair->server_memory, pair->now_ns);
	assert_true(pull(pair, &pair->server, &packet));
	assert_int_equal(packet.kind, RPC_PACKET_OPENED);
	agreed = packet.total;
	rpc_conversation_receive(&pair->client, &packet, pair->now_ns);
	settle(pair);
	return agreed;
}

/* Both take the smaller offer; a side that is too old to offer keeps the size of all. */
static void test_sizes(void **state)
{
	static const struct {
		uint32_t client;
		uint32_t server;
		uint32_t agreed;
	} cases[] = {{LARGE, LARGE, LARGE},
		     {LARGE, LARGE - 1, LARGE - 1},
		     {SMALL + 1, LARGE, SMALL + 1},
		     {SMALL, LARGE, SMALL},
		     {LARGE, 0, 0},
		     {0, LARGE, 0},
		     {0, 0, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair *pair = *state;
		uint32_t expected = cases[i].agreed != 0 ? cases[i].agreed : SMALL;

		assert_int_equal(begin_with(pair, cases[i].client, cases[i].server),
				 cases[i].agreed);
		assert_int_equal(pair->client.state, RPC_CONVERSATION_OPEN);
		assert_int_equal(pair->client.datagram_bytes, expected);
		/* OPENED has credit already */
		assert_int_equal(pair->client.sender.credit - pair->client.sender.next,
				 cases[i].agreed != 0 ? 32 : 8);
		assert_int_equal(pair->server.datagram_bytes, expected);
		assert_int_equal(pair->server.sender.limits.payload_bytes,
				 expected - RPC_HEADER_BYTES);
		assert_int_equal(pair->server.receiver.payload_bytes, expected - RPC_HEADER_BYTES);
	}
}

/* The numbers of a hostile client move the server within its own bounds only. */
static void test_hostile_offers(void **state)
{
	static const struct {
		uint32_t offer;
		uint32_t expected;
	} cases[] = {{1, SMALL},	 {SMALL - 1, SMALL}, {SMALL, SMALL},
		     {LARGE + 1, LARGE}, {65536, LARGE},     {UINT32_MAX, LARGE}};
	struct rpc_packet open = {.kind = RPC_PACKET_OPEN,
				  .from = 11,
				  .payload = client_self.identity,
				  .payload_bytes = RPC_IDENTITY_BYTES};
	struct pair *pair = *state;

	begin_with(pair, LARGE, LARGE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open.credit = cases[i].offer;
		rpc_conversation_accept(&pair->server, &pair->config, &server_self, &open,
					pair->server_memory, START);
		assert_int_equal(pair->server.datagram_bytes, cases[i].expected);
	}
}

/* A server's conversation takes memory for what its client takes, and for no more. */
static void test_memory_by_the_offer(void **state)
{
	static const struct {
		uint32_t offer;
		uint32_t expected; /* offer_bytes of the server */
	} cases[] = {{0, 0}, {SMALL - 1, 0}, {SMALL, SMALL}, {LARGE, LARGE}, {UINT32_MAX, LARGE}};
	struct rpc_packet open = {.kind = RPC_PACKET_OPEN};
	struct rpc_conversation_config config;
	struct pair *pair = *state;
	size_t bytes = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		config = pair->config;
		config.offer_bytes = LARGE;
		open.credit = cases[i].offer;
		rpc_conversation_lower_offer(&config, &open);
		assert_int_equal(config.offer_bytes, cases[i].expected);
		assert_true(rpc_conversation_memory_bytes(&config) >= bytes);
		bytes = rpc_conversation_memory_bytes(&config);
	}
}

/* Sizes that the client has not offered end its conversation; it does not use them. */
static void test_hostile_agreements(void **state)
{
	static const uint32_t sizes[] = {1, SMALL - 1, LARGE + 1, UINT32_MAX};
	struct rpc_packet opened = {.kind = RPC_PACKET_OPENED,
				    .to = 11,
				    .from = 22,
				    .cumulative = 0xfffffff0,
				    .payload = server_self.identity,
				    .payload_bytes = RPC_IDENTITY_BYTES};
	struct pair *pair = *state;
	struct rpc_packet packet;

	begin_with(pair, LARGE, LARGE);
	pair->config.offer_bytes = LARGE;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		rpc_conversation_open(&pair->client, &pair->config, &client_self,
				      pair->client_memory, START);
		opened.total = sizes[i];
		rpc_conversation_receive(&pair->client, &opened, START);
		assert_int_equal(pair->client.error, -EPROTO);
		assert_int_equal(pair->client.datagram_bytes, SMALL);
		assert_true(pull(pair, &pair->client, &packet));
		assert_int_equal(packet.code, RPC_CLOSE_PROTOCOL);
	}
}

/* The kinds of datagrams that this side sends now, a bit for each. */
static uint32_t pull_kinds(struct pair *pair, struct rpc_conversation *from)
{
	struct rpc_packet packet;
	uint32_t kinds = 0;

	while (pull(pair, from, &packet))
		kinds |= 1u << packet.kind;
	return kinds;
}

/* In a conversation of an agreed size, only some fragments are urgent, and acknowledged at once. */
static void test_acknowledgements_on_demand(void **state)
{
	struct pair *pair = *state;
	uint8_t bytes[4000] = {0};
	struct rpc_outgoing message = {.bytes = bytes, .length = sizeof(bytes)};
	struct rpc_packet packets[4];

	begin_with(pair, LARGE, LARGE);
	rpc_conversation_send(&pair->client, &message);
	for (int i = 0; i < 4; i++) {
		assert_true(pull(pair, &pair->client, &packets[i]));
		assert_int_equal(pair->client.is_urgent, i == 3);
		packets[i].payload = bytes;
	}
	rpc_conversation_receive(&pair->server, &packets[0], pair->now_ns);
	assert_int_equal(pull_kinds(pair, &pair->server), 0);
	rpc_conversation_receive(&pair->server, &packets[2], pair->now_ns); /* one is missing */
	assert_int_equal(pull_kinds(pair, &pair->server), 1 << RPC_PACKET_ACK);
	rpc_conversation_receive(&pair->server, &packets[1], pair->now_ns); /* and there */
	assert_int_equal(pull_kinds(pair, &pair->server), 1 << RPC_PACKET_ACK);
	rpc_conversation_receive(&pair->server, &packets[1], pair->now_ns); /* twice */
	assert_int_equal(pull_kinds(pair, &pair->server), 1 << RPC_PACKET_ACK);
	rpc_conversation_receive(&pair->server, &packets[3], pair->now_ns); /* asks */
	assert_int_equal(pull_kinds(pair, &pair->server), 1 << RPC_PACKET_ACK);
	assert_true(pair->server.is_urgent);
}

/* A message from the server, which the client owes an acknowledgement for. */
static void receive_message(struct pair *pair, struct rpc_outgoing *message)
{
	static const uint8_t bytes[8];

	*message = (struct rpc_outgoing){.bytes = bytes, .length = sizeof(bytes)};
	assert_int_equal(rpc_conversation_send(&pair->server, message), 0);
	assert_int_equal(carry(pair, &pair->server, &pair->client), 1);
}

static void test_held_ack_goes_with_data(void **state)
{
	struct pair *pair = *state;
	static const uint8_t bytes[8];
	struct rpc_outgoing answer, request = {.bytes = bytes, .length = sizeof(bytes)};

	settle(pair);
	receive_message(pair, &answer);
	rpc_conversation_hold_ack(&pair->client, pair->now_ns + MS);
	assert_int_equal(pull_kinds(pair, &pair->client), 0);
	assert_int_equal(rpc_conversation_send(&pair->client, &request), 0);
	assert_int_equal(carry(pair, &pair->client, &pair->server), 1);
	assert_ptr_equal(rpc_conversation_take_released(&pair->server), &answer);
	assert_true(rpc_conversation_next_deadline_ns(&pair->client) > pair->now_ns + MS);
}

static void test_held_ack_goes_in_time(void **state)
{
	struct pair *pair = *state;
	struct rpc_outgoing answer;

	settle(pair);
	receive_message(pair, &answer);
	rpc_conversation_hold_ack(&pair->client, pair->now_ns + MS);
	assert_int_equal(pull_kinds(pair, &pair->client), 0);
	assert_int_equal(rpc_conversation_next_deadline_ns(&pair->client), pair->now_ns + MS);
	tick(pair, &pair->client);
	assert_int_equal(pull_kinds(pair, &pair->client), 1 << RPC_PACKET_ACK);
	assert_int_equal(pull_kinds(pair, &pair->client), 0);
}

/* The owner has no room for a datagram: a deadline in the past would keep it awake. */
static void test_ack_that_nobody_holds_has_no_deadline(void **state)
{
	struct pair *pair = *state;
	struct rpc_outgoing answer;

	settle(pair);
	receive_message(pair, &answer);
	assert_true(rpc_conversation_next_deadline_ns(&pair->client) > pair->now_ns);
	rpc_conversation_hold_ack(&pair->client, pair->now_ns + MS);
	tick(pair, &pair->client);
	assert_true(rpc_conversation_next_deadline_ns(&pair->client) > pair->now_ns);
}

/* An owner that expects no DATA any more sends what is held. */
static void test_ack_is_held_no_longer(void **state)
{
	struct pair *pair = *state;
	struct rpc_outgoing answer;

	settle(pair);
	receive_message(pair, &answer);
	rpc_conversation_hold_ack(&pair->client, pair->now_ns + MS);
	assert_int_equal(pull_kinds(pair, &pair->client), 0);
	rpc_conversation_hold_ack(&pair->client, 0);
	assert_int_equal(pull_kinds(pair, &pair->client), 1 << RPC_PACKET_ACK);
}

/* The lengths of the client's next datagrams, at most so many; returns how many. */
static uint32_t datagram_lengths(struct pair *pair, uint32_t *lengths, uint32_t most)
{
	uint8_t bytes[RPC_DATAGRAM_MAX_BYTES];
	uint32_t count = 0;

	while (count < most &&
	       (lengths[count] = rpc_conversation_transmit(&pair->client, bytes, pair->now_ns)) > 0)
		count++;
	return count;
}

/* Small messages share datagrams of a size that every conversation has, where the sizes are agreed.
 */
static void test_small_messages_share_datagrams(void **state)
{
	static const struct {
		uint32_t offer;
		uint32_t datagrams;
	} cases[] = {{LARGE, 3}, {SMALL, 3}, {0, 5}};
	static const uint8_t text[60];
	struct rpc_outgoing messages[5];
	struct pair *pair = *state;
	uint32_t lengths[8];

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		begin_with(pair, cases[c].offer, cases[c].offer);
		for (int i = 0; i < 5; i++) {
			messages[i] = (struct rpc_outgoing){.bytes = text,
							    .length = i < 4 ? 4 : sizeof(text)};
			rpc_conversation_send(&pair->client, &messages[i]);
		}
		assert_int_equal(datagram_lengths(pair, lengths, 8), cases[c].datagrams);
		assert_true(pair->client.is_urgent);
		if (cases[c].offer == 0)
			continue;
		assert_int_equal(lengths[0], 2 * (RPC_HEADER_BYTES + 4)); /* of SMALL */
		assert_int_equal(lengths[1], 2 * (RPC_HEADER_BYTES + 4));
		assert_int_equal(lengths[2], RPC_HEADER_BYTES + sizeof(text));
	}
}

/* Carries what has at most `largest` bytes of payload; DATA with more is lost. */
static uint32_t carry_through(struct pair *pair, struct rpc_conversation *from,
			      struct rpc_conversation *to, uint32_t largest)
{
	struct rpc_packet packet;
	uint32_t count = 0;

	for (; pull(pair, from, &packet); count++)
		if (packet.kind != RPC_PACKET_DATA || packet.payload_bytes <= largest)
			rpc_conversation_receive(to, &packet, pair->now_ns);
	return count;
}

/* Runs both ends until the server has a message, or the client's conversation has ended. */
static bool run_through(struct pair *pair, uint32_t largest, const uint8_t **bytes,
			uint32_t *length)
{
	while (pair->client.state == RPC_CONVERSATION_OPEN && pair->now_ns < START + 60000 * MS) {
		while (carry_through(pair, &pair->client, &pair->server, largest) +
			       carry_through(pair, &pair->server, &pair->client, largest) >
		       0)
			;
		if (rpc_conversation_take(&pair->server, bytes, length))
			return true;
		pair->now_ns += MS;
		rpc_conversation_tick(&pair->client, pair->now_ns);
		rpc_conversation_tick(&pair->server, pair->now_ns);
	}
	return false;
}

/* A path that shrinks takes parts from then on. */
static void test_path_shrinks(void **state)
{
	struct pair *pair = *state;
	uint8_t bytes[4000];
	struct rpc_outgoing message = {.bytes = bytes, .length = sizeof(bytes)};
	struct rpc_outgoing second = {.bytes = bytes, .length = sizeof(bytes)};
	const uint8_t *found = NULL;
	uint32_t length = 0;
	uint64_t begun_ns;

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	pair->config.keepalive_ns = 100 * MS;
	assert_int_equal(begin_with(pair, LARGE, LARGE), LARGE);
	rpc_conversation_send(&pair->client, &message);
	assert_true(run_through(pair, 1000, &found, &length));
	assert_int_equal(pair->client.sender.retransmissions, 0);
	begun_ns = pair->now_ns;
	rpc_conversation_send(&pair->client, &second);
	assert_true(run_through(pair, 64, &found, &length));
	assert_int_equal(length, sizeof(bytes));
	assert_memory_equal(found, bytes, sizeof(bytes));
	assert_true(pair->now_ns - begun_ns < 1000 * MS);
}

/* A path that takes no datagram with bytes of a message any more ends the conversation. */
static void test_stuck(void **state)
{
	struct pair *pair = *state;
	struct rpc_outgoing message = {.bytes = (const uint8_t *)"m", .length = 1};
	const uint8_t *found;
	uint64_t begun_ns;
	uint32_t length;

	settle(pair);
	begun_ns = pair->now_ns;
	rpc_conversation_send(&pair->client, &message);
	assert_false(run_through(pair, 0, &found, &length));
	assert_int_equal(pair->client.error, -EHOSTUNREACH);
	assert_int_equal(pair->now_ns - begun_ns, pair->config.dead_ns);
	assert_string_equal(rpc_conversation_end_text(&pair->client),
			    "datagrams no longer reach the server");
	settle(pair);
	assert_int_equal(pair->server.state, RPC_CONVERSATION_CLOSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_open, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_open_is_repeated, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_large_message, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_slow_reader, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_fragment, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dead_peer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_idle_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown_conversation, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hostile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hostile_offers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_memory_by_the_offer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hostile_agreements, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_acknowledgements_on_demand, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_held_ack_goes_with_data, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_held_ack_goes_in_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ack_is_held_no_longer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ack_that_nobody_holds_has_no_deadline, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_small_messages_share_datagrams, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_path_shrinks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stuck, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
