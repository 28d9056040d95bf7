/* SPDX-License-Identifier: MIT */
/* What an explanation says of its first cause, and of what is not known. */
#include "tools/rnicctl/explain/explain_inquiry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The sentence of the trouble that names this queue pair, with its keys and addresses; or NULL. */
const struct rnic_show_trouble *end_trouble_text(const struct end *end)
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
const struct rnic_show_trouble *inquiry_network_trouble(const struct inquiry *inquiry)
{
	const struct rnic_show_trouble *own = end_trouble_text(&inquiry->own);
	const char *address = own != NULL ? strstr(own->subject, " of ") : NULL;

	for (size_t i = 0; address != NULL && i < inquiry->own.evidence->trouble_count; i++) {
		const struct rnic_show_trouble *trouble = &inquiry->own.evidence->troubles[i];

		if (strncmp(trouble->subject, "packets to ", strlen("packets to ")) == 0 &&
		    strcmp(trouble->subject + strlen("packets to "), address + strlen(" of ")) == 0)
			return trouble;
	}
	return NULL;
}

void explain_say_lead(const struct inquiry *inquiry, char detail[EXPLAIN_TEXT_BYTES])
{
	const struct end *end = inquiry->lead.at_peer ? &inquiry->peer : &inquiry->own;
	const struct rnic_show_trouble *trouble = end_trouble_text(end);
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
				  end_age(&inquiry->own, inquiry->own.trouble)) /
				 EXPLAIN_US_PER_MS,
			 step);
}

void explain_say_undetermined(const struct inquiry *inquiry, size_t source_count,
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
	else if (inquiry->peer.qp == NULL && end_is_stopped(&inquiry->peer))
		decides = "the peer's program, which is stopped now, and its device with it, and "
			  "packets that are lost. Whether the queue pair goes on when the program "
			  "does (kill -CONT PID there) would decide.";
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

void explain_say_unanswered(const struct inquiry *inquiry, bool has_heard,
			    struct explanation *explanation)
{
	const char *decides;

	if (has_heard)
		decides = "a program there that does not answer its connection requests, and "
			  "answers that are lost. The peer's record would decide.";
	else if (inquiry->peer.evidence != NULL)
		decides =
			"requests and answers that are lost, on the way or in a firewall: nothing "
			"at all came back, and the listener's link is up. A capture at the peer "
			"(rnicd --capture) would decide.";
	else
		decides = "a host without a running rnicd, a link that is down there, and a way or "
			  "firewall that drops UDP port 4791: nothing at all came back. What the "
			  "peer knows would decide: rnicctl show device there, or --peer SOCKET.";
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
void explain_say_gaps(const struct inquiry *inquiry, size_t source_count,
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

void explain_say_recovery(const struct inquiry *inquiry, char text[EXPLAIN_TEXT_BYTES])
{
	uint32_t next, unacknowledged, expected;

	if (inquiry->own.trouble == NULL || !end_is_failed(inquiry->own.trouble->extra) ||
	    inquiry->lead.cause == RNIC_CAUSE_UNKNOWN_QPN ||
	    !end_psn(&inquiry->own, RNIC_RECORD_POSITION, &next, &unacknowledged) ||
	    next == unacknowledged)
		return;
	if (inquiry->peer.evidence != NULL && end_expected_psn(&inquiry->peer, &expected))
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
