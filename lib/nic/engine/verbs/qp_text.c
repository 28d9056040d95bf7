/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verbs/qp.h"

#include "lib/nic/engine/engine_addresses.h"
#include "lib/nic/engine/peer_port.h"
#include "lib/nic/engine/reliability/path_report.h"
#include "lib/nic/engine/reliability/retry_timer.h"
#include "proto/base/causes.h"
#include "proto/base/time_units.h"
#include "proto/wire/gid.h"
#include "proto/wire/syndrome.h"

#include <inttypes.h>
#include <stdio.h>

/* Milliseconds until the QP's timer expires, rounded up. */
static uint64_t timer_ms(const struct qp *qp, uint64_t now_ns)
{
	uint64_t deadline_ns = qp->retry.running == RETRY_TIMER_RNR ? qp->retry.timer.deadline_ns
								    : retry_timer_timeout_at_ns(qp);

	return deadline_ns <= now_ns ? 0
				     : (deadline_ns - now_ns + RNIC_NS_PER_MS - 1) / RNIC_NS_PER_MS;
}

static void write_rnr(const struct qp *qp, uint64_t now_ns, char *text, uint32_t text_bytes)
{
	uint32_t most = qp->attributes.rnr_retry;

	if (most == 7)
		snprintf(text, text_bytes,
			 "a receive to be posted by the peer (RNR), retries without end, next in "
			 "%" PRIu64 " ms",
			 timer_ms(qp, now_ns));
	else
		snprintf(text, text_bytes,
			 "a receive to be posted by the peer (RNR), retry %" PRIu32 " of %" PRIu32
			 ", next in %" PRIu64 " ms",
			 most - qp->retry.rnr_retries_left, most, timer_ms(qp, now_ns));
}

/* ", retry 2 of 7, next in 34 ms"; "" when there is no timeout. */
static void write_retry(const struct qp *qp, uint64_t now_ns, char *text, uint32_t text_bytes)
{
	uint32_t most = qp->attributes.retry_count;

	text[0] = '\0';
	if (timer_is_armed(&qp->retry.timer) && retry_timer_timeout_at_ns(qp) != UINT64_MAX)
		snprintf(text, text_bytes,
			 ", retry %" PRIu32 " of %" PRIu32 ", next in %" PRIu64 " ms",
			 most - qp->retry.retries_left, most, timer_ms(qp, now_ns));
}

static void write_unacknowledged(const struct qp *qp, uint64_t now_ns, const char *peer, char *text,
				 uint32_t text_bytes)
{
	const struct send_wqe *oldest = send_queue_at(&qp->send_queue, qp->send_queue.retired);
	char retry[64];

	write_retry(qp, now_ns, retry, sizeof(retry));
	if (wqe_operation(oldest)->has_response)
		snprintf(text, text_bytes, "responses of %" PRIu32 " READs or atomics from %s%s",
			 qp->requester.reads_outstanding, peer, retry);
	else
		snprintf(text, text_bytes, "an acknowledgement of PSN 0x%" PRIx32 " from %s%s",
			 qp->requester.unacknowledged.value, peer, retry);
}

static void write_window(const struct qp *qp, uint64_t now_ns, const char *peer, char *text,
			 uint32_t text_bytes)
{
	char retry[64];

	write_retry(qp, now_ns, retry, sizeof(retry));
	snprintf(text, text_bytes, "room in the window to %s%s", peer, retry);
}

/* Nothing is posted that could be sent: the next step is up to the QP's program and the peer. */
static void write_idle(const struct qp *qp, uint64_t now_ns, const char *peer, char *text,
		       uint32_t text_bytes)
{
	const struct responder *responder = &qp->responder;
	const char *who = qp->type == RNIC_QP_TYPE_UD ? "a datagram" : peer;
	uint64_t silent_ms = (now_ns - qp->last_received_ns) / RNIC_NS_PER_MS;

	if (responder->has_nak_pending &&
	    rnic_syndrome_kind(responder->syndrome) == RNIC_SYNDROME_RNR_NAK)
		snprintf(text, text_bytes,
			 "its program to post a receive; %s has sent and was told to wait (RNR)",
			 peer);
	else if (qp->send_queue.untold != 0)
		snprintf(text, text_bytes,
			 "its program, or %s; its last %" PRIu32
			 " requests are done, but not signaled (IBV_SEND_SIGNALED): no completion "
			 "tells of them",
			 who, qp->send_queue.untold);
	else if (qp->last_received_ns == 0)
		snprintf(text, text_bytes, "its program, or %s; no packet came yet", who);
	else
		snprintf(text, text_bytes,
			 "its program, or %s; the last packet came %" PRIu64 ".%" PRIu64 " s ago",
			 who, silent_ms / 1000, silent_ms % 1000 / 100);
}

/* Why the oldest WQE of the send queue is not done. */
static void write_sending(const struct qp *qp, uint64_t now_ns, const char *peer, char *text,
			  uint32_t text_bytes)
{
	bool is_in_flight = !rnic_psn_equal(qp->requester.psn, qp->requester.unacknowledged);

	if (qp->state < RNIC_QP_STATE_RTS)
		snprintf(text, text_bytes, "the transition to RTS");
	else if (qp->retry.running == RETRY_TIMER_RNR)
		write_rnr(qp, now_ns, text, text_bytes);
	else if (timer_is_armed(&qp->congestion.timer))
		snprintf(text, text_bytes, "the rate that congestion leaves it");
	else if (qp->retry.running == RETRY_TIMER_CREDIT)
		snprintf(text, text_bytes, "a receive to be posted by the peer (no credit)");
	else if (!qp_is_reliable(qp) && list_is_linked(&qp->path_node))
		snprintf(text, text_bytes, "the pace of traffic that nobody acknowledges");
	else if (list_is_linked(&qp->path_node) && !is_in_flight)
		write_window(qp, now_ns, peer, text, text_bytes);
	else if (is_in_flight)
		write_unacknowledged(qp, now_ns, peer, text, text_bytes);
	else if (qp->state == RNIC_QP_STATE_SQD)
		snprintf(text, text_bytes, "the transition from SQD back to RTS");
}

/* Its packets go to the device itself, which few programs intend. */
static bool is_own_address(const struct qp *qp)
{
	const struct rnic_gid *dest = &qp->attributes.path.dest_gid;

	return rnic_gid_equal(&qp->engine->gids[engine_gid_index(qp->engine, dest)], dest);
}

static void write_cause(const struct qp *qp, char *text, uint32_t text_bytes)
{
	snprintf(text, text_bytes, "%s",
		 rnic_cause_of(verdict_row(qp->last_error)->cause)->sentence);
}

/* After all retries a timeout that is too short for the path is the likely cause. */
static void write_retry_exceeded(const struct qp *qp, char *text, uint32_t text_bytes)
{
	char timeout[128];

	path_timeout_text(qp, timeout, sizeof(timeout));
	if (timeout[0] == '\0')
		write_cause(qp, text, text_bytes);
	else
		snprintf(text, text_bytes, "The peer is gone, or did not answer in time: %s.",
			 timeout);
}

void qp_last_error_text(const struct qp *qp, char *text, uint32_t text_bytes)
{
	bool is_rkey = qp->last_error == VERDICT_BAD_RKEY;
	bool is_lkey = qp->last_error == VERDICT_LOCAL_PROTECTION ||
		       qp->last_error == VERDICT_RECEIVE_PROTECTION;

	if (qp->last_error == VERDICT_PASS)
		snprintf(text, text_bytes, "%s", "");
	else if (qp->last_error == VERDICT_BAD_PORT)
		peer_port_text(qp, text, text_bytes);
	else if (qp->last_error == VERDICT_RETRY_EXCEEDED && is_own_address(qp))
		snprintf(text, text_bytes,
			 "The peer did not answer: it is gone or in error; or its GID, which is "
			 "this device's own (ah_attr.grh.dgid), must be that of another host.");
	else if (qp->last_error == VERDICT_RETRY_EXCEEDED)
		write_retry_exceeded(qp, text, text_bytes);
	else if ((is_rkey || is_lkey) && qp->refusal.fault != 0)
		mr_refusal_text(&qp->refusal, is_rkey ? "rkey" : "lkey", text, text_bytes);
	else
		write_cause(qp, text, text_bytes);
}

const char *qp_waiting_for(const struct qp *qp, uint64_t now_ns, char *text, uint32_t text_bytes)
{
	char peer[RNIC_GID_TEXT_BYTES];

	if (text_bytes == 0)
		return "";
	text[0] = '\0';
	rnic_gid_text(&qp->attributes.path.dest_gid, peer);
	if (qp->state == RNIC_QP_STATE_ERR)
		return text;
	if (qp->send_queue.retired != qp->send_queue.posted)
		write_sending(qp, now_ns, peer, text, text_bytes);
	else if (qp->state >= RNIC_QP_STATE_RTR)
		write_idle(qp, now_ns, peer, text, text_bytes);
	return text;
}
