/* SPDX-License-Identifier: MIT */
/*
 * Both sides take part: the client SENDs the user's lines, the server receives them into memory of
 * its own choice and SENDs back the number of bytes.
 */
#include "tools/lab/modes/lab_modes.h"

#include "proto/base/be.h"
#include "tools/lab/lab_text.h"
#include "tools/lab/modes/lab_talk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECEIPT_BYTES = 4 };

/* A message in pieces, and the receipt for it. */
struct mailbox {
	struct segment_buffer pieces;
	struct verbs_region message;
	struct verbs_region receipt;
};

static int open_mailbox(struct lab_meeting *meeting, struct mailbox *mailbox)
{
	const struct lab_options *options = meeting->options;
	int error;

	*mailbox = (struct mailbox){0};
	error = lab_meeting_open(meeting, 0);
	if (error)
		return error;
	error = verbs_region_create(
		&meeting->link,
		segment_buffer_block_bytes(options->buffer_bytes, options->segments),
		IBV_ACCESS_LOCAL_WRITE, &mailbox->message);
	if (error)
		return error;
	segment_buffer_init(&mailbox->pieces, mailbox->message.memory, options->buffer_bytes,
			    options->segments);
	return verbs_region_create(&meeting->link, RECEIPT_BYTES, IBV_ACCESS_LOCAL_WRITE,
				   &mailbox->receipt);
}

static void close_mailbox(struct lab_meeting *meeting, struct mailbox *mailbox)
{
	verbs_region_destroy(&mailbox->message);
	verbs_region_destroy(&mailbox->receipt);
	lab_meeting_close(meeting);
}

static struct ibv_sge receipt_element(const struct mailbox *mailbox)
{
	return (struct ibv_sge){.addr = (uintptr_t)mailbox->receipt.memory,
				.length = RECEIPT_BYTES,
				.lkey = mailbox->receipt.mr->lkey};
}

/* ---- server ---- */

static int receive_next_message(struct lab_meeting *meeting, struct mailbox *mailbox)
{
	struct ibv_sge elements[SEGMENTS_MAX];
	int count = verbs_region_elements(&mailbox->message, &mailbox->pieces,
					  meeting->options->buffer_bytes, elements);

	return verbs_link_receive(&meeting->link, elements, count);
}

static int serve_messages(struct lab_meeting *meeting, struct mailbox *mailbox, char *text)
{
	struct ibv_send_wr receipt = {.opcode = IBV_WR_SEND};
	struct ibv_sge element = receipt_element(mailbox);
	struct ibv_wc message;
	int result;

	while ((result = lab_meeting_next(meeting, &message)) == 1) {
		segment_buffer_get(&mailbox->pieces, text, message.byte_len);
		lab_print_text("Received: ", text, message.byte_len);
		result = receive_next_message(meeting, mailbox);
		if (result)
			return result;
		rnic_be32_write(mailbox->receipt.memory, message.byte_len);
		result = lab_meeting_reply(meeting, &receipt, &element, 1);
		if (result != 1)
			return result;
	}
	return result;
}

static int lab_send_serve(struct lab_meeting *meeting)
{
	char *text = malloc(meeting->options->buffer_bytes);
	struct mailbox mailbox;
	int error;

	error = open_mailbox(meeting, &mailbox);
	if (error == 0 && !text)
		error = -ENOMEM;
	if (error == 0)
		error = receive_next_message(meeting, &mailbox);
	if (error == 0) {
		meeting->ours.region_bytes = meeting->options->buffer_bytes;
		error = lab_meeting_answer(meeting);
	}
	if (error == 0)
		error = serve_messages(meeting, &mailbox, text);
	close_mailbox(meeting, &mailbox);
	free(text);
	return error;
}

/* ---- client ---- */

static int lab_send_deliver(struct lab_meeting *meeting, void *context, char *line, uint32_t bytes)
{
	struct mailbox *mailbox = context;
	struct ibv_send_wr request = {.opcode = IBV_WR_SEND};
	struct ibv_sge elements[SEGMENTS_MAX], receipt = receipt_element(mailbox);
	struct ibv_wc answer;
	int error;

	error = verbs_link_receive(&meeting->link, &receipt, 1);
	if (error)
		return error;
	segment_buffer_put(&mailbox->pieces, line, bytes);
	error = lab_meeting_request(
		meeting, &request, elements,
		verbs_region_elements(&mailbox->message, &mailbox->pieces, bytes, elements));
	if (error == 0)
		error = lab_meeting_expect(meeting, &answer);
	if (error)
		return error;
	if (answer.byte_len != RECEIPT_BYTES || rnic_be32_read(mailbox->receipt.memory) != bytes) {
		lab_say("the server acknowledged another message");
		return -EPROTO;
	}
	puts("Server acknowledged");
	fflush(stdout);
	return 0;
}

static int lab_send_use(struct lab_meeting *meeting)
{
	struct mailbox mailbox;
	uint32_t room = meeting->options->buffer_bytes;
	int result;

	result = open_mailbox(meeting, &mailbox);
	if (result == 0)
		result = lab_meeting_greet(meeting);
	if (result == 0)
		result = lab_meeting_meet(meeting);
	if (result == 0) {
		room = room < meeting->theirs.region_bytes ? room : meeting->theirs.region_bytes;
		result = lab_talk(meeting, "> ", room, lab_send_deliver, &mailbox);
	}
	close_mailbox(meeting, &mailbox);
	return result;
}

const struct lab_mode lab_send_mode = {
	.name = "send", .serve = lab_send_serve, .use = lab_send_use};
