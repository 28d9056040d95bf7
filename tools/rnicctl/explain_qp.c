/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/explain_qp.h"

#include "proto/base/verbs_types.h"
#include "proto/wire/psn.h"
#include "proto/wire/syndrome.h"
#include "tools/rnicctl/explain_cm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX	       512 /* of one explanation */
#define US_PER_MS	       1000.0
#define SLACK_OF_QUESTION_US   20000  /* a daemon takes so long to answer */
#define SLACK_OF_CONNECTION_US 200000 /* so long after each other programs connect their ends */
#define SLACK_OF_NAK_US	       20000  /* so long a NAK is on its way */

/* One end of a connection. */
struct end {
	const struct evidence *evidence; /* NULL: nobody knows */
	uint32_t qpn;
	uint32_t peer_qpn;
	int64_t shift_us;  /* from the ages of this end to those of the own */
	int64_t slack_us;  /* of the shift */
	bool is_unaligned; /* the shift is unknown: only the order of its own rows counts */
	const struct rnic_show_record *connected; /* since then; NULL: not recorded any more */
	const struct rnic_show_record *trouble;	  /* why it failed, or what it dropped */
	const struct rnic_show_qp *qp;		  /* NULL: it has ended */
};

/* An older event that explains the error. */
struct lead {
	uint32_t cause;
	bool at_peer;
	int64_t age_us;
	const struct rnic_show_record *row; /* NULL: no entry tells of it */
};

struct inquiry {
	struct end own;
	struct end peer;
	int64_t limit_us; /* leads are as old as this at least: the error, or the first time-out */
	struct lead lead;
	bool is_unordered; /* a lead of the peer was left out: nobody can say when it was */
};

static int64_t age_of(const struct end *end, const struct rnic_show_record *row)
{
	return (int64_t)row->age_us + end->shift_us;
}

static bool is_failed(uint32_t state)
{
	return state == RNIC_QP_STATE_ERR || state == RNIC_QP_STATE_SQE;
}

/* --- the two ends ---------------------------------------------------------------------------- */

static bool is_of_connection(const struct end *end, const struct rnic_show_record *row)
{
	return row->qpn == end->qpn &&
	       (end->connected == NULL || row->age_us <= end->connected->age_us);
}

/* The failure; where there is none, the last complaint. That it was flushed explains nothing. */
static const struct rnic_show_record *find_trouble(const struct end *end)
{
	const struct rnic_show_record *found = NULL;

	for (size_t i = 0; i < end->evidence->record_count; i++) {
		const struct rnic_show_record *row = &end->evidence->records[i];

		if (row->event == RNIC_RECORD_TROUBLE && is_of_connection(end, row) &&
		    (found == NULL || !is_failed(found->extra)))
			found = row;
	}
	return found;
}

/* The last entry that tells more than a position; NULL: there is none. */
static const struct rnic_show_record *last_of_ring(const struct end *end)
{
	const struct rnic_show_record *found = NULL;

	for (size_t i = 0; i < end->evidence->record_count; i++) {
		const struct rnic_show_record *row = &end->evidence->records[i];

		if (is_of_connection(end, row) && row->event >= RNIC_RECORD_STATE &&
		    row->event < RNIC_RECORD_CONNECTED && row->event != RNIC_RECORD_SENT_AGAIN)
			found = row;
	}
	return found;
}

static const struct rnic_show_qp *find_qp(const struct evidence *evidence, uint32_t qpn)
{
	for (size_t i = 0; i < evidence->qp_count; i++)
		if (evidence->qps[i].qpn == qpn)
			return &evidence->qps[i];
	return NULL;
}

static const struct rnic_show_record *first_of_ring(const struct evidence *evidence, uint32_t qpn)
{
	for (size_t i = 0; i < evidence->record_count; i++)
		if (evidence->records[i].qpn == qpn)
			return &evidence->records[i];
	return NULL;
}

/* Finds queue pair `qpn`, of any peer (0) or of this one. False: the source has nothing of it. */
static bool end_find(struct end *end, const struct evidence *evidence, uint32_t qpn,
		     uint32_t peer_qpn)
{
	const struct rnic_show_record *ring = first_of_ring(evidence, qpn);
	const uint32_t wanted = peer_qpn != 0 ? peer_qpn : EVIDENCE_ANY;

	*end = (struct end){
		.evidence = evidence,
		.qpn = qpn,
		.connected = evidence_of_device(evidence, RNIC_RECORD_CONNECTED, qpn, wanted),
		.qp = find_qp(evidence, qpn),
	};
	if (end->connected != NULL)
		end->peer_qpn = end->connected->value;
	else if (end->qp != NULL)
		end->peer_qpn = end->qp->peer_qpn;
	else if (ring != NULL)
		end->peer_qpn = ring->peer_qpn;
	if (end->connected == NULL && end->qp == NULL && ring == NULL)
		return false;
	if (peer_qpn != 0 && end->peer_qpn != 0 && end->peer_qpn != peer_qpn)
		return false;
	end->trouble = find_trouble(end);
	return true;
}

static bool is_nak(const struct rnic_show_record *row, enum rnic_record_event event,
		   const struct rnic_show_record *like)
{
	return row->event == (uint32_t)event && row->psn == like->psn &&
	       row->detail == like->detail;
}

/* The end's only entry of a NAK like this one; NULL: there is none, or several. */
static const struct rnic_show_record *only_nak(const struct end *end, enum rnic_record_event event,
					       const struct rnic_show_record *like)
{
	const struct rnic_show_record *found = NULL;

	for (size_t i = 0; i < end->evidence->record_count; i++) {
		const struct rnic_show_record *row = &end->evidence->records[i];

		if (!is_of_connection(end, row) || !is_nak(row, event, like))
			continue;
		if (found != NULL)
			return NULL;
		found = row;
	}
	return found;
}

/*
 * Stores by how much older the sender's entry of a NAK is than the receiver's entry of the same
 * one. An equal number of repetitions says that none was lost, so that both entries are of the same
 * packet. Positions give no such moment: an entry tells where a queue pair was, not since when.
 */
static bool find_common_nak(const struct end *sender, const struct end *receiver, int64_t *shift_us)
{
	for (size_t i = sender->evidence->record_count; i-- > 0;) {
		const struct rnic_show_record *like = &sender->evidence->records[i];
		const struct rnic_show_record *sent, *received;

		if (like->event != RNIC_RECORD_NAK_SENT || !is_of_connection(sender, like))
			continue;
		sent = only_nak(sender, RNIC_RECORD_NAK_SENT, like);
		received = only_nak(receiver, RNIC_RECORD_NAK_RECEIVED, like);
		if (sent == NULL || received == NULL || sent->run != received->run ||
		    sent->run == UINT8_MAX)
			continue;
		*shift_us = (int64_t)sent->age_us - (int64_t)received->age_us;
		return true;
	}
	return false;
}

/*
 * Daemons of one machine have one clock. Two machines have moments in common: a NAK that one end
 * sent and the other received, and that both ends were connected at about the same time.
 */
static void align_ages(struct inquiry *inquiry, const struct evidence *own,
		       const struct evidence *other)
{
	struct end *peer = &inquiry->peer;
	int64_t shift_us;

	if (own->boot_id[0] != '\0' && strcmp(own->boot_id, other->boot_id) == 0) {
		peer->shift_us = (int64_t)(own->taken_us - other->taken_us);
		peer->slack_us = other == own ? 0 : SLACK_OF_QUESTION_US;
	} else if (find_common_nak(peer, &inquiry->own, &shift_us)) {
		peer->shift_us = -shift_us;
		peer->slack_us = SLACK_OF_NAK_US;
	} else if (find_common_nak(&inquiry->own, peer, &shift_us)) {
		peer->shift_us = shift_us;
		peer->slack_us = SLACK_OF_NAK_US;
	} else if (peer->connected != NULL && inquiry->own.connected != NULL) {
		peer->shift_us =
			(int64_t)inquiry->own.connected->age_us - (int64_t)peer->connected->age_us;
		peer->slack_us = SLACK_OF_CONNECTION_US;
	} else {
		peer->is_unaligned = true;
	}
}

static void find_peer(struct inquiry *inquiry, const struct evidence *sources, size_t count)
{
	struct end *peer = &inquiry->peer;

	for (size_t i = 0; i < count; i++) {
		if (inquiry->own.peer_qpn == 0 ||
		    !end_find(peer, &sources[i], inquiry->own.peer_qpn, inquiry->own.qpn))
			continue;
		align_ages(inquiry, sources, &sources[i]);
		return;
	}
	*peer = (struct end){0};
}

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
		return age_of(own, first);
	for (size_t i = 0; i < own->evidence->record_count; i++) {
		const struct rnic_show_record *row = &own->evidence->records[i];

		if (row->event == RNIC_RECORD_TIMED_OUT && is_of_connection(own, row) &&
		    (row->extra <= 1 || first == own->trouble))
			first = row;
	}
	return age_of(own, first);
}

/* --- leads ----------------------------------------------------------------------------------- */

/* Whether nobody can say if rows of this end are older than the error. Without an error, all are.
 */
static bool is_without_order(const struct inquiry *inquiry, const struct end *end)
{
	return end->is_unaligned && inquiry->limit_us != 0;
}

static bool is_too_young(const struct inquiry *inquiry, const struct end *end,
			 const struct rnic_show_record *row)
{
	return !end->is_unaligned && age_of(end, row) + end->slack_us < inquiry->limit_us;
}

/* Takes the lead when it is older than the one so far. Unaligned ages compare at one end alone. */
static void take_lead(struct inquiry *inquiry, const struct end *end, uint32_t cause,
		      const struct rnic_show_record *row)
{
	const bool at_peer = end == &inquiry->peer;
	const struct lead *before = &inquiry->lead;
	const int64_t age_us = age_of(end, row);

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
	for (size_t i = 0; ended == NULL && i < peer->evidence->record_count; i++) {
		const struct rnic_show_record *row = &peer->evidence->records[i];

		if (row->event == RNIC_RECORD_PROGRAM_ENDED && peer->connected != NULL &&
		    row->pid == peer->connected->pid)
			consider(inquiry, peer, RNIC_CAUSE_PEER_ENDED, row);
	}
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
	       error->detail != RNIC_CAUSE_RNR_RETRY_EXCEEDED && is_failed(trouble->extra) &&
	       trouble->detail != RNIC_CAUSE_FLUSHED;
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
		take_lead(inquiry, peer, trouble->detail, trouble);
	else
		consider(inquiry, peer,
			 trouble->detail == RNIC_CAUSE_FLUSHED ? RNIC_CAUSE_PEER_FLUSHED
							       : trouble->detail,
			 trouble);
}

/* A key that was deregistered before the access that failed is the older lead. */
static void consider_region(struct inquiry *inquiry, const struct end *end)
{
	const struct rnic_show_record *ended;

	if (end->evidence == NULL || end->trouble == NULL || end->trouble->value == 0)
		return;
	ended = evidence_of_device(end->evidence, RNIC_RECORD_REGION_ENDED, EVIDENCE_ANY,
				   end->trouble->value);
	if (ended == NULL || ended->age_us < end->trouble->age_us ||
	    !is_of_device(end, ended))
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
			.age_us = age_of(&there, row),
			.row = row,
		};
	}
}

/* --- what PSNs say --------------------------------------------------------------------------- */

/* The last PSN of this kind that the end's ring tells; false: none. */
static bool psn_of(const struct end *end, enum rnic_record_event event, uint32_t *psn,
		   uint32_t *value)
{
	bool is_found = false;

	for (size_t i = 0; end->evidence != NULL && i < end->evidence->record_count; i++) {
		const struct rnic_show_record *row = &end->evidence->records[i];

		if (row->event != (uint32_t)event || !is_of_connection(end, row))
			continue;
		*psn = row->psn;
		*value = row->value;
		is_found = true;
	}
	return is_found;
}

static bool expected_psn_of(const struct end *end, uint32_t *psn)
{
	uint32_t packets;

	if (end->qp != NULL && end->qp->state >= RNIC_QP_STATE_RTR) {
		*psn = end->qp->expected_psn;
		return true;
	}
	return psn_of(end, RNIC_RECORD_TAKEN, psn, &packets);
}

/* Nobody's event explains the silence: the PSNs say in which direction packets were lost. */
static uint32_t judge_loss(const struct inquiry *inquiry)
{
	uint32_t next, unacknowledged, expected;

	if (!psn_of(&inquiry->own, RNIC_RECORD_POSITION, &next, &unacknowledged) ||
	    inquiry->peer.evidence == NULL || !expected_psn_of(&inquiry->peer, &expected))
		return RNIC_CAUSE_PASS;
	return rnic_psn_distance(rnic_psn(expected), rnic_psn(unacknowledged)) > 0
		       ? RNIC_CAUSE_ANSWERS_LOST
		       : RNIC_CAUSE_REQUESTS_LOST;
}

static void say_recovery(const struct inquiry *inquiry, char text[EXPLAIN_TEXT_BYTES])
{
	uint32_t next, unacknowledged, expected;

	if (inquiry->own.trouble == NULL || !is_failed(inquiry->own.trouble->extra) ||
	    inquiry->lead.cause == RNIC_CAUSE_UNKNOWN_QPN ||
	    !psn_of(&inquiry->own, RNIC_RECORD_POSITION, &next, &unacknowledged) ||
	    next == unacknowledged)
		return;
	if (inquiry->peer.evidence != NULL && expected_psn_of(&inquiry->peer, &expected))
		snprintf(text, EXPLAIN_TEXT_BYTES,
			 "Requests before PSN 0x%06" PRIx32
			 " were executed, those from there to before 0x%06" PRIx32
			 " were not; acknowledged were those before 0x%06" PRIx32 ".",
			 expected, next, unacknowledged);
	else
		snprintf(text, EXPLAIN_TEXT_BYTES,
			 "Requests from PSN 0x%06" PRIx32 " to before 0x%06" PRIx32
			 " were sent and not acknowledged: the peer may have executed them. An "
			 "atomic that is repeated may apply twice.",
			 unacknowledged, next);
}

/* --- words ----------------------------------------------------------------------------------- */

/* The sentence of the trouble that names this queue pair, with its keys and addresses; or NULL. */
static const struct rnic_show_trouble *trouble_text_of(const struct end *end)
{
	char subject[RNIC_TROUBLE_SUBJECT_BYTES];

	if (end->evidence == NULL)
		return NULL;
	snprintf(subject, sizeof(subject), "queue pair 0x%06" PRIx32, end->qpn);
	for (size_t i = 0; i < end->evidence->trouble_count; i++)
		if (strncmp(end->evidence->troubles[i].subject, subject, strlen(subject)) == 0 &&
		    !evidence_is_refusal(&end->evidence->troubles[i]))
			return &end->evidence->troubles[i];
	return NULL;
}

/* What the network said of packets to the peer, by the address behind the trouble's subject. */
static const struct rnic_show_trouble *network_trouble_of(const struct inquiry *inquiry)
{
	const struct rnic_show_trouble *own = trouble_text_of(&inquiry->own);
	const char *address = own != NULL ? strstr(own->subject, " of ") : NULL;

	for (size_t i = 0; address != NULL && i < inquiry->own.evidence->trouble_count; i++) {
		const struct rnic_show_trouble *trouble = &inquiry->own.evidence->troubles[i];

		if (strncmp(trouble->subject, "packets to ", strlen("packets to ")) == 0 &&
		    strcmp(trouble->subject + strlen("packets to "), address + strlen(" of ")) == 0)
			return trouble;
	}
	return NULL;
}

static void say_lead(const struct inquiry *inquiry, char detail[EXPLAIN_TEXT_BYTES])
{
	const struct end *end = inquiry->lead.at_peer ? &inquiry->peer : &inquiry->own;
	const struct rnic_show_trouble *trouble = trouble_text_of(end);
	char step[EXPLAIN_TEXT_BYTES / 2];

	if (inquiry->lead.row->event == RNIC_RECORD_TROUBLE && trouble != NULL) {
		snprintf(detail, EXPLAIN_TEXT_BYTES, "%s", trouble->reason);
		return;
	}
	explain_step_text(inquiry->lead.row, step, sizeof(step));
	if (inquiry->own.trouble == NULL || end->is_unaligned)
		snprintf(detail, EXPLAIN_TEXT_BYTES, "%s: %s.",
			 inquiry->lead.at_peer ? "At the peer" : "Here", step);
	else
		snprintf(detail, EXPLAIN_TEXT_BYTES, "%s, %.1f ms before the error: %s.",
			 inquiry->lead.at_peer ? "At the peer" : "Here",
			 (double)(inquiry->lead.age_us -
				  age_of(&inquiry->own, inquiry->own.trouble)) /
				 US_PER_MS,
			 step);
}

static void say_undetermined(const struct inquiry *inquiry, size_t source_count,
			     struct explanation *explanation)
{
	const char *decides;

	if (inquiry->peer.evidence == NULL && source_count > 1)
		decides = "a peer that ended or is in error, another number or address of the "
			  "peer, and packets that are lost. A record that has the peer would "
			  "decide.";
	else if (inquiry->peer.evidence == NULL)
		decides = "a peer that ended or is in error, another number or address of the "
			  "peer, and packets that are lost. The peer's record would decide: "
			  "rnicctl record save FILE there, then --peer FILE here.";
	else if (inquiry->is_unordered)
		decides = "what the peer's record tells and packets that are lost: the two "
			  "records have no moment in common, so that the order of their events is "
			  "unknown. Records of both hosts that are saved soon after the error "
			  "would decide: rnicctl record save FILE.";
	else
		decides = "requests and answers that are lost: the records do not overlap. A "
			  "capture at the peer (rnicd --capture) would decide.";
	explanation->is_undetermined = true;
	snprintf(explanation->detail, EXPLAIN_TEXT_BYTES, "Undetermined between %s", decides);
}

/* What is not recorded of the end's queue pair: RNIC_RECORD_GAP_*. */
static uint32_t gaps_of(const struct end *end)
{
	uint32_t gaps = 0;

	for (size_t i = 0; end->evidence != NULL && i < end->evidence->record_count; i++)
		if (end->evidence->records[i].qpn == end->qpn)
			gaps |= end->evidence->records[i].gaps;
	return gaps;
}

/* Says what the records lack, where that may hide a cause. */
static void say_gaps(const struct inquiry *inquiry, size_t source_count,
		     char text[EXPLAIN_TEXT_BYTES])
{
	const uint32_t gaps = gaps_of(&inquiry->own) | gaps_of(&inquiry->peer);
	size_t length = 0;

	if (gaps & RNIC_RECORD_GAP_SHARED)
		length = (size_t)snprintf(
			text, EXPLAIN_TEXT_BYTES,
			"The queue pair shares a ring of the recorder with others, "
			"because %d have rings of their own; older entries may be "
			"missing. ",
			RNIC_RECORD_RINGS - RNIC_RECORD_FIRST_RING);
	else if (gaps & RNIC_RECORD_GAP_OLDER)
		length = (size_t)snprintf(text, EXPLAIN_TEXT_BYTES,
					  "More happened than a ring of the recorder holds: the "
					  "oldest entries are missing.");
	if (source_count > 1 && inquiry->own.peer_qpn != 0 && inquiry->peer.evidence == NULL)
		snprintf(
			text + length, EXPLAIN_TEXT_BYTES - length,
			"The records do not overlap: none of the others has queue pair 0x%06" PRIx32
			" as the peer of this one.",
			inquiry->own.peer_qpn);
}

/* --- judgement ------------------------------------------------------------------------------- */

static void judge_silence(struct inquiry *inquiry, const struct evidence *sources, size_t count,
			  struct explanation *explanation)
{
	const struct rnic_show_trouble *network = network_trouble_of(inquiry);
	const struct rnic_show_trouble *own = trouble_text_of(&inquiry->own);
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
		say_undetermined(inquiry, count, explanation);
	}
}

/* Whether the queue pair still waits for the answer that the time-out was about. */
static bool is_still_silent(const struct end *own, const struct rnic_show_record *timed_out)
{
	return own->qp == NULL || own->qp->unacknowledged_psn == timed_out->psn;
}

/*
 * Nothing failed so far: the last entry may say for what the queue pair waits, or waited when its
 * program was ended. `text` is the device's own sentence, of a living one.
 */
static void judge_wait(struct inquiry *inquiry, const struct evidence *sources, size_t count,
		       struct explanation *explanation)
{
	const struct rnic_show_record *last = last_of_ring(&inquiry->own);
	const char *text = inquiry->own.qp != NULL ? inquiry->own.qp->waiting_for : "";

	if (last != NULL && last->event == RNIC_RECORD_TIMED_OUT &&
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

/* Whether the connection did not come about: then the messages of it say why. */
static bool judge_connection(const struct inquiry *inquiry, struct explanation *explanation)
{
	const struct rnic_show_record *last;
	const struct rnic_cause_row *cause =
		explain_cm_failure(inquiry->own.evidence, inquiry->own.qpn, &last);

	if (cause == NULL || inquiry->own.connected != NULL)
		return false;
	explanation->cause = cause;
	explanation->at_peer = last->event == RNIC_RECORD_CM_RECEIVED;
	explain_step_text(last, explanation->detail, sizeof(explanation->detail));
	return true;
}

/* The queue pair was brought to ERR: because nobody connected it, or because the peer ended. */
static void judge_flush(struct inquiry *inquiry, struct explanation *explanation)
{
	const struct evidence *own = inquiry->own.evidence;

	if (judge_connection(inquiry, explanation))
		return;
	for (size_t i = 0; i < own->record_count; i++)
		if (explain_cm_is_end(&own->records[i]) && own->records[i].qpn == inquiry->own.qpn)
			consider(inquiry, &inquiry->own, RNIC_CAUSE_CM_DISCONNECTED,
				 &own->records[i]);
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

	if (judge_connection(inquiry, explanation))
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
	const struct rnic_show_trouble *text = trouble_text_of(&inquiry->own);

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
		judge_flush(inquiry, explanation);
	} else if (error != NULL) {
		consider_region(inquiry, &inquiry->own);
	} else {
		judge_unfailed(inquiry, sources, count, explanation);
	}
	if (inquiry->lead.cause == RNIC_CAUSE_PASS)
		return;
	explanation->cause = rnic_cause_of(inquiry->lead.cause);
	explanation->at_peer = inquiry->lead.at_peer;
	say_lead(inquiry, explanation->detail);
}

/* --- the chain ------------------------------------------------------------------------------- */

struct chain {
	struct explanation_step steps[ROWS_MAX];
	size_t count;
};

/* A message of the connection, also of the time before the listener had a queue pair for it. */
static bool is_message_of(const struct end *end, const struct rnic_show_record *row)
{
	const struct rnic_show_record *ring = first_of_ring(end->evidence, end->qpn);

	if (row->qpn != 0)
		return row->qpn == end->qpn;
	return row->client_id != 0 && ring != NULL && ring->client_id == row->client_id &&
	       row->peer_qpn != 0 && row->peer_qpn == end->peer_qpn;
}

static bool is_step_of(const struct end *end, const struct rnic_show_record *row)
{
	switch ((enum rnic_record_event)row->event) {
	case RNIC_RECORD_CM_SENT:
	case RNIC_RECORD_CM_RECEIVED:
		return is_message_of(end, row);
	case RNIC_RECORD_CONNECTED:
		return row == end->connected;
	case RNIC_RECORD_QP_ENDED:
		return row->psn == end->qpn;
	default:
		return row->qpn != 0 && is_of_connection(end, row) &&
		       row->event != RNIC_RECORD_OWNER;
	}
}

static void chain_add(struct chain *chain, const struct inquiry *inquiry, const struct end *end)
{
	const int64_t error_us =
		inquiry->own.trouble != NULL ? age_of(&inquiry->own, inquiry->own.trouble) : 0;

	for (size_t i = 0; end->evidence != NULL && i < end->evidence->record_count; i++) {
		const struct rnic_show_record *row = &end->evidence->records[i];

		if ((!is_step_of(end, row) && row != inquiry->lead.row) || chain->count == ROWS_MAX)
			continue;
		chain->steps[chain->count++] = (struct explanation_step){
			.ms = (double)(age_of(end, row) - error_us) / US_PER_MS,
			.at_peer = end == &inquiry->peer,
			.is_undated = end->is_unaligned,
			.is_cause = row == inquiry->lead.row,
			.row = row,
		};
	}
}

/* Older ones first, undated ones last; rows of one moment stay in their order. */
static int compare_steps(const void *left, const void *right)
{
	const struct explanation_step *a = left, *b = right;

	if (a->is_undated != b->is_undated)
		return a->is_undated ? 1 : -1;
	if (a->ms != b->ms)
		return a->ms > b->ms ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static void tell_chain(const struct inquiry *inquiry, struct explanation *explanation)
{
	static struct chain chain;
	size_t last;

	chain.count = 0;
	chain_add(&chain, inquiry, &inquiry->own);
	/* One daemon with both ends has each row once. */
	chain_add(&chain, inquiry, &inquiry->peer);
	qsort(chain.steps, chain.count, sizeof(chain.steps[0]), compare_steps);
	explanation->step_count = chain.count < EXPLAIN_STEPS_MAX ? chain.count : EXPLAIN_STEPS_MAX;
	explanation->left_out = chain.count - explanation->step_count;
	last = explanation->left_out > 0 ? EXPLAIN_KEPT_FIRST : explanation->step_count;
	memcpy(explanation->steps, chain.steps, last * sizeof(chain.steps[0]));
	memcpy(explanation->steps + last, chain.steps + last + explanation->left_out,
	       (explanation->step_count - last) * sizeof(chain.steps[0]));
}

/* Whose queue pair it is: the ring names the client. */
static void name_program(const struct end *own, struct explanation *explanation)
{
	const struct rnic_show_record *ring = first_of_ring(own->evidence, own->qpn);

	for (size_t i = 0; own->qp != NULL && i < own->evidence->client_count; i++) {
		const struct rnic_show_client *client = &own->evidence->clients[i];

		if (client->client_id != own->qp->client_id)
			continue;
		explanation->pid = client->pid;
		memcpy(explanation->program, client->program, sizeof(explanation->program));
		return;
	}
	if (ring == NULL)
		return;
	explanation->pid = ring->pid;
	memcpy(explanation->program, ring->program, sizeof(explanation->program));
}

bool explain_qp(const struct evidence *sources, size_t source_count, uint32_t qpn,
		struct explanation *explanation)
{
	struct inquiry inquiry = {0};

	*explanation = (struct explanation){.qpn = qpn};
	if (!end_find(&inquiry.own, &sources[0], qpn, 0))
		return false;
	find_peer(&inquiry, sources, source_count);
	inquiry.limit_us = find_limit(&inquiry.own);
	explanation->peer_qpn = inquiry.own.peer_qpn;
	name_program(&inquiry.own, explanation);
	judge_all(&inquiry, sources, source_count, explanation);
	say_recovery(&inquiry, explanation->recovery);
	say_gaps(&inquiry, source_count, explanation->gaps);
	tell_chain(&inquiry, explanation);
	return true;
}
