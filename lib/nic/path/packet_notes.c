/* SPDX-License-Identifier: MIT */
#include "lib/nic/path/packet_notes.h"

#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/verdict.h"
#include "proto/base/causes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The work requests under way that are searched; more are seldom, and the packet stays plain. */
#define NOTED_WQES_MAX 256

/* The started work request that a request packet belongs to; NULL: it was not found. */
static const struct send_wqe *notes_find_wqe(const struct qp *qp, struct rnic_psn psn)
{
	const struct send_queue *queue = &qp->send_queue;
	const uint32_t count = queue->posted - queue->retired;

	for (uint32_t i = 0; i < count && i < NOTED_WQES_MAX; i++) {
		const struct send_wqe *wqe = send_queue_at(queue, queue->retired + i);

		if (i > queue->next - queue->retired)
			break;
		if (wqe_packet_index(wqe, psn) < wqe->packets)
			return wqe;
	}
	return NULL;
}

__attribute__((format(printf, 3, 4))) static size_t notes_add(char *text, size_t length,
							      const char *format, ...)
{
	const size_t room = CAPTURE_NOTE_BYTES - length;
	va_list arguments;
	int added;

	va_start(arguments, format);
	added = vsnprintf(text + length, room, format, arguments);
	va_end(arguments);
	return added < 0 ? length : length + ((size_t)added < room ? (size_t)added : room - 1);
}

static size_t notes_add_retransmission(char *text, size_t length, const struct qp *qp)
{
	const unsigned most = qp->attributes.retry_count, rnr_most = qp->attributes.rnr_retry;

	if (qp->retry.retries_left < most)
		return notes_add(text, length, ", retransmission %u of %u",
				 most - qp->retry.retries_left, most);
	if (qp->retry.rnr_retries_left < rnr_most)
		return notes_add(text, length, ", retransmission %u of %u after RNR NAKs",
				 rnr_most - qp->retry.rnr_retries_left, rnr_most);
	return notes_add(text, length, ", retransmission");
}

void packet_notes_sent(struct packet_notes *notes, struct engine *engine,
		       const struct packet_builder *built, char text[CAPTURE_NOTE_BYTES])
{
	const uint64_t sent_again = engine->counters[COUNTER_RETRANSMITTED_PACKETS];
	const struct send_wqe *wqe = NULL;
	size_t length = 0;

	text[0] = '\0';
	if (built->qp == NULL)
		return;
	if (notes->program != NULL)
		notes->program(notes->context, built->qp, text, CAPTURE_NOTE_BYTES);
	length = strlen(text);
	if (built->packet.row->is_request && built->qp->type != RNIC_QP_TYPE_UD)
		wqe = notes_find_wqe(built->qp, built->packet.psn);
	if (wqe != NULL)
		length = notes_add(text, length, "%swr_id 0x%" PRIx64, length > 0 ? ", " : "",
				   wqe->wr_id);
	if (sent_again != notes->sent_again)
		notes_add_retransmission(text, length, built->qp);
	notes->sent_again = sent_again;
}

void packet_notes_received(const struct packet_notes *notes, struct engine *engine,
			   const uint8_t *bytes)
{
	const enum verdict verdict = engine_take_refusal(engine);
	const struct rnic_cause_row *cause;

	switch (verdict) {
	case VERDICT_PASS:
		return;
	case VERDICT_DUPLICATE:
		capture_note(notes->capture, bytes, "received before: answered again");
		return;
	case VERDICT_SEQUENCE_GAP:
		capture_note(notes->capture, bytes, "packets before this one are missing");
		return;
	default:
		cause = rnic_cause_of(verdict_row(verdict)->cause);
		if (cause != NULL)
			capture_note(notes->capture, bytes, cause->sentence);
	}
}
