/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/server/server_bodies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	FRAME_BYTES = 128, /* the cost of a chunk beside its bytes, or less */
	SPARE_CHUNK_BYTES = 4096,
};

/* --- answers ---------------------------------------------------------------------------------- */

static uint64_t body_bytes(const struct shared_message *answer)
{
	return answer->bytes - RPC_FRAME_BYTES;
}

bool server_body_is_large(const struct shared_message *answer)
{
	return body_bytes(answer) > RPC_BODY_INLINE_BYTES;
}

void server_body_announce(struct server_calls *calls, struct server_conversation *conversation,
			  uint64_t call, const struct shared_message *answer)
{
	uint8_t total[RPC_TOTAL_BYTES];
	struct rpc_frame frame = {
		.kind = RPC_FRAME_ANSWER,
		.flags = RPC_FRAME_LARGE,
		.call = call,
		.payload = total,
		.payload_bytes = RPC_TOTAL_BYTES,
	};

	rpc_bulk_write_total(total, body_bytes(answer));
	server_conversations_send_frame(calls->conversations, conversation, &frame);
}

static struct server_transfer *find_transfer(const struct server_calls *calls,
					     const struct server_conversation *conversation,
					     uint64_t call)
{
	for (struct server_transfer *at = calls->transfers; at != NULL; at = at->next)
		if (at->call == call &&
		    at->connection == conversation->conversation.self.connection)
			return at;
	return NULL;
}

/* -ENOENT: no large answer is kept. -ENOMEM: the client's quota has no room for the transfer. */
static int begin_transfer(struct server_calls *calls,
			  const struct server_conversation *conversation, uint64_t call,
			  struct server_transfer **begun)
{
	struct shared_message *kept = rpc_history_kept(&conversation->client->history, call);
	struct server_clients *clients = &calls->conversations->clients;
	struct server_transfer *transfer = NULL;

	if (kept == NULL || !server_body_is_large(kept))
		return -ENOENT;
	if (server_clients_may_tell(clients, conversation->client, sizeof(*transfer)))
		transfer = calloc(1, sizeof(*transfer));
	if (transfer == NULL)
		return -ENOMEM;
	server_clients_hold(clients, conversation->client, sizeof(*transfer));
	transfer->client = conversation->client;
	transfer->connection = conversation->conversation.self.connection;
	transfer->call = call;
	transfer->message = kept;
	kept->references++;
	transfer->next = calls->transfers;
	transfer->link = &calls->transfers;
	if (transfer->next != NULL)
		transfer->next->link = &transfer->next;
	calls->transfers = transfer;
	*begun = transfer;
	return 0;
}

static void end_out(struct server_calls *calls, struct server_client *client, struct bulk_out *out)
{
	server_clients_hold(&calls->conversations->clients, client,
			    -(int64_t)bulk_out_stage_bytes(out));
	bulk_out_end(out);
}

static void end_transfer(struct server_calls *calls, struct server_transfer *transfer)
{
	end_out(calls, transfer->client, &transfer->out);
	server_clients_hold(&calls->conversations->clients, transfer->client,
			    -(int64_t)sizeof(*transfer));
	shared_message_release(transfer->message);
	*transfer->link = transfer->next;
	if (transfer->next != NULL)
		transfer->next->link = transfer->link;
	free(transfer);
}

void server_body_end_transfers(struct server_calls *calls,
			       const struct server_conversation *conversation)
{
	struct server_transfer *transfer, *next;

	for (transfer = calls->transfers; transfer != NULL; transfer = next) {
		next = transfer->next;
		if (conversation == NULL ||
		    transfer->connection == conversation->conversation.self.connection)
			end_transfer(calls, transfer);
	}
}

/*
 * The part of a chunk of up to `bytes` bytes that may be sent now. The server holds bytes for a
 * client until the client takes them; when the quota is full, the client gets a little at a time.
 * 0: none before the client has taken the earlier bytes.
 */
static uint32_t allowed_bytes(struct server_calls *calls,
			      const struct server_conversation *conversation,
			      const struct bulk_out *out, uint32_t bytes)
{
	uint32_t queued = bulk_out_is_in_frames(out) ? bytes : 0;

	if (server_clients_have_room(&calls->conversations->clients, conversation->client,
				     FRAME_BYTES + queued))
		return bytes;
	if (!rpc_conversation_is_drained(&conversation->conversation))
		return 0;
	return queued > SPARE_CHUNK_BYTES ? SPARE_CHUNK_BYTES : bytes;
}

static void pump_transfer(struct server_calls *calls, struct server_transfer *transfer)
{
	struct server_conversation *conversation =
		server_conversations_find(calls->conversations, transfer->connection);
	uint64_t total = body_bytes(transfer->message);
	struct rpc_frame frame;
	uint8_t *room;
	uint32_t bytes;

	while (conversation != NULL && transfer->sent < total &&
	       (room = bulk_out_room(&transfer->out, &bytes)) != NULL &&
	       (bytes = allowed_bytes(calls, conversation, &transfer->out, bytes)) > 0) {
		if (bytes > total - transfer->sent)
			bytes = (uint32_t)(total - transfer->sent);
		memcpy(room, transfer->message->data + RPC_FRAME_BYTES + transfer->sent, bytes);
		transfer->sent += bytes;
		if (bulk_out_send(&transfer->out, transfer->call, bytes, &frame) != 0)
			rpc_conversation_lose(&conversation->conversation);
		server_conversations_send_frame(calls->conversations, conversation, &frame);
	}
	bulk_out_rest(&transfer->out);
	if (conversation == NULL || transfer->sent == total)
		end_transfer(calls, transfer);
}

/* --- streams ---------------------------------------------------------------------------------- */

/* Asks the service for a chunk; the service may end the call. Returns the bytes of the chunk. */
static size_t server_bodies_ask(struct server_work *work, uint8_t *room, uint32_t bytes)
{
	size_t made;

	work->stream.is_asked = true;
	made = work->stream.produce(work->stream.user, room, bytes);
	work->stream.is_asked = false;
	return made;
}

void server_stream_stop(struct server_work *work)
{
	struct server_stream *stream = &work->stream;

	if (stream->produce == NULL || stream->is_over || stream->is_asked)
		return;
	stream->is_over = true;
	end_out(work->calls, work->client, &stream->out);
	server_bodies_ask(work, NULL, 0);
}

void server_stream_leave(struct server_work *work)
{
	if (work->stream.produce == NULL)
		end_out(work->calls, work->client, &work->stream.out);
	else
		server_stream_stop(work);
}

void server_stream_pump(struct server_work *work)
{
	struct server_calls *calls = work->calls;
	struct server_conversation *conversation =
		server_conversations_find(calls->conversations, work->connection);
	struct server_stream *stream = &work->stream;
	struct rpc_frame frame;
	uint8_t *room;
	uint32_t bytes;

	if (conversation == NULL) {
		server_stream_stop(work);
		return;
	}
	while (!stream->is_stalled && !stream->is_over &&
	       (room = bulk_out_room(&stream->out, &bytes)) != NULL &&
	       (bytes = allowed_bytes(calls, conversation, &stream->out, bytes)) > 0) {
		size_t made = server_bodies_ask(work, room, bytes);

		stream->is_stalled = made == 0 || made > bytes;
		if (!stream->is_stalled) {
			if (bulk_out_send(&stream->out, work->call, (uint32_t)made, &frame) != 0)
				rpc_conversation_lose(&conversation->conversation);
			server_conversations_send_frame(calls->conversations, conversation, &frame);
		}
		if (work->answer != NULL)
			return;
	}
	bulk_out_rest(&stream->out);
}

/* --- requests --------------------------------------------------------------------------------- */

static void end_receiving(struct server_work *work)
{
	struct server_body *body = &work->body;

	if (!body->is_coming)
		return;
	server_clients_hold(&work->calls->conversations->clients, work->client,
			    -(int64_t)body->total);
	bulk_in_end(&body->in);
	free(body->bytes);
	*body = (struct server_body){0};
}

void server_body_end(struct server_work *work)
{
	end_receiving(work);
	end_out(work->calls, work->client, &work->stream.out);
	if (work->stream.produce != NULL)
		work->calls->stream_count--;
	work->stream.produce = NULL;
}

static void server_bodies_send_grant(struct server_work *work,
				     struct server_conversation *conversation)
{
	struct rpc_frame frame;

	bulk_in_grant(&work->body.in, work->call, &frame);
	server_conversations_send_frame(work->calls->conversations, conversation, &frame);
}

int server_body_expect(struct server_work *work, struct server_conversation *conversation,
		       uint64_t total)
{
	struct server_clients *clients = &work->calls->conversations->clients;
	struct server_body *body = &work->body;
	int error;

	end_receiving(work);
	if (!server_clients_have_room(clients, work->client, total))
		return -ENOMEM;
	body->bytes = malloc(total);
	if (body->bytes == NULL)
		return -ENOMEM;
	error = bulk_in_begin(&body->in, conversation->route->transport,
			      &conversation->conversation, total);
	if (error != 0) {
		free(body->bytes);
		*body = (struct server_body){0};
		return error;
	}
	server_clients_hold(clients, work->client, (int64_t)total);
	body->total = total;
	body->is_coming = true;
	server_bodies_send_grant(work, conversation);
	return 0;
}

uint8_t *server_body_detach(struct server_work *work, uint64_t *total)
{
	uint8_t *bytes = work->body.bytes;

	*total = work->body.total;
	work->body.bytes = NULL;
	end_receiving(work);
	return bytes;
}

/* --- frames ----------------------------------------------------------------------------------- */

struct server_work *server_body_take_chunk(struct server_calls *calls,
					   struct server_conversation *conversation,
					   const struct rpc_frame *frame)
{
	struct server_work *work = server_work_find(calls, conversation->client, frame->call);
	struct server_body *body;
	struct rpc_chunk chunk;

	if (work == NULL || !work->body.is_coming ||
	    work->connection != conversation->conversation.self.connection)
		return NULL; /* the service gave it up */
	body = &work->body;
	if (bulk_in_take(&body->in, frame, &chunk) != 0 ||
	    chunk.bytes > body->total - body->received) {
		rpc_conversation_close(&conversation->conversation);
		return NULL;
	}
	memcpy(body->bytes + body->received, chunk.data, chunk.bytes);
	body->received += chunk.bytes;
	if (body->received == body->total)
		return work;
	if (rpc_bulk_receiver_owes_grant(&body->in.receiver, body->total - body->received))
		server_bodies_send_grant(work, conversation);
	return NULL;
}

/*
 * The first grant makes this side register memory, which counts against the client's quota: there
 * must be room.
 */
static bool server_bodies_take_grant(struct server_calls *calls,
				     struct server_conversation *conversation, struct bulk_out *out,
				     const struct rpc_frame *frame)
{
	struct server_clients *clients = &calls->conversations->clients;
	uint64_t wanted = out->route == NULL ? rpc_bulk_offered_bytes(frame) : 0;
	uint64_t had = bulk_out_stage_bytes(out);
	int error;

	if (wanted > 0 && !server_clients_have_room(clients, conversation->client, wanted))
		return false;
	error = bulk_out_grant(out, conversation->route, frame);
	server_clients_hold(clients, conversation->client,
			    (int64_t)(bulk_out_stage_bytes(out) - had));
	return error == 0;
}

void server_body_take_grant(struct server_calls *calls, struct server_conversation *conversation,
			    const struct rpc_frame *frame)
{
	struct server_work *work = server_work_find(calls, conversation->client, frame->call);
	struct server_transfer *transfer;
	struct bulk_out *out;
	int error = 0;

	if (work != NULL) {
		if (!work->stream.is_accepted || work->stream.is_over ||
		    work->connection != conversation->conversation.self.connection)
			return;
		out = &work->stream.out;
	} else {
		transfer = find_transfer(calls, conversation, frame->call);
		if (transfer == NULL)
			error = begin_transfer(calls, conversation, frame->call, &transfer);
		if (error == -ENOENT)
			return; /* a late frame of a finished transfer */
		out = error == 0 ? &transfer->out : NULL;
	}
	if (out == NULL || !server_bodies_take_grant(calls, conversation, out, frame))
		rpc_conversation_close(&conversation->conversation);
}

void server_body_cancel(struct server_calls *calls, struct server_conversation *conversation,
			uint64_t call, bool wants_word)
{
	struct server_transfer *transfer = find_transfer(calls, conversation, call);
	const uint8_t nothing[RPC_CHUNK_HEAD_BYTES] = {0};
	const struct rpc_frame word = {
		.kind = RPC_FRAME_CHUNK,
		.call = call,
		.payload = nothing,
		.payload_bytes = sizeof(nothing),
	};

	if (transfer != NULL)
		end_transfer(calls, transfer);
	if (wants_word)
		server_conversations_send_frame(calls->conversations, conversation, &word);
}

void server_body_pump_transfers(struct server_calls *calls)
{
	struct server_transfer *transfer, *next;

	for (transfer = calls->transfers; transfer != NULL; transfer = next) {
		next = transfer->next;
		pump_transfer(calls, transfer);
	}
}
