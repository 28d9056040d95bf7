/* SPDX-License-Identifier: MIT */
/*
 * The server has a text, registers exactly its bytes and takes no further part; the client READs
 * the user's range. Positions count from 0 and both ends belong to the range.
 */
#include "tools/lab/modes/lab_modes.h"

#include "tools/lab/lab_text.h"
#include "tools/lab/link/byte_range.h"
#include "tools/lab/modes/lab_talk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- server ---- */

/* The served text, one per process. */
static char *stored_text;
static uint32_t stored_bytes;

static int lab_read_prepare(const struct lab_options *options, struct lab_watch *watch)
{
	int error;

	error = lab_ask(watch, "Enter text to store: ", options->buffer_bytes, &stored_text,
			&stored_bytes);
	if (error == 0 && stored_bytes == 0)
		error = -ENODATA;
	if (error == -ENODATA)
		lab_say("there is no text to store");
	else if (error == -EMSGSIZE)
		lab_say("the text has more than %u bytes; see --buffer-size",
			options->buffer_bytes);
	else if (error && error != -EINTR)
		lab_say("cannot read the text: %s", strerror(-error));
	return error;
}

static int lab_read_serve(struct lab_meeting *meeting)
{
	struct verbs_region region = {0};
	struct ibv_wc message;
	int error;

	error = lab_meeting_open(meeting, IBV_ACCESS_REMOTE_READ);
	if (error)
		return error;
	error = verbs_region_create(&meeting->link, stored_bytes, IBV_ACCESS_REMOTE_READ, &region);
	if (error)
		goto close_meeting;
	memcpy(region.memory, stored_text, stored_bytes);
	lab_meeting_offer(meeting, &region, stored_bytes);
	error = lab_meeting_answer(meeting);
	if (error == 0)
		error = lab_meeting_next(meeting, &message);
	if (error > 0) {
		lab_say("the client sent an unexpected message");
		error = -EPROTO;
	}
	verbs_region_destroy(&region);
close_meeting:
	lab_meeting_close(meeting);
	return error;
}

/* ---- client ---- */

struct excerpt {
	struct segment_buffer pieces;
	struct verbs_region region;
	uint32_t room;
	char *text;
};

/* Whether this range is readable; prints the reason otherwise. */
static bool is_readable(const struct lab_meeting *meeting, const struct excerpt *excerpt,
			const char *line, struct byte_range *range)
{
	uint32_t stored = meeting->theirs.region_bytes;
	int error = byte_range_parse(line, range);

	if (error == 0 && !byte_range_is_within(range, stored))
		error = -ERANGE;
	if (error == -ERANGE)
		lab_say("this range is outside the stored text, which has positions 0 to %u",
			stored - 1);
	else if (error)
		lab_say("a range is two positions, start and end, with start <= end: 0 5");
	else if (range->last - range->first >= excerpt->room)
		lab_say("this range has more than %u bytes; see --buffer-size", excerpt->room);
	else
		return true;
	return false;
}

static int lab_read_deliver(struct lab_meeting *meeting, void *context, char *line, uint32_t bytes)
{
	struct excerpt *excerpt = context;
	struct ibv_send_wr request = {.opcode = IBV_WR_RDMA_READ};
	struct ibv_sge elements[SEGMENTS_MAX];
	struct byte_range range;
	char before[64];
	int error;

	if (memchr(line, '\0', bytes) || !is_readable(meeting, excerpt, line, &range))
		return 1;
	bytes = range.last - range.first + 1;
	request.wr.rdma.remote_addr = meeting->theirs.region_address + range.first;
	request.wr.rdma.rkey = meeting->theirs.region_key;
	error = lab_meeting_request(
		meeting, &request, elements,
		verbs_region_elements(&excerpt->region, &excerpt->pieces, bytes, elements));
	if (error)
		return error;
	segment_buffer_get(&excerpt->pieces, excerpt->text, bytes);
	snprintf(before, sizeof(before), "Read data (%u bytes from position %u): ", bytes,
		 range.first);
	lab_print_text(before, excerpt->text, bytes);
	return 0;
}

static int lab_read_use(struct lab_meeting *meeting)
{
	const struct lab_options *options = meeting->options;
	struct excerpt excerpt = {.room = options->buffer_bytes,
				  .text = malloc(options->buffer_bytes)};
	int result = -ENOMEM;

	if (!excerpt.text)
		goto free_text;
	result = lab_meeting_open(meeting, 0);
	if (result)
		goto free_text;
	result = verbs_region_create(
		&meeting->link,
		segment_buffer_block_bytes(options->buffer_bytes, options->segments),
		IBV_ACCESS_LOCAL_WRITE, &excerpt.region);
	if (result)
		goto close_meeting;
	segment_buffer_init(&excerpt.pieces, excerpt.region.memory, options->buffer_bytes,
			    options->segments);
	result = lab_meeting_greet(meeting);
	if (result == 0)
		result = lab_meeting_meet(meeting);
	if (result == 0)
		result = lab_talk(meeting, "Enter range (start end): ", 64, lab_read_deliver,
				  &excerpt);
	verbs_region_destroy(&excerpt.region);
close_meeting:
	lab_meeting_close(meeting);
free_text:
	free(excerpt.text);
	return result;
}

const struct lab_mode lab_read_mode = {
	.name = "read", .prepare = lab_read_prepare, .serve = lab_read_serve, .use = lab_read_use};
