/* SPDX-License-Identifier: MIT */
#include "tools/lab/modes/lab_meeting.h"

#include "tools/lab/lab_text.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>

int lab_session_open(struct lab_session *session, unsigned int access)
{
	struct sockaddr_storage local;
	socklen_t bytes = sizeof(local);
	bool is_known = getsockname(session->exchange.fd, (struct sockaddr *)&local, &bytes) == 0;

	if (getrandom(session->ours.nonce, LAB_NONCE_BYTES, 0) != LAB_NONCE_BYTES) {
		lab_say("there are no random numbers");
		return -EIO;
	}
	return verbs_link_open(&session->link, session->options, access,
			       is_known ? (struct sockaddr *)&local : NULL);
}

void lab_session_close(struct lab_session *session)
{
	verbs_link_close(&session->link);
}

void lab_session_offer(struct lab_session *session, const struct verbs_region *region,
		       uint32_t bytes)
{
	session->ours.region_address = (uintptr_t)region->memory;
	session->ours.region_key = region->mr->rkey;
	session->ours.region_bytes = bytes;
}

/* ---- meeting ---- */

static int send_endpoint(struct lab_session *session, enum lab_message_type type)
{
	struct lab_message message = {.type = type};
	int error;

	session->ours.mode = (uint8_t)session->options->mode;
	verbs_link_describe(&session->link, &session->ours);
	message.endpoint = session->ours;
	error = exchange_send(&session->exchange, session->watch, &message,
			      lab_deadline_ns(session->options->timeout_s));
	if (error && error != -EINTR)
		lab_say("the peer is gone: %s", strerror(-error));
	return error;
}

int lab_session_greet(struct lab_session *session)
{
	return send_endpoint(session, LAB_HELLO);
}

int lab_session_meet(struct lab_session *session)
{
	uint64_t deadline_ns = lab_deadline_ns(session->options->timeout_s);
	struct lab_message message;
	int error;

	error = exchange_receive(&session->exchange, session->watch, LAB_ANSWER, &message,
				 deadline_ns);
	if (error)
		return error;
	session->theirs = message.endpoint;
	error = verbs_link_connect(&session->link, &session->theirs);
	if (error)
		return error;
	message.type = LAB_READY;
	error = exchange_send(&session->exchange, session->watch, &message, deadline_ns);
	session->watch->peer_fd = session->exchange.fd;
	return error;
}

int lab_session_answer(struct lab_session *session)
{
	struct lab_message message;
	int error;

	error = verbs_link_connect(&session->link, &session->theirs);
	if (error == 0)
		error = send_endpoint(session, LAB_ANSWER);
	if (error == 0)
		error = exchange_receive(&session->exchange, session->watch, LAB_READY, &message,
					 lab_deadline_ns(session->options->timeout_s));
	if (error == 0)
		(void)eventfd_write(session->met_fd, 1); /* a counter at 0 takes it */
	session->watch->peer_fd = session->exchange.fd;
	return error;
}

/* ---- requests ---- */

static int lab_session_explain(int error)
{
	if (error == -ECONNRESET)
		lab_say("the peer is gone");
	else if (error == -ETIMEDOUT)
		lab_say("the peer does not answer");
	return error;
}

static bool lab_session_is_message(const struct ibv_wc *completion)
{
	return completion->opcode & IBV_WC_RECV;
}

static int run_request(struct lab_session *session, struct ibv_send_wr *request,
		       struct ibv_sge *elements, int count)
{
	uint64_t deadline_ns = lab_deadline_ns(session->options->timeout_s);
	struct ibv_wc completion;
	int error = verbs_link_post(&session->link, request, elements, count);

	while (error == 0) {
		error = verbs_link_next(&session->link, session->watch, deadline_ns, &completion);
		if (error || !lab_session_is_message(&completion))
			break;
		session->has_early = true;
		session->early = completion;
	}
	return error;
}

int lab_session_request(struct lab_session *session, struct ibv_send_wr *request,
			struct ibv_sge *elements, int count)
{
	return lab_session_explain(run_request(session, request, elements, count));
}

int lab_session_reply(struct lab_session *session, struct ibv_send_wr *reply,
		      struct ibv_sge *elements, int count)
{
	int error = run_request(session, reply, elements, count);

	if (error == -ECONNRESET)
		return 0;
	return error ? lab_session_explain(error) : 1;
}

static int lab_session_take_message(struct lab_session *session, uint64_t deadline_ns,
				    struct ibv_wc *message)
{
	if (session->has_early) {
		session->has_early = false;
		*message = session->early;
		return 0;
	}
	return verbs_link_next(&session->link, session->watch, deadline_ns, message);
}

int lab_session_expect(struct lab_session *session, struct ibv_wc *message)
{
	return lab_session_explain(lab_session_take_message(
		session, lab_deadline_ns(session->options->timeout_s), message));
}

int lab_session_next(struct lab_session *session, struct ibv_wc *message)
{
	int error = lab_session_take_message(session, LAB_FOREVER, message);

	if (error == -ECONNRESET)
		return 0;
	return error ? error : 1;
}
