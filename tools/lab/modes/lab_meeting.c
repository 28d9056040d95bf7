/* SPDX-License-Identifier: MIT */
#include "tools/lab/modes/lab_meeting.h"

#include "tools/lab/lab_text.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>

int lab_meeting_open(struct lab_meeting *meeting, unsigned int access)
{
	struct sockaddr_storage local;
	socklen_t bytes = sizeof(local);
	bool is_known = getsockname(meeting->exchange.fd, (struct sockaddr *)&local, &bytes) == 0;

	if (getrandom(meeting->ours.nonce, LAB_NONCE_BYTES, 0) != LAB_NONCE_BYTES) {
		lab_say("there are no random numbers");
		return -EIO;
	}
	return verbs_link_open(&meeting->link, meeting->options, access,
			       is_known ? (struct sockaddr *)&local : NULL);
}

void lab_meeting_close(struct lab_meeting *meeting)
{
	verbs_link_close(&meeting->link);
}

void lab_meeting_offer(struct lab_meeting *meeting, const struct verbs_region *region,
		       uint32_t bytes)
{
	meeting->ours.region_address = (uintptr_t)region->memory;
	meeting->ours.region_key = region->mr->rkey;
	meeting->ours.region_bytes = bytes;
}

/* ---- meeting ---- */

static int send_endpoint(struct lab_meeting *meeting, enum lab_message_type type)
{
	struct lab_message message = {.type = type};
	int error;

	meeting->ours.mode = (uint8_t)meeting->options->mode;
	verbs_link_describe(&meeting->link, &meeting->ours);
	message.endpoint = meeting->ours;
	error = exchange_send(&meeting->exchange, meeting->watch, &message,
			      lab_deadline_ns(meeting->options->timeout_s));
	if (error && error != -EINTR)
		lab_say("the peer is gone: %s", strerror(-error));
	return error;
}

int lab_meeting_greet(struct lab_meeting *meeting)
{
	return send_endpoint(meeting, LAB_HELLO);
}

int lab_meeting_meet(struct lab_meeting *meeting)
{
	uint64_t deadline_ns = lab_deadline_ns(meeting->options->timeout_s);
	struct lab_message message;
	int error;

	error = exchange_receive(&meeting->exchange, meeting->watch, LAB_ANSWER, &message,
				 deadline_ns);
	if (error)
		return error;
	meeting->theirs = message.endpoint;
	error = verbs_link_connect(&meeting->link, &meeting->theirs);
	if (error)
		return error;
	message.type = LAB_READY;
	error = exchange_send(&meeting->exchange, meeting->watch, &message, deadline_ns);
	meeting->watch->peer_fd = meeting->exchange.fd;
	return error;
}

int lab_meeting_answer(struct lab_meeting *meeting)
{
	struct lab_message message;
	int error;

	error = verbs_link_connect(&meeting->link, &meeting->theirs);
	if (error == 0)
		error = send_endpoint(meeting, LAB_ANSWER);
	if (error == 0)
		error = exchange_receive(&meeting->exchange, meeting->watch, LAB_READY, &message,
					 lab_deadline_ns(meeting->options->timeout_s));
	if (error == 0)
		(void)eventfd_write(meeting->met_fd, 1); /* a counter at 0 takes it */
	meeting->watch->peer_fd = meeting->exchange.fd;
	return error;
}

/* ---- requests ---- */

static int lab_meeting_explain(int error)
{
	if (error == -ECONNRESET)
		lab_say("the peer is gone");
	else if (error == -ETIMEDOUT)
		lab_say("the peer does not answer");
	return error;
}

static bool lab_meeting_is_message(const struct ibv_wc *completion)
{
	return completion->opcode & IBV_WC_RECV;
}

static int run_request(struct lab_meeting *meeting, struct ibv_send_wr *request,
		       struct ibv_sge *elements, int count)
{
	uint64_t deadline_ns = lab_deadline_ns(meeting->options->timeout_s);
	struct ibv_wc completion;
	int error = verbs_link_post(&meeting->link, request, elements, count);

	while (error == 0) {
		error = verbs_link_next(&meeting->link, meeting->watch, deadline_ns, &completion);
		if (error || !lab_meeting_is_message(&completion))
			break;
		meeting->has_early = true;
		meeting->early = completion;
	}
	return error;
}

int lab_meeting_request(struct lab_meeting *meeting, struct ibv_send_wr *request,
			struct ibv_sge *elements, int count)
{
	return lab_meeting_explain(run_request(meeting, request, elements, count));
}

int lab_meeting_reply(struct lab_meeting *meeting, struct ibv_send_wr *reply,
		      struct ibv_sge *elements, int count)
{
	int error = run_request(meeting, reply, elements, count);

	if (error == -ECONNRESET)
		return 0;
	return error ? lab_meeting_explain(error) : 1;
}

static int lab_meeting_take_message(struct lab_meeting *meeting, uint64_t deadline_ns,
				    struct ibv_wc *message)
{
	if (meeting->has_early) {
		meeting->has_early = false;
		*message = meeting->early;
		return 0;
	}
	return verbs_link_next(&meeting->link, meeting->watch, deadline_ns, message);
}

int lab_meeting_expect(struct lab_meeting *meeting, struct ibv_wc *message)
{
	return lab_meeting_explain(lab_meeting_take_message(
		meeting, lab_deadline_ns(meeting->options->timeout_s), message));
}

int lab_meeting_next(struct lab_meeting *meeting, struct ibv_wc *message)
{
	int error = lab_meeting_take_message(meeting, LAB_FOREVER, message);

	if (error == -ECONNRESET)
		return 0;
	return error ? error : 1;
}
