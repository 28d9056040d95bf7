/* SPDX-License-Identifier: MIT */
#include "tests/sim/rpc_world.h"
#include "tests/sim/rpc_world_bulk.h"

#include "lib/apis/rpc/wire/rpc_bytes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PPM		 1000000u
#define FAILED_OPENS_MAX 8

static const char service[] = "storm";

/* A message on the heap: a released message is freed. */
struct heap_message {
	struct rpc_outgoing outgoing;
	uint8_t bytes[];
};

static void note(struct rpc_world *world, const char *what, uint64_t number)
{
	if (world->trace != NULL)
		fprintf(world->trace, "%12" PRIu64 " us %s %" PRIu64 "\n", world->now_ns / 1000,
			what, number);
}

void rpc_world_fail(struct rpc_world *world, const char *what)
{
	if (world->failure == NULL)
		world->failure = what;
}

static uint32_t below(struct rpc_world *world, uint32_t bound)
{
	return (uint32_t)prng_below(&world->prng, bound);
}

static bool hits(struct rpc_world *world, uint32_t ppm)
{
	return below(world, PPM) < ppm;
}

/* --- network ---------------------------------------------------------------------------------- */

static void fly(struct rpc_world *world, const uint8_t *data, uint32_t bytes, bool to_server)
{
	struct rpc_world_datagram *datagram;

	if (world->flying_count == RPC_WORLD_DATAGRAMS || hits(world, world->link.loss_ppm))
		return;
	datagram = &world->flying[world->flying_count++];
	datagram->bytes = bytes;
	datagram->to_server = to_server;
	datagram->due_ns = world->now_ns + world->link.delay_ns + below(world, 20000);
	if (hits(world, world->link.reorder_ppm))
		datagram->due_ns += below(world, 5000000);
	memcpy(datagram->data, data, bytes);
	if (hits(world, world->link.damage_ppm))
		datagram->data[below(world, 4)] ^= (uint8_t)(1 + below(world, 255));
}

static void send_datagram(struct rpc_world *world, const uint8_t *data, uint32_t bytes,
			  bool to_server)
{
	world->datagrams++;
	if (world->link.largest_bytes != 0 && bytes > world->link.largest_bytes) {
		world->too_large++;
		return;
	}
	fly(world, data, bytes, to_server);
	if (hits(world, world->link.duplicate_ppm))
		fly(world, data, bytes, to_server);
}

/* --- messages --------------------------------------------------------------------------------- */

static void reap(struct rpc_world *world, struct rpc_conversation *conversation)
{
	struct rpc_outgoing *message;

	while ((message = rpc_conversation_take_released(conversation)) != NULL) {
		world->messages_out--;
		free((struct heap_message *)message);
	}
}

void rpc_world_send(struct rpc_world *world, struct rpc_conversation *conversation,
		    const struct rpc_frame *frame)
{
	size_t bytes = rpc_frame_bytes(frame);
	struct heap_message *message = malloc(sizeof(*message) + bytes);

	assert(message != NULL);
	rpc_frame_encode(frame, message->bytes);
	message->outgoing =
		(struct rpc_outgoing){.bytes = message->bytes, .length = (uint32_t)bytes};
	if (rpc_conversation_send(conversation, &message->outgoing) != 0) {
		free(message);
		return;
	}
	world->messages_out++;
}

static void drop_end(struct rpc_world *world, struct rpc_world_end *end)
{
	if (!end->is_used)
		return;
	rpc_conversation_close(&end->conversation);
	reap(world, &end->conversation);
	free(end->memory);
	end->is_used = false;
}

static struct rpc_conversation_self make_self(struct rpc_world *world, const uint8_t *identity)
{
	struct rpc_conversation_self self = {
		.connection = (uint32_t)prng_next(&world->prng) | 1,
		.first_sequence = (uint32_t)prng_next(&world->prng) | 0xffffffc0u,
	};

	memcpy(self.identity, identity, RPC_IDENTITY_BYTES);
	return self;
}

static void make_end(struct rpc_world *world, struct rpc_world_end *end)
{
	end->memory = malloc(rpc_conversation_memory_bytes(&world->config));
	assert(end->memory != NULL);
	end->is_used = true;
	end->begun_ns = world->now_ns;
	world->conversations++;
}

/* --- client ----------------------------------------------------------------------------------- */

static void open_client(struct rpc_world *world)
{
	static const uint8_t identity[RPC_IDENTITY_BYTES] = "storm client";
	struct rpc_conversation_self self = make_self(world, identity);
	struct rpc_conversation_config config = world->config;

	config.offer_bytes = world->client_offer_bytes;
	make_end(world, &world->client);
	rpc_conversation_open(&world->client.conversation, &config, &self, world->client.memory,
			      world->now_ns);
	note(world, "client opens", self.connection);
}

static void end_calls(struct rpc_world *world)
{
	struct rpc_call ended;

	while (rpc_calls_take_ended(&world->calls, &ended)) {
		struct rpc_world_plan *plan = &world->plans[ended.id];

		if (plan->ends++ > 0)
			rpc_world_fail(world, "a call ended twice");
		plan->status = ended.status;
		note(world, rnic_rpc_status_text(ended.status), ended.id);
		if (ended.owes_cancel &&
		    world->client.conversation.state == RPC_CONVERSATION_OPEN) {
			struct rpc_frame cancel = {.kind = RPC_FRAME_CANCEL, .call = ended.id};

			rpc_world_send(world, &world->client.conversation, &cancel);
		}
	}
}

static void take_answer(struct rpc_world *world, const uint8_t *bytes, uint32_t length)
{
	struct rpc_frame frame;
	struct rpc_call *call;
	bool is_good;

	if (rpc_frame_decode(&frame, bytes, length) != 0 || frame.kind == RPC_FRAME_REQUEST ||
	    frame.kind == RPC_FRAME_CANCEL) {
		rpc_world_fail(world, "the client got what is no answer");
		return;
	}
	if (rpc_world_client_takes_bulk(world, &frame))
		return;
	call = rpc_calls_answer(&world->calls, &frame);
	if (call == NULL)
		return;
	if (world->plans[call->id].is_stream) {
		world->plans[call->id].was_answered_well =
			world->plans[call->id].received == world->plans[call->id].request_bytes;
		return;
	}
	is_good = frame.payload_bytes == world->plans[call->id].request_bytes;
	for (uint32_t i = 0; i < frame.payload_bytes && is_good; i++)
		is_good = frame.payload[i] == rpc_world_pattern(call->id, i, true);
	world->plans[call->id].was_answered_well = is_good;
}

static void send_calls(struct rpc_world *world)
{
	static uint8_t payload[RPC_WORLD_MESSAGE_BYTES];
	struct rpc_call *call;

	while ((call = rpc_calls_take_waiting(&world->calls)) != NULL) {
		struct rpc_frame frame = {
			.kind = RPC_FRAME_REQUEST,
			.service = service,
			.service_bytes = sizeof(service) - 1,
			.method = 1,
			.payload = payload,
			.payload_bytes = world->plans[call->id].request_bytes,
		};

		if (frame.payload_bytes <= RPC_WORLD_MESSAGE_BYTES)
			for (uint32_t i = 0; i < frame.payload_bytes; i++)
				payload[i] = rpc_world_pattern(call->id, i, false);
		rpc_calls_describe(&world->calls, call, &frame, world->now_ns);
		note(world, "client sends call", call->id);
		rpc_world_client_begins(world, call->id, &frame);
	}
	rpc_world_client_pumps(world);
}

static void turn_client(struct rpc_world *world)
{
	struct rpc_conversation *conversation = &world->client.conversation;
	const uint8_t *bytes;
	uint32_t length;

	if (!world->client.is_used && !rpc_world_is_quiet(world))
		open_client(world);
	if (world->client.is_used) {
		rpc_conversation_tick(conversation, world->now_ns);
		while (rpc_conversation_take(conversation, &bytes, &length))
			take_answer(world, bytes, length);
		if (conversation->state == RPC_CONVERSATION_OPEN &&
		    !world->calls.has_conversation) {
			world->failed_opens = 0;
			rpc_calls_conversation_opened(&world->calls, conversation->peer_identity);
		}
		if (conversation->state == RPC_CONVERSATION_CLOSED) {
			note(world, "client's conversation ended", (uint64_t)-conversation->error);
			rpc_world_client_forgets(world);
			rpc_calls_conversation_lost(&world->calls);
			drop_end(world, &world->client);
			if (++world->failed_opens > FAILED_OPENS_MAX)
				rpc_calls_give_up(&world->calls);
		}
	}
	rpc_calls_tick(&world->calls, world->now_ns);
	send_calls(world);
	end_calls(world);
	if (world->client.is_used) {
		reap(world, conversation);
		rpc_conversation_hold_ack(
			conversation, below(world, 2) == 0 ? 0 : world->now_ns + 2 * RPC_WORLD_MS);
	}
}

/* --- server ----------------------------------------------------------------------------------- */

static void send_answer(struct rpc_world *world, uint32_t end, uint64_t call, uint32_t status,
			uint32_t bytes)
{
	static uint8_t payload[RPC_WORLD_MESSAGE_BYTES];
	struct rpc_frame frame = {
		.kind = RPC_FRAME_ANSWER,
		.call = call,
		.status = status,
		.payload = payload,
		.payload_bytes = bytes,
	};

	for (uint32_t i = 0; i < bytes; i++)
		payload[i] = rpc_world_pattern(call, i, true);
	if (world->ends[end].is_used)
		rpc_world_send(world, &world->ends[end].conversation, &frame);
}

/* Announces a body that is too large for a message. */
static void send_good_answer(struct rpc_world *world, uint32_t end, uint64_t call, uint32_t bytes)
{
	if (bytes > RPC_WORLD_MESSAGE_BYTES)
		rpc_world_server_announces(world, end, call, bytes);
	else
		send_answer(world, end, call, RNIC_RPC_OK, bytes);
}

static void note_execution(struct rpc_world *world, uint64_t call)
{
	struct rpc_world_plan *plan = &world->plans[call];

	plan->executions++;
	if (plan->executions_here++ > 0)
		rpc_world_fail(world, "one server executed a call twice");
	if (plan->executions > 1 && (!plan->is_idempotent || plan->is_stream))
		rpc_world_fail(world, "a call was executed twice");
}

void rpc_world_execute(struct rpc_world *world, struct rpc_world_work *work)
{
	note_execution(world, work->id);
	work->is_coming = false;
	work->finish_ns = world->now_ns + below(world, 30) * RPC_WORLD_MS / 2;
}

static void begin_work(struct rpc_world *world, uint32_t end, const struct rpc_frame *request)
{
	struct rpc_world_work *work = &world->works[request->call % RPC_CALLS_MAX];
	bool is_large = (request->flags & RPC_FRAME_LARGE) != 0;
	uint64_t bytes = is_large ? rpc_bulk_total(request) : request->payload_bytes;

	if (bytes != world->plans[request->call].request_bytes)
		rpc_world_fail(world, "a request changed its length");
	*work = (struct rpc_world_work){
		.is_used = true,
		.id = request->call,
		.end = end,
		.finish_ns = UINT64_MAX,
		.request_bytes = (uint32_t)bytes,
		.is_stream = (request->flags & RPC_FRAME_STREAM) != 0,
	};
	if (is_large) {
		rpc_world_server_expects(world, work);
		return;
	}
	for (uint32_t i = 0; i < request->payload_bytes; i++)
		if (request->payload[i] != rpc_world_pattern(request->call, i, false))
			rpc_world_fail(world, "a request changed on its way");
	rpc_world_execute(world, work);
}

/* The call is known; the conversation that asked last is the one to answer. */
static void follow(struct rpc_world *world, uint32_t end, uint64_t call)
{
	struct rpc_world_work *work = &world->works[call % RPC_CALLS_MAX];

	work->end = end;
	if (work->is_coming)
		rpc_world_server_expects(world, work);
}

static void take_request(struct rpc_world *world, uint32_t end, const uint8_t *bytes,
			 uint32_t length)
{
	struct rpc_frame frame;
	void *answer;

	if (rpc_frame_decode(&frame, bytes, length) != 0 || frame.call == 0 ||
	    frame.call > RPC_WORLD_CALLS || frame.kind == RPC_FRAME_ANSWER) {
		rpc_world_fail(world, "the server got what is no request");
		return;
	}
	if (frame.kind == RPC_FRAME_CANCEL) {
		rpc_history_cancel(&world->history, frame.call);
		rpc_world_server_cancels(world, frame.call);
		return;
	}
	if (rpc_world_server_takes_bulk(world, end, &frame))
		return;
	rpc_history_settle(&world->history, frame.settled);
	while ((answer = rpc_history_take_dropped(&world->history, false)) != NULL)
		free(answer);
	switch (rpc_history_request(&world->history, &frame, &answer)) {
	case RPC_EXECUTE:
		begin_work(world, end, &frame);
		break;
	case RPC_WAIT:
		follow(world, end, frame.call);
		break;
	case RPC_REPEAT:
		send_good_answer(world, end, frame.call, *(uint32_t *)answer);
		break;
	case RPC_STALE:
		break;
	case RPC_REFUSE:
		send_answer(world, end, frame.call, RNIC_RPC_OVERLOADED, 0);
		break;
	}
}

static void finish_work(struct rpc_world *world)
{
	for (uint32_t i = 0; i < RPC_CALLS_MAX; i++) {
		struct rpc_world_work *work = &world->works[i];
		uint32_t *answer;

		if (!work->is_used || work->finish_ns > world->now_ns)
			continue;
		if (work->is_stream && !rpc_world_server_streams(world, work))
			continue;
		work->is_used = false;
		answer = malloc(sizeof(*answer));
		assert(answer != NULL);
		*answer = work->is_stream ? 0 : work->request_bytes;
		if (rpc_history_answer(&world->history, work->id, answer))
			send_good_answer(world, work->end, work->id, *answer);
		else
			free(answer);
	}
}

static void turn_server(struct rpc_world *world)
{
	const uint8_t *bytes;
	uint32_t length;

	for (uint32_t i = 0; i < RPC_WORLD_CONVERSATIONS; i++) {
		struct rpc_world_end *end = &world->ends[i];

		if (!end->is_used)
			continue;
		rpc_conversation_tick(&end->conversation, world->now_ns);
		while (rpc_conversation_take(&end->conversation, &bytes, &length))
			take_request(world, i, bytes, length);
		if (end->conversation.state == RPC_CONVERSATION_CLOSED)
			rpc_world_server_forgets(world, i);
	}
	finish_work(world);
	rpc_world_server_pumps(world);
	for (uint32_t i = 0; i < RPC_WORLD_CONVERSATIONS; i++)
		if (world->ends[i].is_used)
			reap(world, &world->ends[i].conversation);
}

static void accept_open(struct rpc_world *world, const struct rpc_packet *packet)
{
	struct rpc_conversation_self self = make_self(world, world->incarnation);
	struct rpc_world_end *oldest = &world->ends[0];
	struct rpc_conversation_config config = world->config;

	for (uint32_t i = 0; i < RPC_WORLD_CONVERSATIONS; i++) {
		struct rpc_world_end *end = &world->ends[i];

		if (end->is_used && end->conversation.peer == packet->from &&
		    end->conversation.state != RPC_CONVERSATION_CLOSED) {
			rpc_conversation_receive(&end->conversation, packet, world->now_ns);
			return;
		}
		if (!end->is_used || (oldest->is_used && end->begun_ns < oldest->begun_ns))
			oldest = end;
	}
	rpc_world_server_forgets(world, (uint32_t)(oldest - world->ends));
	drop_end(world, oldest);
	make_end(world, oldest);
	config.offer_bytes = world->server_offer_bytes;
	rpc_conversation_accept(&oldest->conversation, &config, &self, packet, oldest->memory,
				world->now_ns);
	note(world, "server accepts", packet->from);
}

static void receive_at_server(struct rpc_world *world, const struct rpc_packet *packet)
{
	uint8_t answer[RPC_HEADER_BYTES];
	uint32_t bytes;

	if (packet->kind == RPC_PACKET_OPEN) {
		accept_open(world, packet);
		return;
	}
	for (uint32_t i = 0; i < RPC_WORLD_CONVERSATIONS; i++) {
		struct rpc_world_end *end = &world->ends[i];

		if (end->is_used && end->conversation.self.connection == packet->to &&
		    end->conversation.state != RPC_CONVERSATION_CLOSED) {
			rpc_conversation_receive(&end->conversation, packet, world->now_ns);
			return;
		}
	}
	bytes = rpc_conversation_refuse(packet, RPC_CLOSE_NO_CONVERSATION, answer, sizeof(answer));
	if (bytes > 0)
		send_datagram(world, answer, bytes, false);
}

/* --- the world -------------------------------------------------------------------------------- */

/* Its bytes lie still while it is handled: the place that it leaves gets those of the last one. */
static const struct rpc_world_datagram *land(struct rpc_world *world, uint32_t i)
{
	struct rpc_world_datagram last = world->arriving;

	world->arriving = world->flying[i];
	world->flying[i] = world->flying[--world->flying_count];
	world->flying[world->flying_count] = last;
	return &world->arriving;
}

static void take(struct rpc_world *world, const struct rpc_world_datagram *datagram)
{
	struct rpc_packet packet;
	size_t at = 0;

	while (rpc_packet_next(&packet, datagram->data, datagram->bytes, &at)) {
		if (!datagram->to_server && world->client.is_used)
			rpc_conversation_receive(&world->client.conversation, &packet,
						 world->now_ns);
		else if (datagram->to_server && world->is_server_up)
			receive_at_server(world, &packet);
	}
}

static void arrive(struct rpc_world *world)
{
	for (uint32_t i = 0; i < world->flying_count;) {
		if (world->flying[i].due_ns > world->now_ns) {
			i++;
			continue;
		}
		take(world, land(world, i));
	}
}

static void transmit(struct rpc_world *world, struct rpc_world_end *end, bool to_server)
{
	uint8_t data[RPC_DATAGRAM_MAX_BYTES];
	uint32_t bytes, count = 0;

	while (end->is_used &&
	       (bytes = rpc_conversation_transmit(&end->conversation, data, world->now_ns))) {
		send_datagram(world, data, bytes, to_server);
		if (++count > RPC_LARGE_WINDOW_PACKETS * RPC_PARTS_MAX) {
			rpc_world_fail(world, "a conversation does not stop transmitting");
			return;
		}
	}
}

static void turn(struct rpc_world *world)
{
	arrive(world);
	turn_client(world);
	transmit(world, &world->client, true);
	if (!world->is_server_up)
		return;
	turn_server(world);
	for (uint32_t i = 0; i < RPC_WORLD_CONVERSATIONS; i++)
		transmit(world, &world->ends[i], false);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t next_event_ns(const struct rpc_world *world)
{
	uint64_t next = rpc_calls_next_deadline_ns(&world->calls);

	for (uint32_t i = 0; i < world->flying_count; i++)
		next = least(next, world->flying[i].due_ns);
	if (world->client.is_used)
		next = least(next, rpc_conversation_next_deadline_ns(&world->client.conversation));
	else if (!rpc_world_is_quiet(world))
		next = world->now_ns + RPC_WORLD_MS;
	for (uint32_t i = 0; i < RPC_WORLD_CONVERSATIONS && world->is_server_up; i++)
		if (world->ends[i].is_used)
			next = least(next, rpc_conversation_next_deadline_ns(
						   &world->ends[i].conversation));
	for (uint32_t i = 0; i < RPC_CALLS_MAX && world->is_server_up; i++)
		if (world->works[i].is_used && world->works[i].finish_ns > world->now_ns)
			next = least(next, world->works[i].finish_ns);
	return next;
}

void rpc_world_run(struct rpc_world *world, uint64_t until_ns)
{
	while (world->failure == NULL) {
		uint64_t next;

		turn(world);
		next = next_event_ns(world);
		if (next >= until_ns)
			break;
		if (next < world->now_ns)
			rpc_world_fail(world, "a deadline that was served lies in the past");
		world->now_ns = next > world->now_ns ? next : world->now_ns + 1;
	}
	world->now_ns = until_ns;
}

bool rpc_world_call(struct rpc_world *world, const struct rpc_world_call *wanted)
{
	struct rpc_call *call;

	if (world->calls.next > RPC_WORLD_CALLS)
		return false;
	call = rpc_calls_begin(&world->calls, wanted->is_idempotent,
			       world->now_ns + wanted->timeout_ns, NULL);
	if (call == NULL)
		return false;
	call->is_stream = wanted->is_stream;
	world->plans[call->id] = (struct rpc_world_plan){
		.is_idempotent = wanted->is_idempotent,
		.is_stream = wanted->is_stream,
		.request_bytes = wanted->request_bytes,
	};
	return true;
}

void rpc_world_cancel(struct rpc_world *world, uint64_t call)
{
	struct rpc_call *found = &world->calls.slots[call % RPC_CALLS_MAX];

	if (found->id == call)
		rpc_calls_end(found, RNIC_RPC_CANCELLED);
}

void rpc_world_kill_server(struct rpc_world *world)
{
	void *answer;

	note(world, "server dies", 0);
	world->is_server_up = false;
	for (uint32_t i = 0; i < RPC_WORLD_CONVERSATIONS; i++)
		drop_end(world, &world->ends[i]);
	while ((answer = rpc_history_take_dropped(&world->history, true)) != NULL)
		free(answer);
	memset(world->works, 0, sizeof(world->works));
	memset(world->transfers, 0, sizeof(world->transfers));
}

void rpc_world_start_server(struct rpc_world *world)
{
	if (world->is_server_up)
		return;
	rpc_history_init(&world->history);
	for (uint32_t i = 0; i < RPC_IDENTITY_BYTES; i++)
		world->incarnation[i] = (uint8_t)below(world, 256);
	for (uint32_t i = 0; i <= RPC_WORLD_CALLS; i++)
		world->plans[i].executions_here = 0;
	world->is_server_up = true;
	note(world, "server starts", 0);
}

bool rpc_world_is_quiet(const struct rpc_world *world)
{
	return world->calls.oldest == world->calls.next;
}

/* Most ends offer a size of datagrams, and some are too old to do so. */
static uint32_t make_offer(struct rpc_world *world)
{
	const uint32_t least = world->config.datagram_bytes;

	if (below(world, 4) == 0)
		return 0;
	return least + below(world, RPC_DATAGRAM_MAX_BYTES - least + 1);
}

static void make_offers(struct rpc_world *world)
{
	world->client_offer_bytes = make_offer(world);
	world->server_offer_bytes = make_offer(world);
	world->config.offer_bytes = world->client_offer_bytes > world->server_offer_bytes
					    ? world->client_offer_bytes
					    : world->server_offer_bytes;
}

struct rpc_world *rpc_world_create(uint64_t seed, FILE *trace)
{
	struct rpc_world *world = calloc(1, sizeof(*world));

	assert(world != NULL);
	prng_init(&world->prng, seed);
	world->trace = trace;
	world->now_ns = 1000 * RPC_WORLD_MS;
	world->data = malloc((RPC_WORLD_DATAGRAMS + 1) * RPC_DATAGRAM_MAX_BYTES);
	assert(world->data != NULL);
	for (uint32_t i = 0; i < RPC_WORLD_DATAGRAMS; i++)
		world->flying[i].data = world->data + (size_t)i * RPC_DATAGRAM_MAX_BYTES;
	world->arriving.data = world->data + RPC_WORLD_DATAGRAMS * RPC_DATAGRAM_MAX_BYTES;
	world->config = rpc_conversation_defaults;
	world->config.max_message_bytes = RPC_WORLD_MESSAGE_BYTES + 512;
	world->config.keepalive_ns = 100 * RPC_WORLD_MS;
	world->config.dead_ns = 1000 * RPC_WORLD_MS;
	world->config.rto_max_ns = 200 * RPC_WORLD_MS;
	world->config.window_packets = 4u << below(world, 5);
	world->config.datagram_bytes = 256u << below(world, 5);
	make_offers(world);
	world->link.delay_ns = 10000;
	rpc_calls_init(&world->calls);
	rpc_world_start_server(world);
	return world;
}

void rpc_world_destroy(struct rpc_world *world)
{
	drop_end(world, &world->client);
	rpc_world_kill_server(world);
	free(world->data);
	free(world);
}

const char *rpc_world_judge(const struct rpc_world *world)
{
	if (world->failure != NULL)
		return world->failure;
	for (uint64_t id = 1; id < world->calls.next; id++) {
		const struct rpc_world_plan *plan = &world->plans[id];

		if (plan->ends != 1)
			return "a call did not end";
		if (plan->status == RNIC_RPC_OK &&
		    (plan->executions == 0 || !plan->was_answered_well))
			return "a success with a wrong answer, or none";
		if (plan->status == RNIC_RPC_UNAVAILABLE && !plan->is_idempotent &&
		    plan->executions > 0)
			return "said not to be executed, and was";
	}
	return NULL;
}
