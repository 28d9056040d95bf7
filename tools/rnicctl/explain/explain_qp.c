/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/explain/explain_qp.h"

#include "proto/wire/psn.h"
#include "proto/wire/syndrome.h"
#include "tools/rnicctl/explain/explain_cm.h"
#include "tools/rnicctl/explain/explain_inquiry.h"

#include <stdio.h>
#include <string.h>

/*
 * What happens behind the first time-out explains no silence that began before: of the time-outs in
 * a row that led to the error, the first one counts.
 */
static int64_t find_limit(const struct end *own)
{
	const struct rnic_show_record *first = own->trouble;

	if (first == NULL)
		return 0;
	if (first->detail != RNIC_CAUSE_RETRY_EXCEEDED)
		return end_age(own, first);
	for (size_t i = 0; i < own->evidence->record_count; i++) {
		const struct rnic_show_record *row = &own->evidence->records[i];

		if (row->event == RNIC_RECORD_TIMED_OUT && end_has(own, row) &&
		    (row->extra <= 1 || first == own->trouble))
			first = row;
	}
	return end_age(own, first);
}

/* --- leads ----------------------------------------------------------------------------------- */

/* Whether nobody can say if rows of this end are older than the error: without one all are. */
static bool is_without_order(const struct inquiry *inquiry, const struct end *end)
{
	return end->is_unaligned && inquiry->limit_us != 0;
}

/* Without an error no row is: the peer may be asked a good while after the own daemon. */
static bool is_too_young(const struct inquiry *inquiry, const struct end *end,
			 const struct rnic_show_record *row)
{
	return !end->is_unaligned && inquiry->limit_us != 0 &&
	       end_age(end, row) + end->slack_us < inquiry->limit_us;
}

/* Takes the lead when it is older than the one so far. Unaligned ages compare at one end alone. */
static void take_lead(struct inquiry *inquiry, const struct end *end, uint32_t cause,
		      const struct rnic_show_record *row)
{
	const bool at_peer = end == &inquiry->peer;
	const struct lead *before = &inquiry->lead;
	const int64_t age_us = end_age(end, row);

	if (before->cause != RNIC_CAUSE_PASS &&
	    (age_us <= before->age_us || (end->is_unaligned && before->at_peer != at_peer)))
		return;
	inquiry->lead = (struct lead){
		.cause = cause,
		.at_peer = at_peer,
		.age_us = age_us,
		.row = row,
	};
}

/* Whether the entry is of the end's own device: others may say anything of theirs. */
static bool is_of_device(const struct end *end, const struct rnic_show_record *row)
{
	return end->connected == NULL || row->pid == end->connected->pid;
}

/* Takes the lead when it is also not younger than the error. */
static void consider(struct inquiry *inquiry, const struct end *end, uint32_t cause,
		     const struct rnic_show_record *row)
{
	if (is_without_order(inquiry, end))
		inquiry->is_unordered = true;
	else if (!is_too_young(inquiry, end, row))
		take_lead(inquiry, end, cause, row);
}

/*
 * The port's last word on this before the error; NULL: there was none since the connection. Of an
 * end without order every bad word may be the last one.
 */
static const struct rnic_show_record *
port_before(const struct inquiry *inquiry, const struct end *end, enum rnic_record_event event)
{
	const struct rnic_show_record *found = NULL;

	for (size_t i = 0; i < end->evidence->record_count; i++) {
		const struct rnic_show_record *row = &end->evidence->records[i];

		if (row->event != (uint32_t)event || !is_of_device(end, row) ||
		    (event == RNIC_RECORD_ADDRESS && end->connected != NULL &&
		     row->extra != end->connected->extra))
			continue;
		if (is_too_young(inquiry, end, row) ||
		    (is_without_order(inquiry, end) && row->detail != 0))
			continue;
		if (end->connected != NULL && row->age_us > end->connected->age_us)
			continue;
		if (found == NULL || row->age_us <= found->age_us)
			found = row;
	}
	return found;
}

static void consider_port(struct inquiry *inquiry, const struct end *end)
{
	const struct rnic_show_record *link = port_before(inquiry, end, RNIC_RECORD_LINK);
	const struct rnic_show_record *address = port_before(inquiry, end, RNIC_RECORD_ADDRESS);

	if (link != NULL && link->detail == 0)
		consider(inquiry, end, RNIC_CAUSE_LINK_DOWN, link);
	if (address != NULL && address->detail == 0)
		consider(inquiry, end, RNIC_CAUSE_ADDRESS_GONE, address);
}

/* The end's device ended, and with it the queue pair, of whose own end nobody tells. */
static void consider_device_end(struct inquiry *inquiry, const struct end *end)
{
	for (size_t i = 0; end->connected != NULL && i < end->evidence->record_count; i++) {
		const struct rnic_show_record *row = &end->evidence->records[i];

		if (row->pid != end->connected->pid || row->age_us > end->connected->age_us)
			continue;
		if (row->event == RNIC_RECORD_PROGRAM_ENDED && end == &inquiry->peer)
			consider(inquiry, end, RNIC_CAUSE_PEER_ENDED, row);
		else if (row->event == RNIC_RECORD_DEVICE_FAILED)
			consider(inquiry, end, RNIC_CAUSE_DEVICE_FAILED, row);
	}
}

/* The peer's program ended or destroyed the queue pair. */
static void consider_end(struct inquiry *inquiry)
{
	const struct end *peer = &inquiry->peer;
	const struct rnic_show_record *ended = evidence_of_device(
		peer->evidence, RNIC_RECORD_QP_ENDED, peer->qpn, inquiry->own.qpn);

	if (ended != NULL)
		consider(inquiry, peer,
			 ended->detail == RNIC_RECORD_BY_PROGRAM_END ? RNIC_CAUSE_PEER_ENDED
								     : RNIC_CAUSE_PEER_DESTROYED,
			 ended);
	else
		consider_device_end(inquiry, peer);
}

/* What a peer's answer stands for is in the peer's record. */
static bool is_word_of_peer(uint32_t cause)
{
	return cause == RNIC_CAUSE_REMOTE_ACCESS || cause == RNIC_CAUSE_REMOTE_OPERATIONAL ||
	       cause == RNIC_CAUSE_REMOTE_INVALID_REQUEST || cause == RNIC_CAUSE_RNR_RETRY_EXCEEDED;
}

/*
 * A peer that answers and fails has failed for what it refused: no clock has to say so. That it was
 * not ready is no failure of its own, which may come later.
 */
static bool is_reason_of_answer(const struct inquiry *inquiry)
{
	const struct rnic_show_record *error = inquiry->own.trouble;
	const struct rnic_show_record *trouble = inquiry->peer.trouble;

	return error != NULL && is_word_of_peer(error->detail) &&
	       error->detail != RNIC_CAUSE_RNR_RETRY_EXCEEDED && end_is_failed(trouble->extra) &&
	       trouble->detail != RNIC_CAUSE_FLUSHED;
}

/* What ended the peer's queue pair, seen from this end. */
static uint32_t cause_at_peer(uint32_t cause)
{
	switch ((enum rnic_cause)cause) {
	case RNIC_CAUSE_FLUSHED:
		return RNIC_CAUSE_PEER_FLUSHED;
	case RNIC_CAUSE_PROGRAM_GONE:
		return RNIC_CAUSE_PEER_ENDED;
	default:
		return cause;
	}
}

static void consider_peer_trouble(struct inquiry *inquiry)
{
	const struct end *peer = &inquiry->peer;
	const struct rnic_show_record *trouble = peer->trouble;

	if (trouble == NULL)
		return;
	/* The peer gave up as well: each waits for the other, and neither is the cause. */
	if (trouble->detail == RNIC_CAUSE_RETRY_EXCEEDED)
		return;
	if (peer->is_unaligned && is_reason_of_answer(inquiry))
		take_lead(inquiry, peer, cause_at_peer(trouble->detail), trouble);
	else
		consider(inquiry, peer, cause_at_peer(trouble->detail), trouble);
}

/* A key that was deregistered before the access that failed is the older lead. */
static void consider_region(struct inquiry *inquiry, const struct end *end)
{
	const struct rnic_show_record *ended;

	if (end->evidence == NULL || end->trouble == NULL || end->trouble->value == 0)
		return;
	ended = evidence_of_device(end->evidence, RNIC_RECORD_REGION_ENDED, EVIDENCE_ANY,
				   end->trouble->value);
	if (ended == NULL || ended->age_us < end->trouble->age_us || !is_of_device(end, ended))
		return;
	if (inquiry->lead.row == end->trouble) /* then what is older at this end is as certain */
		take_lead(inquiry, end, RNIC_CAUSE_REGION_GONE, ended);
	else
		consider(inquiry, end, RNIC_CAUSE_REGION_GONE, ended);
}

/* Some device got packets for the number that should be the peer's, and never had it. */
static void consider_unknown_number(struct inquiry *inquiry, const struct evidence *sources,
				    size_t count)
{
	for (size_t i = 0; i < count && inquiry->peer.evidence == NULL; i++) {
		const struct rnic_show_record *row = evidence_of_device(
			&sources[i], RNIC_RECORD_UNKNOWN_QP, EVIDENCE_ANY, inquiry->own.peer_qpn);
		const struct end there = {.evidence = &sources[i]};

		if (row == NULL || inquiry->own.peer_qpn == 0)
			continue;
		inquiry->lead = (struct lead){
			.cause = RNIC_CAUSE_UNKNOWN_QPN,
			.at_peer = true,
			.age_us = end_age(&there, row),
			.row = row,
		};
	}
}

/* --- judgement ------------------------------------------------------------------------------- */

/* The peer's device is stopped, with the program that it is inside; nobody knows since when. */
static bool peer_is_stopped(const struct inquiry *inquiry)
{
	const struct end *peer = &inquiry->peer;

	return peer->evidence != NULL && peer->qp == NULL && end_is_stopped(peer);
}

/* Nobody's event explains the silence: the PSNs say in which direction packets were lost. */
static uint32_t judge_loss(const struct inquiry *inquiry)
{
	uint32_t next, unacknowledged, expected;

	if (!end_psn(&inquiry->own, RNIC_RECORD_POSITION, &next, &unacknowledged) ||
	    inquiry->peer.evidence == NULL || peer_is_stopped(inquiry) ||
	    !end_expected_psn(&inquiry->peer, &expected))
		return RNIC_CAUSE_PASS;
	return rnic_psn_distance(rnic_psn(expected), rnic_psn(unacknowledged)) > 0
		       ? RNIC_CAUSE_ANSWERS_LOST
		       : RNIC_CAUSE_REQUESTS_LOST;
}

static void judge_silence(struct inquiry *inquiry, const struct evidence *sources, size_t count,
			  struct explanation *explanation)
{
	const struct rnic_show_trouble *network = inquiry_network_trouble(inquiry);
	const struct rnic_show_trouble *own = end_trouble_text(&inquiry->own);
	uint32_t cause;

	consider_port(inquiry, &inquiry->own);
	consider_unknown_number(inquiry, sources, count);
	if (inquiry->peer.evidence != NULL) {
		consider_port(inquiry, &inquiry->peer);
		consider_end(inquiry);
		consider_peer_trouble(inquiry);
	}
	if (inquiry->lead.cause != RNIC_CAUSE_PASS)
		return;
	cause = judge_loss(inquiry);
	if (network != NULL) {
		explanation->cause = rnic_cause_of(RNIC_CAUSE_UNREACHABLE);
		snprintf(explanation->detail, EXPLAIN_TEXT_BYTES, "%s", network->reason);
	} else if (own != NULL && strstr(own->reason, "this device's own") != NULL) {
		explanation->cause = rnic_cause_of(RNIC_CAUSE_OWN_ADDRESS);
		snprintf(explanation->detail, EXPLAIN_TEXT_BYTES, "%s", own->reason);
	} else if (cause != RNIC_CAUSE_PASS && !inquiry->is_unordered) {
		explanation->cause = rnic_cause_of(cause);
	} else {
		explain_say_undetermined(inquiry, count, explanation);
	}
}

/* Whether the queue pair still waits for the answer that the time-out was about. */
static bool is_still_silent(const struct end *own, const struct rnic_show_record *timed_out)
{
	return own->qp == NULL || own->qp->unacknowledged_psn == timed_out->psn;
}

/* The program is stopped. What the queue pair waits for is told as well. */
static void say_stop(const struct inquiry *inquiry, const char *text,
		     struct explanation *explanation)
{
	size_t length;

	explanation->cause = rnic_cause_of(RNIC_CAUSE_PROGRAM_STOPPED);
	explain_stop_text(end_client(&inquiry->own), explanation->detail, EXPLAIN_TEXT_BYTES);
	length = strlen(explanation->detail);
	if (text[0] != '\0')
		snprintf(explanation->detail + length, EXPLAIN_TEXT_BYTES - length,
			 " The queue pair waits for %s.", text);
}

/*
 * Nothing failed so far: the last entry may say for what the queue pair waits, or waited when its
 * program was ended. `text` is the device's own sentence, of a living one.
 */
static void judge_wait(struct inquiry *inquiry, const struct evidence *sources, size_t count,
		       struct explanation *explanation)
{
	const struct rnic_show_record *last = end_last(&inquiry->own);
	const char *text = inquiry->own.qp != NULL ? inquiry->own.qp->waiting_for : "";

	if (end_is_stopped(&inquiry->own)) {
		say_stop(inquiry, text, explanation);
	} else if (last != NULL && last->event == RNIC_RECORD_TIMED_OUT &&
		   is_still_silent(&inquiry->own, last)) {
		judge_silence(inquiry, sources, count, explanation);
		explanation->error = rnic_cause_of(RNIC_CAUSE_WAITING);
	} else if (last != NULL && last->event == RNIC_RECORD_NAK_RECEIVED &&
		   rnic_syndrome_kind((uint8_t)last->detail) == RNIC_SYNDROME_RNR_NAK) {
		explanation->cause = rnic_cause_of(RNIC_CAUSE_NO_RECEIVE);
		explanation->at_peer = true;
	} else if (last != NULL && last->event == RNIC_RECORD_NAK_SENT &&
		   rnic_syndrome_kind((uint8_t)last->detail) == RNIC_SYNDROME_RNR_NAK) {
		explanation->cause = rnic_cause_of(RNIC_CAUSE_NO_RECEIVE);
	} else if (text[0] != '\0') {
		explanation->cause = rnic_cause_of(RNIC_CAUSE_WAITING);
	}
	if (text[0] != '\0' && explanation->detail[0] == '\0')
		snprintf(explanation->detail, EXPLAIN_TEXT_BYTES, "It waits for %s.", text);
}

/* A request for the connection had no answer up to the last time that it was sent. */
static void judge_unanswered(struct inquiry *inquiry, const struct evidence *sources, size_t count,
			     const struct rnic_show_record *last, struct explanation *explanation)
{
	const bool has_heard = explain_cm_has_heard(inquiry->own.evidence, inquiry->own.qpn);

	inquiry->limit_us = end_age(&inquiry->own, last);
	if (!has_heard)
		consider_port(inquiry, &inquiry->own);
	if (inquiry->peer.evidence == NULL)
		inquiry_find_listener(inquiry, sources, count);
	if (!has_heard && inquiry->peer.evidence != NULL)
		consider_port(inquiry, &inquiry->peer);
	if (inquiry->lead.cause == RNIC_CAUSE_PASS)
		explain_say_unanswered(inquiry, has_heard, explanation);
	else
		explanation->error = explanation->cause;
}

/* Whether the connection did not come about: then the messages of it say why. */
static bool judge_connection(struct inquiry *inquiry, const struct evidence *sources, size_t count,
			     struct explanation *explanation)
{
	const struct rnic_show_record *last;
	const struct rnic_cause_row *cause =
		explain_cm_failure(inquiry->own.evidence, inquiry->own.qpn, &last);

	if (cause == NULL || inquiry->own.connected != NULL)
		return false;
	explanation->cause = cause;
	explanation->at_peer = last->event == RNIC_RECORD_CM_RECEIVED;
	explain_step_text(last, explanation->detail, sizeof(explanation->detail));
	if (!explanation->at_peer && cause->code == RNIC_CAUSE_CM_UNANSWERED)
		judge_unanswered(inquiry, sources, count, last, explanation);
	return true;
}

/* The queue pair was brought to ERR: because nobody connected it, or because the peer ended. */
static void judge_flush(struct inquiry *inquiry, const struct evidence *sources, size_t count,
			struct explanation *explanation)
{
	const struct evidence *own = inquiry->own.evidence;

	if (judge_connection(inquiry, sources, count, explanation))
		return;
	for (size_t i = 0; i < own->record_count; i++)
		if (explain_cm_is_end(&own->records[i]) && own->records[i].qpn == inquiry->own.qpn)
			consider(inquiry, &inquiry->own, RNIC_CAUSE_CM_DISCONNECTED,
				 &own->records[i]);
	/* For a device or a program that has gone the peer's control plane says farewell. */
	if (inquiry->peer.evidence != NULL)
		consider_device_end(inquiry, &inquiry->peer);
}

/* The program destroyed the queue pair itself: at that time it waited for nothing. */
static bool has_finished(const struct end *end)
{
	const struct rnic_show_record *ended =
		evidence_of_device(end->evidence, RNIC_RECORD_QP_ENDED, end->qpn, EVIDENCE_ANY);

	return end->qp == NULL && ended != NULL && ended->detail == RNIC_RECORD_BY_CALL &&
	       (end->connected == NULL || ended->age_us <= end->connected->age_us);
}

/* Nothing failed: the connection did not come about, or the queue pair waits, or is done. */
static void judge_unfailed(struct inquiry *inquiry, const struct evidence *sources, size_t count,
			   struct explanation *explanation)
{
	const bool is_waiting = !has_finished(&inquiry->own);

	if (judge_connection(inquiry, sources, count, explanation))
		return;
	if (evidence_of_device(inquiry->own.evidence, RNIC_RECORD_QP_ENDED, inquiry->own.qpn,
			       EVIDENCE_ANY) == NULL &&
	    inquiry->own.qp == NULL)
		consider_device_end(inquiry, &inquiry->own);
	if (inquiry->lead.cause != RNIC_CAUSE_PASS)
		return;
	if (inquiry->peer.evidence != NULL)
		consider_peer_trouble(inquiry);
	if (inquiry->peer.evidence != NULL && is_waiting)
		consider_end(inquiry);
	if (is_waiting)
		judge_wait(inquiry, sources, count, explanation);
}

static void judge_all(struct inquiry *inquiry, const struct evidence *sources, size_t count,
		      struct explanation *explanation)
{
	const struct rnic_show_record *error = inquiry->own.trouble;
	const struct rnic_show_trouble *text = end_trouble_text(&inquiry->own);

	if (error != NULL) {
		explanation->error = explanation->cause = rnic_cause_of(error->detail);
		if (text != NULL)
			snprintf(explanation->detail, EXPLAIN_TEXT_BYTES, "%s", text->reason);
	}
	if (error != NULL && error->detail == RNIC_CAUSE_RETRY_EXCEEDED) {
		judge_silence(inquiry, sources, count, explanation);
	} else if (error != NULL && is_word_of_peer(error->detail)) {
		if (inquiry->peer.evidence != NULL)
			consider_peer_trouble(inquiry);
		consider_region(inquiry, &inquiry->peer);
	} else if (error != NULL && error->detail == RNIC_CAUSE_FLUSHED) {
		judge_flush(inquiry, sources, count, explanation);
	} else if (error != NULL) {
		consider_region(inquiry, &inquiry->own);
	} else {
		judge_unfailed(inquiry, sources, count, explanation);
	}
	if (inquiry->lead.cause == RNIC_CAUSE_PASS)
		return;
	explanation->cause = rnic_cause_of(inquiry->lead.cause);
	explanation->at_peer = inquiry->lead.at_peer;
	explain_say_lead(inquiry, explanation->detail);
}

/* Whose queue pair it is: the ring names the client. */
static void name_program(const struct end *own, struct explanation *explanation)
{
	const struct rnic_show_record *ring = end_first_of(own->evidence, own->qpn);
	const struct rnic_show_client *client = end_client(own);

	if (client != NULL) {
		explanation->pid = client->pid;
		memcpy(explanation->program, client->program, sizeof(explanation->program));
	} else if (ring != NULL) {
		explanation->pid = ring->pid;
		memcpy(explanation->program, ring->program, sizeof(explanation->program));
	}
}

bool explain_qp(const struct evidence *sources, size_t source_count, uint32_t qpn,
		struct explanation *explanation)
{
	struct inquiry inquiry = {0};

	*explanation = (struct explanation){.qpn = qpn};
	if (!end_find(&inquiry.own, &sources[0], qpn, 0))
		return false;
	inquiry_find_peer(&inquiry, sources, source_count);
	inquiry.limit_us = find_limit(&inquiry.own);
	explanation->peer_qpn = inquiry.own.peer_qpn;
	explanation->qp = inquiry.own.qp;
	name_program(&inquiry.own, explanation);
	judge_all(&inquiry, sources, source_count, explanation);
	explain_say_recovery(&inquiry, explanation->recovery);
	explain_say_gaps(&inquiry, source_count, explanation->gaps);
	explain_tell_chain(&inquiry, explanation);
	return true;
}
