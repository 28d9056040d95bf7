/* SPDX-License-Identifier: MIT */
/*
 * The client WRITEs the user's lines straight into the server's memory. The immediate has the
 * length; after reading the line, the server sends an empty message, and the memory is the client's
 * again.
 */
#include "tools/lab/modes/lab_modes.h"

#include "tools/lab/lab_text.h"
#include "tools/lab/modes/lab_talk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

/* ---- server ---- */

static int serve_writes(struct lab_meeting *meeting, const struct verbs_region *region)
{
	struct ibv_send_wr release = {.opcode = IBV_WR_SEND};
	struct ibv_wc message;
	uint32_t bytes;
	int result;

	while ((result = lab_meeting_next(meeting, &message)) == 1) {
		bytes = ntohl(message.imm_data);
		if (message.opcode != IBV_WC_RECV_RDMA_WITH_IMM || bytes > region->bytes) {
			lab_say("the client announces more than it may write");
			return -EPROTO;
		}
		lab_print_text("Received: ", region->memory, bytes);
		result = verbs_link_receive(&meeting->link, NULL, 0);
		if (result == 0)
			result = lab_meeting_reply(meeting, &release, NULL, 0);
		if (result != 1)
			return result;
	}
	return result;
}

static int lab_write_serve(struct lab_meeting *meeting)
{
	struct verbs_region region = {0};
	int error;

	error = lab_meeting_open(meeting, IBV_ACCESS_REMOTE_WRITE);
	if (error)
		return error;
	error = verbs_region_create(&meeting->link, meeting->options->buffer_bytes,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &region);
	if (error)
		goto close_meeting;
	error = verbs_link_receive(&meeting->link, NULL, 0);
	if (error)
		goto destroy_region;
	lab_meeting_offer(meeting, &region, meeting->options->buffer_bytes);
	error = lab_meeting_answer(meeting);
	if (error == 0)
		error = serve_writes(meeting, &region);
destroy_region:
	verbs_region_destroy(&region);
close_meeting:
	lab_meeting_close(meeting);
	return error;
}

/* ---- client ---- */

struct letter {
	struct segment_buffer pieces;
	struct verbs_region region;
};

static int lab_write_deliver(struct lab_meeting *meeting, void *context, char *line, uint32_t bytes)
{
	struct letter *letter = context;
	struct ibv_send_wr request = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl(bytes),
		.wr.rdma = {.remote_addr = meeting->theirs.region_address,
			    .rkey = meeting->theirs.region_key},
	};
	struct ibv_sge elements[SEGMENTS_MAX];
	struct ibv_wc release;
	int error;

	error = verbs_link_receive(&meeting->link, NULL, 0);
	if (error)
		return error;
	segment_buffer_put(&letter->pieces, line, bytes);
	error = lab_meeting_request(
		meeting, &request, elements,
		verbs_region_elements(&letter->region, &letter->pieces, bytes, elements));
	if (error)
		return error;
	puts("Message sent successfully");
	fflush(stdout);
	return lab_meeting_expect(meeting, &release);
}

static int lab_write_use(struct lab_meeting *meeting)
{
	const struct lab_options *options = meeting->options;
	struct letter letter = {0};
	uint32_t room = options->buffer_bytes;
	int result;

	result = lab_meeting_open(meeting, 0);
	if (result)
		return result;
	result = verbs_region_create(
		&meeting->link,
		segment_buffer_block_bytes(options->buffer_bytes, options->segments), 0,
		&letter.region);
	if (result)
		goto close_meeting;
	segment_buffer_init(&letter.pieces, letter.region.memory, options->buffer_bytes,
			    options->segments);
	result = lab_meeting_greet(meeting);
	if (result == 0)
		result = lab_meeting_meet(meeting);
	if (result == 0) {
		room = room < meeting->theirs.region_bytes ? room : meeting->theirs.region_bytes;
		result = lab_talk(meeting, "> ", room, lab_write_deliver, &letter);
	}
	verbs_region_destroy(&letter.region);
close_meeting:
	lab_meeting_close(meeting);
	return result;
}

const struct lab_mode lab_write_mode = {
	.name = "write", .serve = lab_write_serve, .use = lab_write_use};
