/* SPDX-License-Identifier: MIT */
/* Clients: calls, their messages and closures, above the link to the server. */
#include "lib/apis/dial/dial.h"
#include "lib/apis/rpc/client/call_rhythm.h"
#include "lib/apis/rpc/client/client_bodies.h"
#include "lib/apis/rpc/log_line.h"
#include "lib/apis/rpc/wire/rpc_calls.h"

#include <rnic/rpc.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)

/*
 * An acknowledgement waits so long for the next call. The server waits at least 5 ms before it
 * sends the answer again. Where the program pauses and does not turn, the acknowledgement waits for
 * the next turn, and the server does send the answer again.
 */
#define ACK_WAIT_NS (2 * MS)

struct rnic_rpc_client {
	struct client_link link;
	struct rpc_calls calls;
	int error;	       /* the daemon's end */
	bool has_ended_calls;  /* since it was last cleared */
	bool has_large_answer; /* the server must learn that the answer arrived */
	struct call_rhythm rhythm;
	uint64_t max_answer_bytes;
};

/* The other part of a call: kept until its closure has run. */
struct pending {
	const ProtobufCServiceDescriptor *service;
	unsigned method;
	rnic_rpc_closure *closure;
	void *user;
	ProtobufCMessage *output;
	rnic_rpc_chunk *chunk; /* for a stream */
	struct client_body body;
	uint32_t input_bytes;
	uint8_t input[];
};

static bool are_good(const struct rnic_rpc_options *options)
{
	return options == NULL ||
	       ((options->transport == RNIC_RPC_UD || options->transport == RNIC_RPC_RC) &&
		options->max_message_bytes <= RPC_MESSAGE_LIMIT_BYTES);
}

int rnic_rpc_create_client(const struct rnic_rpc_options *options, const char *host, uint16_t port,
			   struct rnic_rpc_client **client)
{
	struct rnic_rpc_client *made;
	int error;

	if (host == NULL || port == 0 || client == NULL || !are_good(options))
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	rpc_calls_init(&made->calls);
	made->max_answer_bytes = RNIC_RPC_MESSAGE_BYTES;
	if (options != NULL && options->max_message_bytes != 0)
		made->max_answer_bytes = options->max_message_bytes;
	error = client_link_open(&made->link, options, host, port);
	if (error != 0)
		free(made);
	else
		*client = made;
	return error;
}

int rnic_rpc_client_fd(const struct rnic_rpc_client *client)
{
	return client != NULL ? client->link.device.epoll_fd : -EINVAL;
}

/* --- sending and ending ----------------------------------------------------------------------- */

static bool is_large(const struct pending *pending)
{
	return pending->input_bytes > RPC_BODY_INLINE_BYTES;
}

static void send_call(struct rnic_rpc_client *client, struct rpc_call *call, uint64_t now_ns)
{
	struct pending *pending = call->user;
	uint8_t total[RPC_TOTAL_BYTES];
	struct rpc_frame frame = {
		.kind = RPC_FRAME_REQUEST,
		.service = pending->service->name,
		.service_bytes = (uint16_t)strlen(pending->service->name),
		.method = pending->method,
		.payload = pending->input,
		.payload_bytes = pending->input_bytes,
	};

	rpc_calls_describe(&client->calls, call, &frame, now_ns);
	if (is_large(pending)) {
		rpc_bulk_write_total(total, pending->input_bytes);
		frame.flags |= RPC_FRAME_LARGE;
		frame.payload = total;
		frame.payload_bytes = sizeof(total);
	}
	if (pending->chunk != NULL)
		frame.flags |= RPC_FRAME_STREAM;
	if (client_link_send(&client->link, &frame) != 0 ||
	    (pending->chunk != NULL &&
	     client_body_expect(&pending->body, &client->link, call->id, 0) != 0))
		rpc_calls_end(call, RNIC_RPC_INTERNAL);
}

static void send_waiting(struct rnic_rpc_client *client, uint64_t now_ns)
{
	struct rpc_calls *calls = &client->calls;
	struct rpc_call *call;

	while ((call = rpc_calls_take_waiting(calls)) != NULL) {
		call_rhythm_began(&client->rhythm, now_ns);
		send_call(client, call, now_ns);
	}
	for (uint64_t id = calls->oldest; id != calls->next; id++) {
		struct pending *pending;

		call = rpc_calls_find(calls, id);
		if (call == NULL || !is_large(call->user))
			continue;
		pending = call->user;
		client_body_pump(&pending->body, &client->link, id, pending->input,
				 pending->input_bytes);
	}
}

/* --- receiving -------------------------------------------------------------------------------- */

static void unpack(struct rpc_call *call, const uint8_t *bytes, size_t length)
{
	struct pending *pending = call->user;

	pending->output = protobuf_c_message_unpack(
		pending->service->methods[pending->method].output, NULL, length, bytes);
	if (pending->output == NULL)
		call->status = RNIC_RPC_BAD_ANSWER;
}

static void take_large_answer(struct rnic_rpc_client *client, const struct rpc_frame *frame)
{
	struct rpc_call *call = rpc_calls_find(&client->calls, frame->call);
	uint64_t total = rpc_bulk_total(frame);
	struct pending *pending;

	if (call == NULL)
		return;
	pending = call->user;
	/* The answer ends a stream, and the stream's room. */
	client_body_end(&pending->body, &client->link, call->id, false);
	if (total > client->max_answer_bytes)
		rpc_calls_end(call, RNIC_RPC_TOO_LARGE);
	else if (total == 0 ||
		 client_body_expect(&pending->body, &client->link, call->id, total) != 0)
		rpc_calls_end(call, RNIC_RPC_BAD_ANSWER);
}

static void take_answer(struct rnic_rpc_client *client, const struct rpc_frame *frame)
{
	struct rpc_call *call;

	if ((frame->flags & RPC_FRAME_LARGE) != 0 && frame->status == RNIC_RPC_OK) {
		take_large_answer(client, frame);
		return;
	}
	call = rpc_calls_answer(&client->calls, frame);
	if (call != NULL && frame->status == RNIC_RPC_OK)
		unpack(call, frame->payload, frame->payload_bytes);
}

static void rpc_client_take_grant(struct rnic_rpc_client *client, const struct rpc_frame *frame)
{
	struct rpc_call *call = rpc_calls_find(&client->calls, frame->call);
	struct pending *pending;
	int error;

	if (call == NULL || !is_large(call->user))
		return; /* the caller gave it up */
	pending = call->user;
	error = client_body_take_grant(&pending->body, &client->link, frame);
	if (error == -EPROTO)
		rpc_conversation_close(&client->link.conversation);
	else if (error != 0)
		rpc_calls_end(call, RNIC_RPC_INTERNAL);
}

static void rpc_client_take_chunk(struct rnic_rpc_client *client, const struct rpc_frame *frame)
{
	struct rpc_call *call = rpc_calls_find(&client->calls, frame->call);
	const struct rpc_frame whole = {.kind = RPC_FRAME_ANSWER, .call = frame->call};
	struct pending *pending;
	struct rpc_chunk chunk;

	if (call == NULL) {
		client_orphans_note_unclaimed(&client->link.orphans, frame);
		return;
	}
	pending = call->user;
	if (client_body_take_chunk(&pending->body, frame, &chunk) != 0) {
		rpc_conversation_close(&client->link.conversation);
		return;
	}
	if (pending->body.bytes == NULL) {
		pending->chunk(chunk.data, chunk.bytes, pending->user);
	} else if (pending->body.received == pending->body.total) {
		rpc_calls_answer(&client->calls, &whole);
		client->has_large_answer = true;
		unpack(call, pending->body.bytes, pending->body.total);
		return;
	}
	client_body_release_chunk(&pending->body, &client->link, frame->call);
}

static void take_messages(struct rnic_rpc_client *client)
{
	struct rpc_frame frame;
	const uint8_t *bytes;
	uint32_t length;

	while (rpc_conversation_take(&client->link.conversation, &bytes, &length)) {
		if (rpc_frame_decode(&frame, bytes, length) != 0)
			continue;
		if (frame.kind == RPC_FRAME_ANSWER)
			take_answer(client, &frame);
		else if (frame.kind == RPC_FRAME_GRANT)
			rpc_client_take_grant(client, &frame);
		else if (frame.kind == RPC_FRAME_CHUNK)
			rpc_client_take_chunk(client, &frame);
	}
}

/* --- ending ----------------------------------------------------------------------------------- */

/* Saves the server the rest of the work, or the keeping of a large answer. */
static void send_cancel(struct rnic_rpc_client *client, uint64_t call, bool wants_word)
{
	const struct rpc_frame cancel = {
		.kind = RPC_FRAME_CANCEL,
		.call = call,
		.flags = wants_word ? RPC_FRAME_LARGE : 0,
		.settled = client->calls.oldest,
	};

	if (client_link_is_open(&client->link))
		client_link_send(&client->link, &cancel);
}

static void end_body(struct rnic_rpc_client *client, const struct rpc_call *ended)
{
	struct pending *pending = ended->user;
	bool is_cut_off = ended->owes_cancel && client_link_is_open(&client->link);
	bool wants_word = client_body_end(&pending->body, &client->link, ended->id, is_cut_off);

	if (ended->owes_cancel)
		send_cancel(client, ended->id, wants_word);
}

/* Ends all bodies: the calls begin again in the next conversation. */
static void end_bodies(struct rnic_rpc_client *client)
{
	for (uint64_t id = client->calls.oldest; id != client->calls.next; id++) {
		struct rpc_call *call = rpc_calls_find(&client->calls, id);

		if (call != NULL)
			client_body_end(&((struct pending *)call->user)->body, &client->link, id,
					false);
	}
}

static void run_closures(struct rnic_rpc_client *client)
{
	struct rpc_call ended = {0};

	while (rpc_calls_take_ended(&client->calls, &ended)) {
		struct pending *pending = ended.user;

		end_body(client, &ended);
		client->has_ended_calls = true;
		pending->closure(ended.status, pending->output, pending->user);
		if (pending->output != NULL)
			protobuf_c_message_free_unpacked(pending->output, NULL);
		free(pending);
	}
	if (client->has_large_answer)
		send_cancel(client, ended.id, false);
	client->has_large_answer = false;
}

static void follow_conversation(struct rnic_rpc_client *client, uint64_t now_ns)
{
	struct client_link *link = &client->link;

	if (client_link_is_open(link) && !client->calls.has_conversation) {
		log_line(&link->options, "a conversation with the server is open");
		rpc_calls_conversation_opened(&client->calls, link->conversation.peer_identity);
	}
	if (link->state == LINK_CONVERSATION) {
		take_messages(client);
		if (client_orphans_are_kept(&link->orphans, now_ns)) {
			log_line(&link->options,
				 "the server does not confirm that it writes no more");
			rpc_conversation_close(&link->conversation);
		}
		if (link->conversation.state == RPC_CONVERSATION_CLOSED) {
			log_line(&link->options, "the conversation has ended: %s",
				 rpc_conversation_end_text(&link->conversation));
			end_bodies(client);
			rpc_calls_conversation_lost(&client->calls);
			client_link_drop(link, now_ns);
		}
	}
	if (client_link_take_refusal(link))
		rpc_calls_refuse(&client->calls);
	if (client_link_gives_up(link, now_ns)) {
		log_line(&link->options, "the server does not answer");
		rpc_calls_give_up(&client->calls);
	}
}

/* --- turning ---------------------------------------------------------------------------------- */

static bool rpc_client_is_wanted(const struct rnic_rpc_client *client)
{
	return client->calls.oldest != client->calls.next;
}

/* Ends everything for good: no call may wait for ever. */
static int rpc_client_fail(struct rnic_rpc_client *client, int error)
{
	if (error == 0 || error == -EINTR)
		return error;
	log_line(&client->link.options, "the daemon is gone: %s", strerror(-error));
	client->error = error;
	rpc_calls_give_up(&client->calls);
	run_closures(client);
	return error;
}

/* The next call of a program that begins one at once takes the acknowledgement of answers along. */
static void hold_ack(struct rnic_rpc_client *client, uint64_t now_ns)
{
	const bool waits = client->has_ended_calls && call_rhythm_is_prompt(&client->rhythm);

	if (client->has_ended_calls)
		call_rhythm_ended(&client->rhythm, now_ns);
	rpc_conversation_hold_ack(&client->link.conversation, waits ? now_ns + ACK_WAIT_NS : 0);
}

static int rpc_client_work(struct rnic_rpc_client *client)
{
	uint64_t now_ns = rnic_dial_now_ns();
	uint64_t deadline_ns, calls_ns;
	int error = client_link_receive(&client->link, rpc_client_is_wanted(client), now_ns);

	if (error != 0)
		return error;
	follow_conversation(client, now_ns);
	rpc_calls_tick(&client->calls, now_ns);
	run_closures(client);
	if (client_link_is_open(&client->link))
		send_waiting(client, now_ns);
	hold_ack(client, now_ns);
	client_link_transmit(&client->link, now_ns);
	deadline_ns = client_link_next_deadline_ns(&client->link);
	if (client->link.state == LINK_IDLE && rpc_client_is_wanted(client) &&
	    client->link.begin_ns < deadline_ns)
		deadline_ns = client->link.begin_ns;
	calls_ns = rpc_calls_next_deadline_ns(&client->calls);
	if (calls_ns < deadline_ns)
		deadline_ns = calls_ns;
	transport_device_set_timer(&client->link.device, deadline_ns);
	return 0;
}

static int rpc_client_arm_and_work(struct rnic_rpc_client *client)
{
	struct transport *transport = client->link.transport;
	int error;

	transport_device_begin_work(&client->link.device);
	error = transport->calls->arm(transport);
	if (error == 0)
		error = rpc_client_work(client);
	transport_device_end_work(&client->link.device);
	return error;
}

int rnic_rpc_client_turn(struct rnic_rpc_client *client, int timeout_ms)
{
	int error = client != NULL ? client->error : -EINVAL;

	if (error != 0)
		return error;
	client->has_ended_calls = false;
	error = rpc_client_arm_and_work(client);
	if (error == 0 && client->link.transport->lacks_room)
		error = rpc_client_arm_and_work(client);
	if (error == 0)
		error = transport_device_wait(&client->link.device,
					      client->has_ended_calls ? 0 : timeout_ms);
	if (error == 0)
		error = rpc_client_arm_and_work(client);
	return rpc_client_fail(client, error);
}

void rnic_rpc_destroy_client(struct rnic_rpc_client *client)
{
	if (client == NULL)
		return;
	for (uint64_t id = client->calls.oldest; id != client->calls.next; id++)
		rpc_calls_end(&client->calls.slots[id % RPC_CALLS_MAX], RNIC_RPC_CANCELLED);
	client->error = -ENODEV; /* so that a closure cannot begin a call */
	run_closures(client);
	client_link_close(&client->link);
	free(client);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Makes the pending call, packed; `chunk` for a stream. */
static int make_pending(const ProtobufCServiceDescriptor *service, unsigned method,
			const ProtobufCMessage *input, rnic_rpc_chunk *chunk,
			rnic_rpc_closure *closure, void *user, struct pending **made)
{
	size_t bytes = protobuf_c_message_get_packed_size(input);
	size_t name_bytes = strlen(service->name);
	struct pending *pending;

	if (method >= service->n_methods || name_bytes == 0 ||
	    name_bytes > RPC_SERVICE_NAME_MAX_BYTES)
		return -EINVAL;
	if (bytes > RPC_MESSAGE_LIMIT_BYTES)
		return -EMSGSIZE;
	pending = malloc(sizeof(*pending) + bytes);
	if (pending == NULL)
		return -ENOMEM;
	*pending = (struct pending){.service = service,
				    .method = method,
				    .chunk = chunk,
				    .closure = closure,
				    .user = user,
				    .input_bytes = (uint32_t)bytes};
	protobuf_c_message_pack(input, pending->input);
	*made = pending;
	return 0;
}

/* `chunk` is NULL for a call without a stream. */
static int rpc_client_begin(struct rnic_rpc_client *client,
			    const ProtobufCServiceDescriptor *service, unsigned method,
			    const ProtobufCMessage *input,
			    const struct rnic_rpc_call_options *options, rnic_rpc_chunk *chunk,
			    rnic_rpc_closure *closure, void *user, uint64_t *call)
{
	static const struct rnic_rpc_call_options none;
	uint64_t deadline_ns = RPC_NEVER;
	struct pending *pending;
	struct rpc_call *begun;
	int error = -EINVAL;

	if (client != NULL && service != NULL && input != NULL && closure != NULL && call != NULL)
		error = client->error;
	if (error == 0)
		error = make_pending(service, method, input, chunk, closure, user, &pending);
	if (error != 0)
		return error;
	if (options == NULL)
		options = &none;
	if (options->timeout_ms != 0)
		deadline_ns = rnic_dial_now_ns() + options->timeout_ms * MS;
	begun = rpc_calls_begin(&client->calls, options->is_idempotent, deadline_ns, pending);
	if (begun == NULL) {
		free(pending);
		return -EAGAIN;
	}
	begun->is_stream = chunk != NULL;
	begun->waits_for_server = options->wait_for_ready;
	*call = begun->id;
	transport_device_wake(&client->link.device); /* a turn sends it */
	return 0;
}

int rnic_rpc_begin(struct rnic_rpc_client *client, const ProtobufCServiceDescriptor *service,
		   unsigned method, const ProtobufCMessage *input,
		   const struct rnic_rpc_call_options *options, rnic_rpc_closure *closure,
		   void *user, uint64_t *call)
{
	return rpc_client_begin(client, service, method, input, options, NULL, closure, user, call);
}

int rnic_rpc_begin_stream(struct rnic_rpc_client *client, const ProtobufCServiceDescriptor *service,
			  unsigned method, const ProtobufCMessage *input,
			  const struct rnic_rpc_call_options *options, rnic_rpc_chunk *chunk,
			  rnic_rpc_closure *closure, void *user, uint64_t *call)
{
	if (chunk == NULL)
		return -EINVAL;
	return rpc_client_begin(client, service, method, input, options, chunk, closure, user,
				call);
}

void rnic_rpc_cancel(struct rnic_rpc_client *client, uint64_t call)
{
	struct rpc_call *found;

	if (client == NULL)
		return;
	found = &client->calls.slots[call % RPC_CALLS_MAX];
	if (found->id == call)
		rpc_calls_end(found, RNIC_RPC_CANCELLED);
	transport_device_wake(&client->link.device);
}

struct waiting {
	bool is_over;
	uint32_t status;
	ProtobufCMessage *output;
};

static ProtobufCMessage *copy_message(const ProtobufCMessage *message)
{
	size_t bytes = protobuf_c_message_get_packed_size(message);
	uint8_t *packed = malloc(bytes > 0 ? bytes : 1);
	ProtobufCMessage *copy;

	if (packed == NULL)
		return NULL;
	protobuf_c_message_pack(message, packed);
	copy = protobuf_c_message_unpack(message->descriptor, NULL, bytes, packed);
	free(packed);
	return copy;
}

static void note_result(uint32_t status, const ProtobufCMessage *output, void *user)
{
	struct waiting *waiting = user;

	waiting->is_over = true;
	waiting->status = status;
	if (output == NULL)
		return;
	waiting->output = copy_message(output);
	if (waiting->output == NULL)
		waiting->status = RNIC_RPC_BAD_ANSWER;
}

int rnic_rpc_call(struct rnic_rpc_client *client, const ProtobufCServiceDescriptor *service,
		  unsigned method, const ProtobufCMessage *input,
		  const struct rnic_rpc_call_options *options, uint32_t *status,
		  ProtobufCMessage **output)
{
	struct waiting waiting = {0};
	uint64_t call;
	int error;

	if (status == NULL || output == NULL)
		return -EINVAL;
	error = rnic_rpc_begin(client, service, method, input, options, note_result, &waiting,
			       &call);
	if (error != 0)
		return error;
	while (!waiting.is_over) {
		error = rnic_rpc_client_turn(client, -1);
		/*
		 * The daemon's end also ends the call, so that nothing refers to `waiting` any
		 * more.
		 */
		assert(error == 0 || error == -EINTR || waiting.is_over);
	}
	*status = waiting.status;
	*output = waiting.output;
	return 0;
}

/* --- protobuf-c's interface ------------------------------------------------------------------- */

struct stub {
	ProtobufCService base; /* the first member: protobuf-c knows only this one */
	struct rnic_rpc_client *client;
	struct rnic_rpc_call_options options;
};

struct stub_call {
	ProtobufCClosure closure;
	void *user;
};

static void end_stub_call(uint32_t status, const ProtobufCMessage *output, void *user)
{
	struct stub_call *call = user;

	(void)status;
	call->closure(output, call->user);
	free(call);
}

static void invoke_stub(ProtobufCService *service, unsigned method, const ProtobufCMessage *input,
			ProtobufCClosure closure, void *user)
{
	struct stub *stub = (struct stub *)service;
	struct stub_call *call = malloc(sizeof(*call));
	uint64_t number;

	if (call != NULL) {
		*call = (struct stub_call){.closure = closure, .user = user};
		if (rnic_rpc_begin(stub->client, service->descriptor, method, input, &stub->options,
				   end_stub_call, call, &number) == 0)
			return;
	}
	free(call);
	closure(NULL, user);
}

static void destroy_stub(ProtobufCService *service)
{
	free((struct stub *)service);
}

ProtobufCService *rnic_rpc_service(struct rnic_rpc_client *client,
				   const ProtobufCServiceDescriptor *service,
				   const struct rnic_rpc_call_options *options)
{
	struct stub *stub = NULL;

	if (client != NULL && service != NULL)
		stub = calloc(1, sizeof(*stub));
	if (stub == NULL)
		return NULL;
	stub->base.descriptor = service;
	stub->base.invoke = invoke_stub;
	stub->base.destroy = destroy_stub;
	stub->client = client;
	if (options != NULL)
		stub->options = *options;
	return &stub->base;
}
