/* SPDX-License-Identifier: MIT */
/*
 * When a client acknowledges answers: with the next call of a program that begins one at once, by a
 * datagram of its own for any other program. The conversations are real, and the link between them
 * and the server are fakes. A server answers each call when the client receives.
 */
#include "lib/apis/rpc/client/call_rhythm.h"
#include "lib/apis/rpc/client/client_bodies.h"

#include "lib/apis/dial/dial.h"
#include "tests/unit/unit_test.h"

#define MS    UINT64_C(1000000)
#define START (1000 * MS)
/* After this time the server sends an answer again that nobody has acknowledged. */
#define AGAIN_NS (5 * MS)

static struct {
	uint64_t now_ns;
	uint64_t timer_ns; /* when the client wants to be woken */
	struct transport transport;
	struct rpc_conversation server;
	void *server_memory; /* NULL: no client has come */
	uint32_t sent[256];  /* packets of the client, by kind */
	uint32_t answers;    /* that the client has not acknowledged */
	struct rnic_rpc_client *client;
	uint32_t ended; /* calls */
} world;

/* --- the server ------------------------------------------------------------------------------- */

static void take_at_server(const struct rpc_packet *packet)
{
	static const struct rpc_conversation_self self = {.connection = 22, .identity = "server"};

	world.sent[packet->kind]++;
	if (world.server_memory != NULL) {
		rpc_conversation_receive(&world.server, packet, world.now_ns);
		return;
	}
	world.server_memory = malloc(rpc_conversation_memory_bytes(&rpc_conversation_defaults));
	assert_non_null(world.server_memory);
	rpc_conversation_accept(&world.server, &rpc_conversation_defaults, &self, packet,
				world.server_memory, world.now_ns);
}

static void answer_call(uint64_t call)
{
	const struct rpc_frame frame = {.kind = RPC_FRAME_ANSWER, .call = call};
	const size_t bytes = rpc_frame_bytes(&frame);
	struct heap_message *message = malloc(sizeof(*message) + bytes);

	assert_non_null(message);
	rpc_frame_encode(&frame, message->bytes);
	message->outgoing =
		(struct rpc_outgoing){.bytes = message->bytes, .length = (uint32_t)bytes};
	assert_int_equal(rpc_conversation_send(&world.server, &message->outgoing), 0);
	world.answers++;
}

static uint32_t free_released(struct rpc_conversation *conversation)
{
	struct rpc_outgoing *message;
	uint32_t count = 0;

	for (; (message = rpc_conversation_take_released(conversation)) != NULL; count++)
		free((struct heap_message *)message);
	return count;
}

static void serve_calls(void)
{
	struct rpc_frame frame;
	const uint8_t *bytes;
	uint32_t length;

	world.answers -= free_released(&world.server);
	while (rpc_conversation_take(&world.server, &bytes, &length)) {
		assert_int_equal(rpc_frame_decode(&frame, bytes, length), 0);
		assert_int_equal(frame.kind, RPC_FRAME_REQUEST);
		answer_call(frame.call);
	}
}

/* --- the link to it --------------------------------------------------------------------------- */

static int arm_nothing(struct transport *transport)
{
	(void)transport;
	return 0;
}

static const struct transport_calls fake_calls = {.arm = arm_nothing};

int client_link_open(struct client_link *link, const struct rnic_rpc_options *options,
		     const char *host, uint16_t port)
{
	static const struct rpc_conversation_self self = {.connection = 11, .identity = "client"};

	(void)options;
	(void)host;
	(void)port;
	world.transport.calls = &fake_calls;
	*link = (struct client_link){.transport = &world.transport, .state = LINK_CONVERSATION};
	link->conversation_memory =
		malloc(rpc_conversation_memory_bytes(&rpc_conversation_defaults));
	assert_non_null(link->conversation_memory);
	rpc_conversation_open(&link->conversation, &rpc_conversation_defaults, &self,
			      link->conversation_memory, world.now_ns);
	return 0;
}

void client_link_close(struct client_link *link)
{
	rpc_conversation_close(&link->conversation);
	rpc_conversation_close(&world.server);
	free_released(&link->conversation);
	free_released(&world.server);
	free(link->conversation_memory);
	free(world.server_memory);
}

int client_link_receive(struct client_link *link, bool is_wanted, uint64_t now_ns)
{
	uint8_t datagram[RPC_DATAGRAM_MAX_BYTES];
	struct rpc_packet packet;
	uint32_t bytes;

	(void)is_wanted;
	rpc_conversation_tick(&link->conversation, now_ns);
	if (world.server_memory == NULL)
		return 0;
	serve_calls();
	while ((bytes = rpc_conversation_transmit(&world.server, datagram, now_ns)) > 0)
		for (size_t at = 0; rpc_packet_next(&packet, datagram, bytes, &at);)
			rpc_conversation_receive(&link->conversation, &packet, now_ns);
	return 0;
}

int client_link_send(struct client_link *link, const struct rpc_frame *frame)
{
	const size_t bytes = rpc_frame_bytes(frame);
	struct heap_message *message = malloc(sizeof(*message) + bytes);

	assert_non_null(message);
	rpc_frame_encode(frame, message->bytes);
	message->outgoing =
		(struct rpc_outgoing){.bytes = message->bytes, .length = (uint32_t)bytes};
	return rpc_conversation_send(&link->conversation, &message->outgoing);
}

void client_link_transmit(struct client_link *link, uint64_t now_ns)
{
	uint8_t datagram[RPC_DATAGRAM_MAX_BYTES];
	struct rpc_packet packet;
	uint32_t bytes;

	while ((bytes = rpc_conversation_transmit(&link->conversation, datagram, now_ns)) > 0)
		for (size_t at = 0; rpc_packet_next(&packet, datagram, bytes, &at);)
			take_at_server(&packet);
	free_released(&link->conversation);
}

bool client_link_is_open(const struct client_link *link)
{
	return link->conversation.state == RPC_CONVERSATION_OPEN;
}

uint64_t client_link_next_deadline_ns(const struct client_link *link)
{
	return rpc_conversation_next_deadline_ns(&link->conversation);
}

bool client_link_take_refusal(struct client_link *link)
{
	(void)link;
	return false;
}

bool client_link_gives_up(struct client_link *link, uint64_t now_ns)
{
	(void)link;
	(void)now_ns;
	return false;
}

void client_link_drop(struct client_link *link, uint64_t now_ns)
{
	(void)link;
	(void)now_ns;
	fail_msg("the conversation has ended");
}

/* --- what is not there ------------------------------------------------------------------------ */

uint64_t rnic_dial_now_ns(void)
{
	return world.now_ns;
}

int transport_device_wait(struct transport_device *device, int timeout_ms)
{
	(void)device;
	(void)timeout_ms;
	return 0;
}

void transport_device_set_timer(struct transport_device *device, uint64_t deadline_ns)
{
	(void)device;
	world.timer_ns = deadline_ns;
}

void transport_device_wake(struct transport_device *device)
{
	(void)device;
}

void transport_device_begin_work(struct transport_device *device)
{
	(void)device;
}

void transport_device_end_work(struct transport_device *device)
{
	(void)device;
}

int client_body_expect(struct client_body *body, struct client_link *link, uint64_t call,
		       uint64_t total)
{
	(void)body;
	(void)link;
	(void)call;
	(void)total;
	return -ENOMEM;
}

int client_body_take_grant(struct client_body *body, struct client_link *link,
			   const struct rpc_frame *frame)
{
	(void)body;
	(void)link;
	(void)frame;
	return -EPROTO;
}

void client_body_pump(struct client_body *body, struct client_link *link, uint64_t call,
		      const uint8_t *input, uint64_t input_bytes)
{
	(void)body;
	(void)link;
	(void)call;
	(void)input;
	(void)input_bytes;
}

int client_body_take_chunk(struct client_body *body, const struct rpc_frame *frame,
			   struct rpc_chunk *chunk)
{
	(void)body;
	(void)frame;
	(void)chunk;
	return -EPROTO;
}

void client_body_release_chunk(struct client_body *body, struct client_link *link, uint64_t call)
{
	(void)body;
	(void)link;
	(void)call;
}

bool client_body_end(struct client_body *body, struct client_link *link, uint64_t call,
		     bool is_cut_off)
{
	(void)body;
	(void)link;
	(void)call;
	(void)is_cut_off;
	return false;
}

void client_orphans_note_unclaimed(struct client_orphans *orphans, const struct rpc_frame *frame)
{
	(void)orphans;
	(void)frame;
}

bool client_orphans_are_kept(const struct client_orphans *orphans, uint64_t now_ns)
{
	(void)orphans;
	(void)now_ns;
	return false;
}

/* --- calls ------------------------------------------------------------------------------------ */

static const ProtobufCMessageDescriptor nothing = {
	.magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
	.name = "nothing",
	.sizeof_message = sizeof(ProtobufCMessage),
};
static const ProtobufCMethodDescriptor method = {
	.name = "method", .input = &nothing, .output = &nothing};
static const ProtobufCServiceDescriptor service = {
	.name = "service", .n_methods = 1, .methods = &method};

static void note_end(uint32_t status, const ProtobufCMessage *output, void *user)
{
	(void)output;
	(void)user;
	assert_int_equal(status, RNIC_RPC_OK);
	world.ended++;
}

/* One call after another, each of which begins `pause_ns` after the end of the one before. */
static void call_in_turn(uint32_t calls, uint64_t pause_ns)
{
	static const ProtobufCMessage input = {.descriptor = &nothing};
	uint64_t call;

	for (uint32_t i = 0; i < calls; i++) {
		const uint32_t before = world.ended;

		world.now_ns += pause_ns;
		assert_int_equal(rnic_rpc_begin(world.client, &service, 0, &input, NULL, note_end,
						NULL, &call),
				 0);
		for (unsigned turns = 0; world.ended == before; turns++) {
			assert_in_range(turns, 0, 3);
			assert_int_equal(rnic_rpc_client_turn(world.client, 0), 0);
		}
	}
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.now_ns = START;
	return rnic_rpc_create_client(NULL, "server", 1, &world.client);
}

static int tear_down(void **state)
{
	(void)state;
	rnic_rpc_destroy_client(world.client);
	return 0;
}

/* Nobody knows yet whether the program will begin the next call at once. */
static void the_first_answers_are_acknowledged_at_once(void **state)
{
	(void)state;
	for (uint32_t calls = 1; calls <= CALL_RHYTHM_TIMES; calls++) {
		call_in_turn(1, 0);
		assert_int_equal(world.sent[RPC_PACKET_ACK], calls);
	}
}

static void the_next_call_of_a_prompt_program_acknowledges(void **state)
{
	(void)state;
	call_in_turn(CALL_RHYTHM_TIMES, 0);
	for (uint32_t i = 0; i < 10; i++) {
		call_in_turn(1, 0);
		assert_int_equal(world.sent[RPC_PACKET_ACK], CALL_RHYTHM_TIMES);
		assert_int_equal(world.answers, 1); /* the latest one */
	}
}

/* A program that pauses before each call would leave the server without an acknowledgement. */
static void the_answers_of_a_slow_program_are_acknowledged_at_once(void **state)
{
	(void)state;
	call_in_turn(3 * CALL_RHYTHM_TIMES, MS);
	assert_int_equal(world.sent[RPC_PACKET_ACK], 3 * CALL_RHYTHM_TIMES);
}

/* The server does not send the answer again. */
static void a_prompt_program_that_stops_acknowledges_in_time(void **state)
{
	(void)state;
	call_in_turn(CALL_RHYTHM_TIMES + 1, 0);
	assert_int_equal(world.sent[RPC_PACKET_ACK], CALL_RHYTHM_TIMES);
	assert_in_range(world.timer_ns, world.now_ns + 1, world.now_ns + AGAIN_NS - 1);
	world.now_ns = world.timer_ns;
	assert_int_equal(rnic_rpc_client_turn(world.client, 0), 0);
	assert_int_equal(world.sent[RPC_PACKET_ACK], CALL_RHYTHM_TIMES + 1);
	assert_int_equal(world.answers, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_answers_are_acknowledged_at_once),
		TEST(the_next_call_of_a_prompt_program_acknowledges),
		TEST(the_answers_of_a_slow_program_are_acknowledged_at_once),
		TEST(a_prompt_program_that_stops_acknowledges_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
