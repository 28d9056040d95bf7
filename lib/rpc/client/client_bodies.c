/* SPDX-License-Identifier: MIT */
#include "rpc/client/client_bodies.h"

#include "dial/dial.h"

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

/* Where what comes is the client's alone: the whole answer, or the chunk of a stream. */
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
	error = bulk_in_begin(&body->in, link->transport, total);
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
			rpc_session_lose(&link->session);
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

/* Whether the memory was put aside; not so without memory for that, when it must be let go. */
static bool try_orphan(struct client_body *body, struct client_link *link, uint64_t call)
{
	const struct rpc_session_config *config = link->transport->calls->config;
	struct client_orphan *orphan = malloc(sizeof(*orphan));
	struct client_orphan **at = &link->orphans;

	if (orphan == NULL)
		return false;
	*orphan = (struct client_orphan){
		.call = call, .until_ns = rnic_dial_now_ns() + config->dead_ns, .in = body->in};
	while (*at != NULL)
		at = &(*at)->next;
	*at = orphan; /* the oldest stands first */
	link->orphan_count++;
	return true;
}

bool client_body_end(struct client_body *body, struct client_link *link, uint64_t call,
		     bool is_cut_off)
{
	bool is_orphan = is_cut_off && body->is_receiving && body->in.ring != NULL &&
			 try_orphan(body, link, call);

	if (body->is_receiving && !is_orphan)
		bulk_in_end(&body->in);
	bulk_out_end(&body->out);
	free(body->bytes);
	free(body->chunk);
	*body = (struct client_body){0};
	return is_orphan;
}

static void free_orphan(struct client_link *link, struct client_orphan **at)
{
	struct client_orphan *orphan = *at;

	*at = orphan->next;
	link->orphan_count--;
	bulk_in_end(&orphan->in);
	free(orphan);
}

void client_bodies_note_stray(struct client_link *link, const struct rpc_frame *frame)
{
	struct client_orphan **at = &link->orphans;
	static const uint8_t nothing[RPC_CHUNK_HEAD_BYTES];

	if (frame->payload_bytes != RPC_CHUNK_HEAD_BYTES ||
	    memcmp(frame->payload, nothing, sizeof(nothing)) != 0)
		return;
	while (*at != NULL && (*at)->call != frame->call)
		at = &(*at)->next;
	if (*at != NULL)
		free_orphan(link, at);
}

bool client_bodies_are_kept(const struct client_link *link, uint64_t now_ns)
{
	return link->orphan_count > CLIENT_ORPHANS_MAX ||
	       now_ns >= client_bodies_next_deadline_ns(link);
}

uint64_t client_bodies_next_deadline_ns(const struct client_link *link)
{
	return link->orphans == NULL ? RPC_NEVER : link->orphans->until_ns;
}

void client_bodies_free_orphans(struct client_link *link)
{
	while (link->orphans != NULL)
		free_orphan(link, &link->orphans);
}
