/* SPDX-License-Identifier: MIT */
#include "tests/sim/rpc_world_bulk.h"

#define SLOT_BYTES 3000u

static const struct rpc_grant memory = {.slots = 4, .slot_bytes = SLOT_BYTES};

/* --- both sides ------------------------------------------------------------------------------- */

static void send_grant(struct rpc_world *world, struct rpc_conversation *conversation,
		       uint64_t call, struct rpc_bulk_receiver *receiver)
{
	uint8_t payload[RPC_GRANT_BYTES];
	const struct rpc_frame frame = {
		.kind = RPC_FRAME_GRANT,
		.call = call,
		.payload = payload,
		.payload_bytes = sizeof(payload),
	};

	rpc_bulk_receiver_grant(receiver, payload);
	rpc_world_send(world, conversation, &frame);
}

/* Sends chunks of a body of `total` bytes, of which *sent are sent, while they are granted. */
static void pump(struct rpc_world *world, struct rpc_conversation *conversation, uint64_t call,
		 struct rpc_bulk_sender *sender, uint32_t *sent, uint32_t total, bool is_answer)
{
	uint8_t payload[RPC_CHUNK_HEAD_BYTES + SLOT_BYTES];

	while (*sent < total && rpc_bulk_sender_may_send(sender)) {
		uint32_t bytes = total - *sent < SLOT_BYTES ? total - *sent : SLOT_BYTES;
		const struct rpc_frame frame = {
			.kind = RPC_FRAME_CHUNK,
			.call = call,
			.payload = payload,
			.payload_bytes = RPC_CHUNK_HEAD_BYTES + bytes,
		};

		rpc_bulk_sender_chunk(sender, bytes, payload);
		for (uint32_t i = 0; i < bytes; i++)
			payload[RPC_CHUNK_HEAD_BYTES + i] =
				rpc_world_pattern(call, *sent + i, is_answer);
		*sent += bytes;
		rpc_world_send(world, conversation, &frame);
	}
}

/* Takes a chunk and checks its bytes; grants more of `left` bytes when it is time. */
static void take_chunk(struct rpc_world *world, struct rpc_conversation *conversation,
		       const struct rpc_frame *frame, struct rpc_bulk_receiver *receiver,
		       uint32_t *received, uint32_t total, bool is_answer)
{
	struct rpc_chunk chunk;

	if (rpc_bulk_receiver_take(receiver, frame, &chunk) != 0 ||
	    chunk.bytes > total - *received) {
		rpc_world_fail(world, "a chunk makes no sense");
		return;
	}
	for (uint32_t i = 0; i < chunk.bytes; i++)
		if (chunk.data[i] != rpc_world_pattern(frame->call, *received + i, is_answer))
			rpc_world_fail(world, "a chunk changed on its way");
	*received += chunk.bytes;
	if (rpc_bulk_receiver_owes_grant(receiver, total - *received))
		send_grant(world, conversation, frame->call, receiver);
}

static void take_grant(struct rpc_world *world, struct rpc_bulk_sender *sender,
		       const struct rpc_frame *frame)
{
	if (rpc_bulk_sender_grant(sender, frame) != 0)
		rpc_world_fail(world, "a grant makes no sense");
}

static bool is_large(uint32_t bytes)
{
	return bytes > RPC_WORLD_MESSAGE_BYTES;
}

/* --- the client ------------------------------------------------------------------------------- */

static void expect(struct rpc_world *world, uint64_t call)
{
	struct rpc_world_plan *plan = &world->plans[call];

	plan->is_receiving = true;
	plan->received = 0;
	rpc_bulk_receiver_init(&plan->in, &memory);
	send_grant(world, &world->client.conversation, call, &plan->in);
}

void rpc_world_client_begins(struct rpc_world *world, uint64_t call, struct rpc_frame *request)
{
	struct rpc_world_plan *plan = &world->plans[call];
	uint8_t total[RPC_TOTAL_BYTES];

	if (is_large(plan->request_bytes)) {
		rpc_bulk_write_total(total, plan->request_bytes);
		request->flags |= RPC_FRAME_LARGE;
		request->payload = total;
		request->payload_bytes = sizeof(total);
	}
	if (plan->is_stream)
		request->flags |= RPC_FRAME_STREAM;
	rpc_world_send(world, &world->client.conversation, request);
	if (plan->is_stream)
		expect(world, call);
}

void rpc_world_client_pumps(struct rpc_world *world)
{
	for (uint64_t id = world->calls.oldest; id != world->calls.next; id++) {
		struct rpc_world_plan *plan = &world->plans[id];

		if (rpc_calls_find(&world->calls, id) != NULL && is_large(plan->request_bytes))
			pump(world, &world->client.conversation, id, &plan->out, &plan->sent,
			     plan->request_bytes, false);
	}
}

static void take_answer_chunk(struct rpc_world *world, const struct rpc_frame *frame)
{
	const struct rpc_frame whole = {.kind = RPC_FRAME_ANSWER, .call = frame->call};
	struct rpc_world_plan *plan = &world->plans[frame->call];

	if (rpc_calls_find(&world->calls, frame->call) == NULL)
		return; /* it was given up */
	if (!plan->is_receiving) {
		rpc_world_fail(world, "a chunk that nobody granted");
		return;
	}
	take_chunk(world, &world->client.conversation, frame, &plan->in, &plan->received,
		   plan->request_bytes, true);
	if (plan->is_stream || plan->received < plan->request_bytes)
		return;
	plan->was_answered_well = true;
	rpc_calls_answer(&world->calls, &whole);
}

bool rpc_world_client_takes_bulk(struct rpc_world *world, const struct rpc_frame *frame)
{
	bool is_live = rpc_calls_find(&world->calls, frame->call) != NULL;

	switch (frame->kind) {
	case RPC_FRAME_CHUNK:
		take_answer_chunk(world, frame);
		return true;
	case RPC_FRAME_GRANT:
		if (is_live)
			take_grant(world, &world->plans[frame->call].out, frame);
		return true;
	default:
		if ((frame->flags & RPC_FRAME_LARGE) == 0)
			return false;
		if (is_live && rpc_bulk_total(frame) != world->plans[frame->call].request_bytes)
			rpc_world_fail(world, "an answer changed its length");
		if (is_live)
			expect(world, frame->call);
		return true;
	}
}

void rpc_world_client_forgets(struct rpc_world *world)
{
	for (uint64_t id = world->calls.oldest; id != world->calls.next; id++) {
		struct rpc_world_plan *plan = &world->plans[id];

		plan->out = (struct rpc_bulk_sender){0};
		plan->sent = 0;
		plan->is_receiving = false;
		plan->received = 0;
	}
}

/* --- the server ------------------------------------------------------------------------------- */

static struct rpc_world_work *find_work(struct rpc_world *world, uint32_t end, uint64_t call)
{
	struct rpc_world_work *work = &world->works[call % RPC_CALLS_MAX];

	return work->is_used && work->id == call && work->end == end ? work : NULL;
}

static struct rpc_world_transfer *transfer_of(struct rpc_world *world, uint64_t call)
{
	return &world->transfers[call % RPC_CALLS_MAX];
}

void rpc_world_server_announces(struct rpc_world *world, uint32_t end, uint64_t call,
				uint32_t bytes)
{
	uint8_t total[RPC_TOTAL_BYTES];
	const struct rpc_frame frame = {
		.kind = RPC_FRAME_ANSWER,
		.flags = RPC_FRAME_LARGE,
		.call = call,
		.payload = total,
		.payload_bytes = sizeof(total),
	};

	*transfer_of(world, call) = (struct rpc_world_transfer){
		.is_used = true, .id = call, .end = end, .bytes = bytes};
	rpc_bulk_write_total(total, bytes);
	if (world->ends[end].is_used)
		rpc_world_send(world, &world->ends[end].conversation, &frame);
}

void rpc_world_server_expects(struct rpc_world *world, struct rpc_world_work *work)
{
	work->is_coming = true;
	work->received = 0;
	rpc_bulk_receiver_init(&work->in, &memory);
	send_grant(world, &world->ends[work->end].conversation, work->id, &work->in);
}

static void take_request_chunk(struct rpc_world *world, uint32_t end, const struct rpc_frame *frame)
{
	struct rpc_world_work *work = find_work(world, end, frame->call);

	if (work == NULL || !work->is_coming)
		return; /* it was given up */
	take_chunk(world, &world->ends[end].conversation, frame, &work->in, &work->received,
		   work->request_bytes, false);
	if (work->received == work->request_bytes)
		rpc_world_execute(world, work);
}

bool rpc_world_server_takes_bulk(struct rpc_world *world, uint32_t end,
				 const struct rpc_frame *frame)
{
	struct rpc_world_transfer *transfer = transfer_of(world, frame->call);
	struct rpc_world_work *work = find_work(world, end, frame->call);

	if (frame->kind == RPC_FRAME_CHUNK) {
		take_request_chunk(world, end, frame);
		return true;
	}
	if (frame->kind != RPC_FRAME_GRANT)
		return false;
	if (work != NULL && work->is_stream)
		take_grant(world, &work->out, frame);
	else if (transfer->is_used && transfer->id == frame->call && transfer->end == end)
		take_grant(world, &transfer->out, frame);
	return true;
}

void rpc_world_server_cancels(struct rpc_world *world, uint64_t call)
{
	struct rpc_world_work *work = &world->works[call % RPC_CALLS_MAX];

	if (transfer_of(world, call)->id == call)
		transfer_of(world, call)->is_used = false;
	if (work->is_used && work->id == call && (work->is_coming || work->is_stream))
		work->is_used = false;
}

bool rpc_world_server_streams(struct rpc_world *world, struct rpc_world_work *work)
{
	struct rpc_world_end *end = &world->ends[work->end];

	if (!end->is_used || end->conversation.state == RPC_CONVERSATION_CLOSED)
		return true; /* the service is told, and ends the call */
	pump(world, &end->conversation, work->id, &work->out, &work->sent, work->request_bytes,
	     true);
	return work->sent == work->request_bytes;
}

void rpc_world_server_pumps(struct rpc_world *world)
{
	for (uint32_t i = 0; i < RPC_CALLS_MAX; i++) {
		struct rpc_world_transfer *transfer = &world->transfers[i];
		struct rpc_world_end *end = &world->ends[transfer->end];

		if (!transfer->is_used)
			continue;
		if (rpc_history_kept(&world->history, transfer->id) == NULL)
			transfer->is_used = false;
		else if (end->is_used)
			pump(world, &end->conversation, transfer->id, &transfer->out,
			     &transfer->sent, transfer->bytes, true);
	}
}

void rpc_world_server_forgets(struct rpc_world *world, uint32_t end)
{
	for (uint32_t i = 0; i < RPC_CALLS_MAX; i++) {
		struct rpc_world_work *work = &world->works[i];

		if (world->transfers[i].end == end)
			world->transfers[i].is_used = false;
		if (!work->is_used || work->end != end || !work->is_coming)
			continue;
		rpc_history_forget(&world->history, work->id);
		work->is_used = false;
	}
}
