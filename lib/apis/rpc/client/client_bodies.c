/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/client/client_bodies.h"

#include "lib/apis/dial/dial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void client_bodies_send_grant(struct client_body *body, struct client_link *link,
				     uint64_t call)
{
	struct rpc_frame frame;

	bulk_in_grant(&body->in, call, &frame);
	client_link_send(link, &frame);
}

/*
 * Makes private memory of the client for incoming bytes: the whole answer, or the chunk of a
 * stream.
 */
static int make_private(struct client_body *body, uint64_t total)
{
	if (total > 0)
		body->bytes = malloc(total);
	else if (body->in.ring != NULL)
		body->chunk = malloc(body->in.receiver.grant.slot_bytes);
	else
		return 0;
	return body->bytes == NULL && body->chunk == NULL ? -ENOMEM : 0;
}

int client_body_expect(struct client_body *body, struct client_link *link, uint64_t call,
		       uint64_t total)
{
	int error;

	if (body->is_receiving)
		return -EPROTO;
	error = bulk_in_begin(&body->in, link->transport, &link->conversation, total);
	if (error != 0)
		return error;
	error = make_private(body, total);
	if (error != 0) {
		bulk_in_end(&body->in);
		return error;
	}
	body->total = total;
	body->received = 0;
	body->is_receiving = true;
	client_bodies_send_grant(body, link, call);
	return 0;
}

int client_body_take_grant(struct client_body *body, struct client_link *link,
			   const struct rpc_frame *frame)
{
	return bulk_out_grant(&body->out, link->route, frame);
}

void client_body_pump(struct client_body *body, struct client_link *link, uint64_t call,
		      const uint8_t *input, uint64_t input_bytes)
{
	struct rpc_frame frame;
	uint32_t bytes;
	uint8_t *room;

	while (body->sent < input_bytes && (room = bulk_out_room(&body->out, &bytes)) != NULL) {
		if (bytes > input_bytes - body->sent)
			bytes = (uint32_t)(input_bytes - body->sent);
		memcpy(room, input + body->sent, bytes);
		body->sent += bytes;
		if (bulk_out_send(&body->out, call, bytes, &frame) != 0)
			rpc_conversation_lose(&link->conversation);
		client_link_send(link, &frame);
	}
	bulk_out_rest(&body->out);
}

int client_body_take_chunk(struct client_body *body, const struct rpc_frame *frame,
			   struct rpc_chunk *chunk)
{
	int error = body->is_receiving ? bulk_in_take(&body->in, frame, chunk) : -EPROTO;

	if (error != 0)
		return error;
	if (body->chunk != NULL)
		chunk->data = memcpy(body->chunk, chunk->data, chunk->bytes);
	if (body->bytes == NULL)
		return 0;
	if (chunk->bytes > body->total - body->received)
		return -EPROTO;
	memcpy(body->bytes + body->received, chunk->data, chunk->bytes);
	body->received += chunk->bytes;
	return 0;
}

void client_body_release_chunk(struct client_body *body, struct client_link *link, uint64_t call)
{
	uint64_t left = body->bytes == NULL ? UINT64_MAX : body->total - body->received;

	if (body->is_receiving && rpc_bulk_receiver_owes_grant(&body->in.receiver, left))
		client_bodies_send_grant(body, link, call);
}

bool client_body_end(struct client_body *body, struct client_link *link, uint64_t call,
		     bool is_cut_off)
{
	const struct rpc_conversation_config *config = link->transport->calls->config;
	/* Without memory for an orphan's record the client must release the body's memory. */
	bool is_orphan = is_cut_off && body->is_receiving && body->in.ring != NULL &&
			 client_orphans_add(&link->orphans, call, &body->in,
					    rnic_dial_now_ns() + config->dead_ns);

	if (body->is_receiving && !is_orphan)
		bulk_in_end(&body->in);
	bulk_out_end(&body->out);
	free(body->bytes);
	free(body->chunk);
	*body = (struct client_body){0};
	return is_orphan;
}
