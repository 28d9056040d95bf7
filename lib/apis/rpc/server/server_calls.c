/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/server/server_calls.h"

#include "lib/apis/dial/dial.h"
#include "lib/apis/rpc/log_line.h"
#include "lib/apis/rpc/server/server_bodies.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

/* --- services --------------------------------------------------------------------------------- */

static ProtobufCService *find_service(const struct server_calls *calls, const char *name,
				      size_t bytes)
{
	for (size_t i = 0; i < calls->service_count; i++) {
		const char *found = calls->services[i]->descriptor->name;

		if (strlen(found) == bytes && memcmp(found, name, bytes) == 0)
			return calls->services[i];
	}
	return NULL;
}

int server_calls_add(struct server_calls *calls, ProtobufCService *service)
{
	const char *name = service->descriptor->name;
	ProtobufCService **grown;

	if (find_service(calls, name, strlen(name)) != NULL)
		return -EEXIST;
	grown = realloc(calls->services, (calls->service_count + 1) * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	calls->services = grown;
	calls->services[calls->service_count++] = service;
	return 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

static struct shared_message *make_answer(const struct server_work *work,
					  const ProtobufCMessage *output)
{
	size_t bytes = protobuf_c_message_get_packed_size(output);
	struct rpc_frame frame = {.kind = RPC_FRAME_ANSWER, .call = work->call};
	struct shared_message *message;

	if (bytes > RPC_MESSAGE_LIMIT_BYTES ||
	    !server_clients_have_room(&work->calls->conversations->clients, work->client, bytes))
		return shared_message_refuse(work->call, RNIC_RPC_TOO_LARGE);
	message = shared_message_allocate(RPC_FRAME_BYTES + bytes);
	if (message == NULL)
		return NULL;
	if (bytes > 0)
		protobuf_c_message_pack(output, message->data + RPC_FRAME_BYTES);
	frame.payload = message->data + RPC_FRAME_BYTES;
	frame.payload_bytes = (uint32_t)bytes;
	rpc_frame_encode(&frame, message->data);
	return message;
}

static void send_answer(struct server_calls *calls, struct server_conversation *conversation,
			uint64_t call, struct shared_message *message)
{
	if (server_body_is_large(message))
		server_body_announce(calls, conversation, call, message);
	else
		server_conversations_send(calls->conversations, conversation, message);
}

/* --- requests as services see them ------------------------------------------------------------ */

/* The head of each piece of memory that an input takes. */
union input_block {
	size_t bytes; /* with this head */
	max_align_t alignment;
};

static void count_input(struct server_work *work, int64_t bytes)
{
	work->input_bytes += (uint64_t)bytes;
	if (work->calls != NULL)
		server_clients_hold(&work->calls->conversations->clients, work->client, bytes);
}

/* Empty or unknown fields take many times a request's own bytes. */
static void *allocate_input(void *user, size_t bytes)
{
	struct server_work *work = user;
	union input_block *block = NULL;

	if (bytes < SIZE_MAX - sizeof(*block) &&
	    server_clients_have_room(&work->calls->conversations->clients, work->client,
				     bytes + sizeof(*block)))
		block = malloc(bytes + sizeof(*block));
	if (block == NULL) {
		work->lacks_room = true;
		return NULL;
	}
	block->bytes = bytes + sizeof(*block);
	count_input(work, (int64_t)block->bytes);
	return block + 1;
}

static void free_input(void *user, void *memory)
{
	union input_block *block = memory;

	if (block == NULL)
		return;
	block--;
	count_input(user, -(int64_t)block->bytes);
	free(block);
}

static void unpack_input(struct server_work *work, const ProtobufCMethodDescriptor *method,
			 const uint8_t *input, size_t bytes)
{
	work->allocator = (ProtobufCAllocator){
		.alloc = allocate_input, .free = free_input, .allocator_data = work};
	work->input = protobuf_c_message_unpack(method->input, &work->allocator, bytes, input);
}

/* --- works ------------------------------------------------------------------------------------ */

static void end_work(struct server_work *work)
{
	server_body_end(work);
	server_work_unlink(work);
	server_work_free(work);
}

/*
 * Sends the answer to the conversation that asked last, and puts it into the history for repeated
 * requests.
 */
static void server_calls_complete(struct server_work *work, struct shared_message *answer)
{
	struct server_calls *calls = work->calls;
	struct server_conversation *conversation =
		server_conversations_find(calls->conversations, work->connection);

	if (answer == NULL) {
		answer = work->fallback;
		work->fallback = NULL;
	}
	if (!server_clients_keep(&calls->conversations->clients, work->client, work->call, answer))
		shared_message_release(answer);
	else if (conversation != NULL)
		send_answer(calls, conversation, work->call, answer);
	end_work(work);
	transport_device_wake(calls->device); /* a turn sends it */
}

static void server_calls_drop(struct server_work *work)
{
	rpc_history_forget(&work->client->history, work->call);
	end_work(work);
}

/* Ends the work if the service has ended the call while it was asked for a chunk. */
static void try_complete(struct server_work *work)
{
	struct shared_message *answer = work->answer;

	if (answer == NULL || work->stream.is_asked)
		return;
	work->answer = NULL;
	server_calls_complete(work, answer);
}

/* Stops the stream; the work may end with it. */
static void stop_stream(struct server_work *work)
{
	server_stream_stop(work);
	try_complete(work);
}

static void leave_stream(struct server_work *work)
{
	server_stream_leave(work);
	try_complete(work);
}

static void server_calls_finish(const ProtobufCMessage *output, void *user)
{
	struct server_work *work = user;
	struct shared_message *answer = NULL;

	if (work->calls == NULL) {
		server_work_free(work);
		return;
	}
	if (output != NULL)
		answer = make_answer(work, output);
	if (!work->stream.is_asked) {
		server_calls_complete(work, answer);
		return;
	}
	if (answer == NULL) {
		answer = work->fallback;
		work->fallback = NULL;
	}
	work->answer = answer;
}

static void server_calls_execute(struct server_work *work, const uint8_t *input, size_t bytes)
{
	const ProtobufCMethodDescriptor *method = &work->service->descriptor->methods[work->method];

	unpack_input(work, method, input, bytes);
	if (work->input == NULL)
		server_calls_complete(
			work,
			shared_message_refuse(work->call, work->lacks_room ? RNIC_RPC_OVERLOADED
									   : RNIC_RPC_BAD_REQUEST));
	else
		work->service->invoke(work->service, work->method, work->input, server_calls_finish,
				      work);
}

/* --- what services may ask of a call ---------------------------------------------------------- */

uint32_t rnic_rpc_time_left_ms(const void *closure_data)
{
	const struct server_work *work = closure_data;
	uint64_t now_ns, left_ms;

	if (work == NULL || work->calls == NULL ||
	    !rpc_history_is_wanted(&work->client->history, work->call))
		return 0;
	if (work->deadline_ns == RPC_NEVER)
		return UINT32_MAX;
	now_ns = rnic_dial_now_ns();
	left_ms = work->deadline_ns > now_ns ? (work->deadline_ns - now_ns + MS - 1) / MS : 0;
	return left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX - 1;
}

int rnic_rpc_send_stream(void *closure_data, rnic_rpc_produce *produce, void *user)
{
	struct server_work *work = closure_data;

	if (work == NULL || produce == NULL)
		return -EINVAL;
	if (work->calls == NULL)
		return -ECANCELED;
	if (!work->stream.is_accepted)
		return -EOPNOTSUPP;
	if (work->stream.produce != NULL)
		return -EALREADY;
	work->stream.produce = produce;
	work->stream.user = user;
	work->calls->stream_count++;
	transport_device_wake(work->calls->device); /* a turn asks for chunks */
	return 0;
}

void rnic_rpc_wake_stream(void *closure_data)
{
	struct server_work *work = closure_data;

	if (work == NULL)
		return;
	work->stream.is_stalled = false;
	if (work->calls != NULL)
		transport_device_wake(work->calls->device);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Checks a request before its body is read, and finds the service. Returns the status. */
static uint32_t check_request(struct server_work *work, const struct rpc_frame *request)
{
	bool is_large = (request->flags & RPC_FRAME_LARGE) != 0;
	uint64_t total = is_large ? rpc_bulk_total(request) : request->payload_bytes;

	work->service = find_service(work->calls, request->service, request->service_bytes);
	work->method = request->method;
	if (work->service == NULL)
		return RNIC_RPC_NO_SERVICE;
	if (request->method >= work->service->descriptor->n_methods)
		return RNIC_RPC_NO_METHOD;
	/* A small body, which counts little, is not worth a ring. */
	if (is_large && total <= RPC_BODY_INLINE_BYTES)
		return RNIC_RPC_BAD_REQUEST;
	return total > work->calls->max_request_bytes ? RNIC_RPC_TOO_LARGE : RNIC_RPC_OK;
}

/* Takes over `work`. */
static void begin_call(struct server_work *work, struct server_conversation *conversation,
		       const struct rpc_frame *request)
{
	uint32_t status = check_request(work, request);

	server_work_link(work);
	if (status == RNIC_RPC_OK && (request->flags & RPC_FRAME_LARGE) == 0) {
		server_calls_execute(work, request->payload, request->payload_bytes);
		return;
	}
	if (status == RNIC_RPC_OK &&
	    server_body_expect(work, conversation, rpc_bulk_total(request)) != 0)
		status = RNIC_RPC_OVERLOADED;
	if (status != RNIC_RPC_OK)
		server_calls_complete(work, shared_message_refuse(work->call, status));
}

/* Runs the method of a request whose body is complete. */
static void execute_body(struct server_work *work)
{
	uint64_t total;
	uint8_t *bytes = server_body_detach(work, &total);

	server_calls_execute(work, bytes, total);
	free(bytes);
}

/* The call is known already; the answer goes to the conversation that asked now. */
static void follow(struct server_calls *calls, struct server_conversation *conversation,
		   uint64_t call)
{
	struct server_work *work = server_work_find(calls, conversation->client, call);
	bool is_other, is_coming;

	if (work == NULL)
		return;
	is_coming = work->body.is_coming; /* then no stream has begun */
	is_other = work->connection != conversation->conversation.self.connection;
	work->connection = conversation->conversation.self.connection;
	if (is_other && work->stream.out.route != NULL)
		leave_stream(work);
	if (is_coming && server_body_expect(work, conversation, work->body.total) != 0)
		server_calls_complete(work, shared_message_refuse(call, RNIC_RPC_OVERLOADED));
}

/* The server begins a new call only when there is room for its answer. */
static enum rpc_verdict server_calls_judge(struct server_calls *calls, struct server_client *client,
					   const struct rpc_frame *request, void **answer)
{
	if (!rpc_history_knows(&client->history, request->call) &&
	    !server_clients_have_room(&calls->conversations->clients, client, 0))
		return RPC_REFUSE;
	return rpc_history_request(&client->history, request, answer);
}

static void server_calls_take_request(struct server_calls *calls,
				      struct server_conversation *conversation,
				      const struct rpc_frame *request)
{
	struct server_work *work = server_work_create(calls, conversation, request);
	struct rpc_frame refusal = {
		.kind = RPC_FRAME_ANSWER, .call = request->call, .status = RNIC_RPC_OVERLOADED};
	void *repeated = NULL;

	if (work == NULL) {
		rpc_conversation_close(
			&conversation->conversation); /* the client comes back and asks again */
		return;
	}
	server_clients_settle(conversation->client, request->settled);
	switch (server_calls_judge(calls, conversation->client, request, &repeated)) {
	case RPC_EXECUTE:
		begin_call(work, conversation, request);
		return;
	case RPC_WAIT:
		follow(calls, conversation, request->call);
		break;
	case RPC_REPEAT:
		send_answer(calls, conversation, request->call, repeated);
		break;
	case RPC_STALE:
		break;
	case RPC_REFUSE:
		server_conversations_send_frame(calls->conversations, conversation, &refusal);
		break;
	}
	server_work_free(work);
}

static void take_cancel(struct server_calls *calls, struct server_conversation *conversation,
			const struct rpc_frame *frame)
{
	struct server_work *work = server_work_find(calls, conversation->client, frame->call);

	rpc_history_cancel(&conversation->client->history, frame->call);
	server_clients_settle(conversation->client, frame->settled);
	if (work != NULL && work->body.is_coming)
		end_work(work);
	else if (work != NULL)
		stop_stream(work);
	server_body_cancel(calls, conversation, frame->call, (frame->flags & RPC_FRAME_LARGE) != 0);
}

static void server_calls_take_chunk(struct server_calls *calls,
				    struct server_conversation *conversation,
				    const struct rpc_frame *frame)
{
	struct server_work *work = server_body_take_chunk(calls, conversation, frame);

	if (work != NULL)
		execute_body(work);
}

void server_calls_take(struct server_calls *calls, struct server_conversation *conversation)
{
	struct rpc_frame frame;
	const uint8_t *bytes;
	uint32_t length;

	while (rpc_conversation_take(&conversation->conversation, &bytes, &length)) {
		if (rpc_frame_decode(&frame, bytes, length) != 0)
			continue;
		if (frame.kind == RPC_FRAME_REQUEST)
			server_calls_take_request(calls, conversation, &frame);
		else if (frame.kind == RPC_FRAME_CANCEL)
			take_cancel(calls, conversation, &frame);
		else if (frame.kind == RPC_FRAME_GRANT)
			server_body_take_grant(calls, conversation, &frame);
		else if (frame.kind == RPC_FRAME_CHUNK)
			server_calls_take_chunk(calls, conversation, &frame);
	}
}

void server_calls_pump(struct server_calls *calls)
{
	struct server_work *work, *next;

	server_body_pump_transfers(calls);
	for (work = calls->works; work != NULL && calls->stream_count > 0; work = next) {
		next = work->next;
		if (work->stream.produce == NULL)
			continue;
		server_stream_pump(work);
		try_complete(work);
	}
}

void server_calls_conversation_ended(struct server_calls *calls,
				     const struct server_conversation *conversation)
{
	struct server_work *work, *next;

	for (work = calls->works; work != NULL; work = next) {
		next = work->next;
		if (work->connection != conversation->conversation.self.connection)
			continue;
		if (work->body.is_coming)
			server_calls_drop(work);
		else
			leave_stream(work);
	}
	server_body_end_transfers(calls, conversation);
}

void server_calls_close(struct server_calls *calls)
{
	struct server_work *work, *next;

	for (work = calls->works; work != NULL; work = next) {
		next = work->next;
		if (work->body.is_coming)
			server_calls_drop(work);
		else
			stop_stream(work);
	}
	for (work = calls->works; work != NULL; work = next) {
		next = work->next;
		server_body_end(work);
		server_clients_hold(&calls->conversations->clients, work->client,
				    -(int64_t)work->input_bytes);
		work->calls = NULL; /* server_calls_finish() then only frees it */
	}
	server_body_end_transfers(calls, NULL);
	free(calls->services);
}
