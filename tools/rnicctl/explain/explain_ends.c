/* SPDX-License-Identifier: MIT */
/* The two ends of a connection in the records of one or more daemons, and their clocks. */
#include "tools/rnicctl/explain/explain_inquiry.h"

#include "proto/wire/gid.h"

#include <string.h>

#define SLACK_OF_QUESTION_US   20000  /* a daemon takes so long to answer */
#define SLACK_OF_CONNECTION_US 200000 /* so long after each other programs connect their ends */
#define SLACK_OF_NAK_US	       20000  /* so long a NAK is on its way */

bool end_has(const struct end *end, const struct rnic_show_record *row)
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

		if (row->event == RNIC_RECORD_TROUBLE && end_has(end, row) &&
		    (found == NULL || !end_is_failed(found->extra)))
			found = row;
	}
	return found;
}

/* The last entry that tells more than a position; NULL: there is none. */
const struct rnic_show_record *end_last(const struct end *end)
{
	const struct rnic_show_record *found = NULL;

	for (size_t i = 0; i < end->evidence->record_count; i++) {
		const struct rnic_show_record *row = &end->evidence->records[i];

		if (end_has(end, row) && row->event >= RNIC_RECORD_STATE &&
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

const struct rnic_show_record *end_first_of(const struct evidence *evidence, uint32_t qpn)
{
	for (size_t i = 0; i < evidence->record_count; i++)
		if (evidence->records[i].qpn == qpn)
			return &evidence->records[i];
	return NULL;
}

const struct rnic_show_client *end_client(const struct end *end)
{
	const struct rnic_show_record *ring = end_first_of(end->evidence, end->qpn);
	const uint32_t client_id = end->qp != NULL ? end->qp->client_id
				   : ring != NULL  ? ring->client_id
						   : 0;

	for (size_t i = 0; i < end->evidence->client_count; i++)
		if (end->evidence->clients[i].client_id == client_id)
			return &end->evidence->clients[i];
	return NULL;
}

bool end_is_stopped(const struct end *end)
{
	const struct rnic_show_client *client = end_client(end);

	return client != NULL && client->stop != RNIC_PROGRAM_RUNS &&
	       (end->qp == NULL || end->qp->send_posted == 0);
}

/* Finds queue pair `qpn`, of any peer (0) or of this one. False: the source has nothing of it. */
bool end_find(struct end *end, const struct evidence *evidence, uint32_t qpn, uint32_t peer_qpn)
{
	const struct rnic_show_record *ring = end_first_of(evidence, qpn);
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

		if (!end_has(end, row) || !is_nak(row, event, like))
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

		if (like->event != RNIC_RECORD_NAK_SENT || !end_has(sender, like))
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

void inquiry_find_peer(struct inquiry *inquiry, const struct evidence *sources, size_t count)
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

/* The address in the row of a connection that waits for its answer; NULL: none, or several do. */
static const struct rnic_gid *find_asked(const struct end *own)
{
	const struct rnic_show_record *ring = end_first_of(own->evidence, own->qpn);
	const struct rnic_gid *found = NULL;

	for (size_t i = 0; ring != NULL && i < own->evidence->connection_count; i++) {
		const struct rnic_show_cm *row = &own->evidence->connections[i];

		if (row->client_id != ring->client_id || row->peer_port == 0)
			continue;
		if (found != NULL && !rnic_gid_equal(found, &row->peer))
			return NULL;
		found = &row->peer;
	}
	return found;
}

static bool has_listener(const struct evidence *evidence, const struct rnic_gid *address)
{
	for (size_t i = 0; i < evidence->connection_count; i++)
		if (strcmp(evidence->connections[i].state, "listening") == 0 &&
		    rnic_gid_equal(&evidence->connections[i].local, address))
			return true;
	return false;
}

void inquiry_find_listener(struct inquiry *inquiry, const struct evidence *sources, size_t count)
{
	const struct rnic_gid *asked = find_asked(&inquiry->own);

	for (size_t i = 1; asked != NULL && i < count; i++) {
		if (!has_listener(&sources[i], asked))
			continue;
		inquiry->peer = (struct end){.evidence = &sources[i]};
		align_ages(inquiry, sources, &sources[i]);
		return;
	}
}

/* The last PSN of this kind that the end's ring tells; false: none. */
bool end_psn(const struct end *end, enum rnic_record_event event, uint32_t *psn, uint32_t *value)
{
	bool is_found = false;

	for (size_t i = 0; end->evidence != NULL && i < end->evidence->record_count; i++) {
		const struct rnic_show_record *row = &end->evidence->records[i];

		if (row->event != (uint32_t)event || !end_has(end, row))
			continue;
		*psn = row->psn;
		*value = row->value;
		is_found = true;
	}
	return is_found;
}

bool end_expected_psn(const struct end *end, uint32_t *psn)
{
	const struct rnic_show_record *took;
	uint32_t packets;

	if (end->qp != NULL && end->qp->state >= RNIC_QP_STATE_RTR) {
		*psn = end->qp->expected_psn;
		return true;
	}
	took = evidence_of_device(end->evidence, RNIC_RECORD_QP_TOOK, end->qpn, EVIDENCE_ANY);
	if (end->qp == NULL && took != NULL &&
	    (end->connected == NULL || took->age_us <= end->connected->age_us)) {
		*psn = took->value;
		return true;
	}
	return end_psn(end, RNIC_RECORD_TAKEN, psn, &packets);
}
