/* SPDX-License-Identifier: MIT */
/*
 * Clients whose streams outlive their conversations, or that demand much at little cost, over a
 * fake transport.
 */
#include "tests/unit/lib/apis/rpc/fake_transport.h"

#include "lib/apis/dial/dial.h"
#include "lib/apis/rpc/server/server_calls.h"
#include "tests/unit/unit_test.h"

#define NOW UINT64_C(1000000000)

enum {
	CALL = 5,
	FIRST = 1,
	SECOND = 2,
	GRANTED_SLOTS = 4,
	GRANTED_BYTES = 400,
	CHUNK_BYTES = 64 << 10,
	QUOTA_BYTES = 1 << 20,
	/* The bytes that a client may always be told, beyond its quota. */
	TOLD_BYTES = 32 << 10,
};

static struct {
	struct fake_transport transport;
	struct server_conversations conversations;
	struct server_calls calls;
	struct rnic_rpc_options options;
	uint32_t stopped; /* streams that were told so */
	bool is_generous; /* they fill all chunks that they are asked for */
	bool outlives;	  /* the service's call, its server */
	ProtobufCClosure finish;
	void *closure_data;
} world;

/* --- what is not there ------------------------------------------------------------------------ */

void transport_device_wake(struct transport_device *device)
{
	(void)device;
}

uint64_t rnic_dial_now_ns(void)
{
	return NOW;
}

/* --- a service that streams ------------------------------------------------------------------- */

static void init_nothing(ProtobufCMessage *message);

static const ProtobufCMessageDescriptor nothing = {
	.magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
	.name = "nothing",
	.sizeof_message = sizeof(ProtobufCMessage),
	.message_init = init_nothing,
};

static void init_nothing(ProtobufCMessage *message)
{
	*message = (ProtobufCMessage){.descriptor = &nothing};
}

static const ProtobufCMethodDescriptor method = {
	.name = "stream", .input = &nothing, .output = &nothing};
static const ProtobufCServiceDescriptor descriptor = {
	.name = "service", .n_methods = 1, .methods = &method};

static void invoke(ProtobufCService *service, unsigned index, const ProtobufCMessage *input,
		   ProtobufCClosure closure, void *closure_data)
{
	(void)service;
	(void)index;
	(void)input;
	world.finish = closure;
	world.closure_data = closure_data;
}

static ProtobufCService service = {.descriptor = &descriptor, .invoke = invoke};

static size_t produce(void *user, void *room, size_t bytes)
{
	(void)user;
	world.stopped += room == NULL;
	if (room == NULL || !world.is_generous)
		return 0;
	memset(room, 1, bytes);
	return bytes;
}

static void begin_stream(void)
{
	assert_int_equal(rnic_rpc_send_stream(world.closure_data, produce, NULL), 0);
}

/* --- a client --------------------------------------------------------------------------------- */

static struct server_conversation *conversation_of(uint32_t peer)
{
	for (uint32_t place = 0; place < world.conversations.place_count; place++)
		if (world.conversations.places[place] != NULL &&
		    world.conversations.places[place]->conversation.peer == peer)
			return world.conversations.places[place];
	return NULL;
}

static void receive(uint32_t peer, const struct rpc_packet *packet)
{
	struct transport_datagram datagram = fake_datagram(&world.transport, peer, packet);

	server_conversations_receive(&world.conversations, &datagram, NOW);
}

/* All conversations are of the same client. */
static void open_conversation(uint32_t peer)
{
	static const uint8_t identity[RPC_IDENTITY_BYTES] = {1};

	receive(peer, &(struct rpc_packet){.kind = RPC_PACKET_OPEN,
					   .from = peer,
					   .payload = identity,
					   .payload_bytes = sizeof(identity)});
}

static void send_frame(uint32_t peer, const struct rpc_frame *frame)
{
	struct server_conversation *conversation = conversation_of(peer);
	const struct rpc_conversation *state = &conversation->conversation;
	uint8_t bytes[256];

	rpc_frame_encode(frame, bytes);
	receive(peer, &(struct rpc_packet){
			      .kind = RPC_PACKET_DATA,
			      .to = state->self.connection,
			      .from = peer,
			      .sequence = state->receiver.taken,
			      .cumulative = state->self.first_sequence,
			      .credit = state->self.first_sequence + RPC_WINDOW_PACKETS,
			      .message = 1,
			      .total = (uint32_t)rpc_frame_bytes(frame),
			      .payload = bytes,
			      .payload_bytes = (uint16_t)rpc_frame_bytes(frame),
		      });
	server_calls_take(&world.calls, conversation);
}

static void send_request(uint32_t peer)
{
	send_frame(peer, &(struct rpc_frame){.kind = RPC_FRAME_REQUEST,
					     .flags = RPC_FRAME_STREAM,
					     .call = CALL,
					     .service = descriptor.name,
					     .service_bytes = (uint16_t)strlen(descriptor.name)});
}

/* A request of a few bytes, each two of which are a field that the service does not know. */
static void send_request_of_fields(uint32_t peer)
{
	uint8_t fields[128];

	for (size_t i = 0; i < sizeof(fields); i += 2)
		memcpy(fields + i, (const uint8_t[]){0x08, 0x01}, 2);
	send_frame(peer, &(struct rpc_frame){.kind = RPC_FRAME_REQUEST,
					     .call = CALL,
					     .service = descriptor.name,
					     .service_bytes = (uint16_t)strlen(descriptor.name),
					     .payload = fields,
					     .payload_bytes = sizeof(fields)});
}

/* Announces a body in chunks. */
static void send_large_request(uint32_t peer, uint64_t total)
{
	uint8_t payload[RPC_TOTAL_BYTES];

	rpc_bulk_write_total(payload, total);
	send_frame(peer, &(struct rpc_frame){.kind = RPC_FRAME_REQUEST,
					     .flags = RPC_FRAME_LARGE,
					     .call = CALL,
					     .service = descriptor.name,
					     .service_bytes = (uint16_t)strlen(descriptor.name),
					     .payload = payload,
					     .payload_bytes = sizeof(payload)});
}

/* Grants all chunks that `memory` has room for, after `next` of them. */
static void grant(uint32_t peer, const struct rpc_grant *memory, uint32_t next)
{
	struct rpc_bulk_receiver receiver;
	uint8_t payload[RPC_GRANT_BYTES];

	rpc_bulk_receiver_init(&receiver, memory);
	receiver.next = next;
	rpc_bulk_receiver_grant(&receiver, payload);
	send_frame(peer, &(struct rpc_frame){.kind = RPC_FRAME_GRANT,
					     .call = CALL,
					     .payload = payload,
					     .payload_bytes = sizeof(payload)});
}

/* Offers memory for chunks: the server makes as much to write from. */
static void offer_memory(uint32_t peer)
{
	grant(peer,
	      &(struct rpc_grant){.slots = GRANTED_SLOTS,
				  .slot_bytes = GRANTED_BYTES / GRANTED_SLOTS,
				  .rkey = 1,
				  .address = 0x1000},
	      0);
}

/* Chunks are to be in frames. Takes the sent chunks of the stream. */
static void grant_frames(uint32_t peer)
{
	grant(peer, &(struct rpc_grant){.slots = GRANTED_SLOTS, .slot_bytes = CHUNK_BYTES},
	      world.calls.works->stream.out.sender.next);
}

/* The bytes that wait in a conversation until its client has them. */
static uint64_t queued_bytes(uint32_t peer)
{
	uint64_t bytes = 0;

	for (const struct rpc_outgoing *at = conversation_of(peer)->conversation.sender.oldest;
	     at != NULL; at = at->next)
		bytes += at->length;
	return bytes;
}

static bool is_open(uint32_t peer)
{
	return conversation_of(peer)->conversation.state == RPC_CONVERSATION_OPEN;
}

/* The client's conversation says that it has all that it was sent. */
static void acknowledge(uint32_t peer)
{
	const struct rpc_conversation *state = &conversation_of(peer)->conversation;

	receive(peer, &(struct rpc_packet){.kind = RPC_PACKET_ACK,
					   .to = state->self.connection,
					   .from = peer,
					   .cumulative = state->sender.next,
					   .credit = state->sender.next + RPC_WINDOW_PACKETS});
}

static void send_grant(uint32_t peer)
{
	offer_memory(peer);
	assert_int_equal(world.transport.rings, 1);
}

static void lose_conversation(uint32_t peer)
{
	struct transport_datagram loss = fake_loss(&world.transport, conversation_of(peer)->route);

	server_conversations_receive(&world.conversations, &loss, NOW);
	server_conversations_serve(&world.conversations, NOW);
	assert_null(conversation_of(peer));
}

/* --- tests ------------------------------------------------------------------------------------ */

static void note_ended(void *user, const struct server_conversation *conversation)
{
	(void)user;
	server_calls_conversation_ended(&world.calls, conversation);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	fake_transport_init_with_rings(&world.transport);
	world.conversations.clients.client_quota_bytes = QUOTA_BYTES;
	world.conversations.clients.quota_bytes = 2 * QUOTA_BYTES;
	world.conversations.ended = note_ended;
	world.calls.conversations = &world.conversations;
	world.calls.max_request_bytes = 1 << 20;
	return server_conversations_open(&world.conversations, &world.options) != 0 ||
	       server_calls_add(&world.calls, &service) != 0;
}

/* In every case, nothing is left when the service has ended its call. */
static int tear_down(void **state)
{
	(void)state;
	server_calls_pump(&world.calls);
	if (world.finish != NULL && !world.outlives)
		world.finish(NULL, world.closure_data);
	world.conversations.ended = NULL;
	server_calls_close(&world.calls);
	server_conversations_close(&world.conversations, NOW);
	assert_true(world.conversations.clients.held_bytes == 0);
	if (world.outlives)
		world.finish(NULL, world.closure_data);
	assert_int_equal(world.transport.rings, 0);
	return 0;
}

static void a_stream_stops_when_another_conversation_asks(void **state)
{
	(void)state;
	open_conversation(FIRST);
	send_request(FIRST);
	begin_stream();
	send_grant(FIRST);
	open_conversation(SECOND);
	send_request(SECOND);
	assert_int_equal(world.stopped, 1);
	assert_int_equal(world.transport.rings, 0);
	assert_null(world.calls.works->stream.out.route);
}

static void a_grant_ends_with_its_conversation(void **state)
{
	(void)state;
	open_conversation(FIRST);
	send_request(FIRST);
	send_grant(FIRST);
	lose_conversation(FIRST);
	assert_int_equal(world.transport.rings, 0);
	open_conversation(SECOND);
	send_request(SECOND);
	begin_stream();
	send_grant(SECOND);
	assert_ptr_equal(world.calls.works->stream.out.route, conversation_of(SECOND)->route);
	assert_int_equal(world.stopped, 0);
}

/* Memory that the server registers for its client counts before it exists. */
static void a_grant_beyond_the_quota_ends_its_conversation(void **state)
{
	struct server_clients *clients = &world.conversations.clients;
	uint64_t held_bytes;

	(void)state;
	open_conversation(FIRST);
	send_request(FIRST);
	held_bytes = clients->held_bytes;
	clients->client_quota_bytes = held_bytes + GRANTED_BYTES - 1;
	offer_memory(FIRST);
	assert_int_equal(world.transport.rings, 0);
	assert_true(clients->held_bytes == held_bytes);
	assert_int_equal(world.conversations.places[1]->conversation.state,
			 RPC_CONVERSATION_CLOSED);
}

static void a_grant_that_fills_the_quota_is_taken(void **state)
{
	(void)state;
	open_conversation(FIRST);
	send_request(FIRST);
	world.conversations.clients.client_quota_bytes =
		world.conversations.clients.held_bytes + GRANTED_BYTES;
	send_grant(FIRST);
	send_grant(FIRST); /* the same memory again is no more */
	assert_non_null(conversation_of(FIRST));
	assert_int_not_equal(conversation_of(FIRST)->conversation.state, RPC_CONVERSATION_CLOSED);
}

static void a_stream_that_nobody_is_left_for_is_stopped(void **state)
{
	(void)state;
	open_conversation(FIRST);
	send_request(FIRST);
	lose_conversation(FIRST);
	begin_stream();
	server_calls_pump(&world.calls);
	assert_int_equal(world.stopped, 1);
}

/* A request may take many times its bytes in memory until it is answered. */
static void a_request_counts_while_it_is_worked_at(void **state)
{
	struct server_clients *clients = &world.conversations.clients;

	(void)state;
	open_conversation(FIRST);
	send_request_of_fields(FIRST);
	assert_non_null(world.finish);
	assert_true(clients->held_bytes > 1024);
	world.finish(NULL, world.closure_data);
	world.finish = NULL;
	lose_conversation(FIRST);
	assert_true(clients->held_bytes < 256); /* the answer is kept */
}

static void a_request_that_there_is_no_room_for_is_not_executed(void **state)
{
	struct server_clients *clients = &world.conversations.clients;

	(void)state;
	clients->client_quota_bytes = 1024;
	open_conversation(FIRST);
	send_request_of_fields(FIRST);
	assert_null(world.finish);
	lose_conversation(FIRST);
	assert_true(clients->held_bytes < 256);
}

/* The service still has the request when the server is gone: tear_down() ends the call then. */
static void a_request_outlives_its_server(void **state)
{
	(void)state;
	open_conversation(FIRST);
	send_request_of_fields(FIRST);
	world.outlives = true;
}

static void a_large_body_gets_a_ring(void **state)
{
	(void)state;
	open_conversation(FIRST);
	send_large_request(FIRST, RPC_BODY_INLINE_BYTES + 1);
	assert_non_null(world.calls.works);
	assert_int_equal(world.transport.rings, 1);
}

static void a_body_that_a_message_has_room_for_gets_none(void **state)
{
	(void)state;
	open_conversation(FIRST);
	send_large_request(FIRST, 1);
	assert_null(world.calls.works);
	assert_int_equal(world.transport.rings, 0);
}

/* Chunks that a client grants and does not acknowledge wait for it, up to its quota. */
static void chunks_that_nobody_takes_stop_at_the_quota(void **state)
{
	uint64_t held_bytes;

	(void)state;
	world.is_generous = true;
	open_conversation(FIRST);
	send_request(FIRST);
	begin_stream();
	held_bytes = world.conversations.clients.held_bytes;
	for (int i = 0; i < 100; i++) {
		grant_frames(FIRST);
		server_calls_pump(&world.calls);
		assert_true(queued_bytes(FIRST) <= QUOTA_BYTES);
		assert_true(world.conversations.clients.held_bytes >= queued_bytes(FIRST));
	}
	assert_true(queued_bytes(FIRST) > QUOTA_BYTES / 2);
	assert_true(is_open(FIRST));
	lose_conversation(FIRST);
	server_calls_pump(&world.calls);
	assert_true(world.conversations.clients.held_bytes == held_bytes);
}

/* A client whose quota is used up gets chunks one by one: the stream does not hang. */
static void a_stream_goes_on_without_room(void **state)
{
	uint64_t sent = 0;

	(void)state;
	world.is_generous = true;
	open_conversation(FIRST);
	send_request(FIRST);
	begin_stream();
	world.conversations.clients.client_quota_bytes = 1;
	for (int i = 0; i < 10; i++) {
		if (i % GRANTED_SLOTS == 0)
			grant_frames(FIRST);
		server_calls_pump(&world.calls);
		assert_in_range(queued_bytes(FIRST), 1, TOLD_BYTES);
		while (conversation_of(FIRST)->conversation.sender.cutting != NULL ||
		       conversation_of(FIRST)->conversation.sender.base !=
			       conversation_of(FIRST)->conversation.sender.next) {
			server_conversations_serve(&world.conversations, NOW);
			acknowledge(FIRST);
		}
		assert_int_equal(queued_bytes(FIRST), 0);
		assert_int_equal(world.calls.works->stream.out.sender.next, ++sent);
	}
	assert_true(is_open(FIRST));
}

/* The word that is due to each of these is small, but there is no end to them. */
static void who_takes_no_words_loses_the_conversation(void **state)
{
	(void)state;
	open_conversation(FIRST);
	for (int i = 0; i < QUOTA_BYTES && is_open(FIRST); i++) {
		send_frame(FIRST, &(struct rpc_frame){.kind = RPC_FRAME_CANCEL,
						      .flags = RPC_FRAME_LARGE,
						      .call = CALL});
		assert_true(queued_bytes(FIRST) <= QUOTA_BYTES + TOLD_BYTES);
	}
	assert_false(is_open(FIRST));
	server_conversations_serve(&world.conversations, NOW);
	assert_true(world.conversations.clients.held_bytes == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stream_stops_when_another_conversation_asks,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_grant_ends_with_its_conversation, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_grant_beyond_the_quota_ends_its_conversation,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_grant_that_fills_the_quota_is_taken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_stream_that_nobody_is_left_for_is_stopped, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(chunks_that_nobody_takes_stop_at_the_quota, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_stream_goes_on_without_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_takes_no_words_loses_the_conversation, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_request_counts_while_it_is_worked_at, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_request_that_there_is_no_room_for_is_not_executed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_request_outlives_its_server, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_large_body_gets_a_ring, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_body_that_a_message_has_room_for_gets_none,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
