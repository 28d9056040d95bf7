/* SPDX-License-Identifier: MIT */
/* Sentences for display: what a connection waits for, and why a connection failed. */
#include "daemon/control/cm/cm_connection.h"

#include "proto/base/bits.h"

#include <stdio.h>

static const char *const awaited[STATE_COUNT] = {
	[STATE_REQ_SENT] = "the peer's answer to the request",
	[STATE_REP_RECEIVED] = "its program, to continue after the peer's agreement",
	[STATE_REQ_RECEIVED] = "its program, to accept or refuse",
	[STATE_REP_SENT] = "the peer, to confirm the answer",
	[STATE_DREQ_SENT] = "the peer, to confirm the end",
	[STATE_DREQ_RECEIVED] = "its program, to end the connection that the peer has ended",
	[STATE_TIMEWAIT] = "the last packets of the connection to die out",
	[STATE_SIDR_SENT] = "the peer's answer to the question for a service",
	[STATE_SIDR_RECEIVED] = "its program, to accept or refuse",
};

static bool is_repeating(const struct cm_connection *connection)
{
	return connection->state == STATE_REQ_SENT || connection->state == STATE_REP_SENT ||
	       connection->state == STATE_DREQ_SENT || connection->state == STATE_SIDR_SENT;
}

void cm_waiting_for(const struct cm_connection *connection, char *text, uint32_t text_bytes)
{
	const char *what = awaited[connection->state];

	if (what == NULL)
		snprintf(text, text_bytes, "%s", "");
	else if (!is_repeating(connection))
		snprintf(text, text_bytes, "%s", what);
	else if (connection->is_extended)
		snprintf(text, text_bytes, "%s; the peer has asked for time", what);
	else
		snprintf(text, text_bytes, "%s (try %u of %u)", what,
			 connection->max_retries - connection->retries_left + 1U,
			 connection->max_retries + 1U);
}

struct refusal {
	uint16_t reason;
	const char *sentence;
};

/* The reasons of a REJ (IBTA 1.4, table 108) that RNICs give. */
static const struct refusal refusals[] = {
	{RNIC_CM_REJECT_NO_QP, "the peer has no queue pair left"},
	{RNIC_CM_REJECT_NO_RESOURCES, "the peer has no room left"},
	{RNIC_CM_REJECT_TIMEOUT, "our message did not reach the peer in time"},
	{RNIC_CM_REJECT_UNSUPPORTED, "the peer does not understand the request"},
	{RNIC_CM_REJECT_INVALID_COMM_ID, "the peer does not know this connection"},
	{RNIC_CM_REJECT_INVALID_SERVICE_ID, "nobody listens at that port of the peer"},
	{RNIC_CM_REJECT_INVALID_TRANSPORT, "the peer has no queue pairs of that type"},
	{RNIC_CM_REJECT_STALE_CONNECTION, "a queue pair still had an old connection"},
	{RNIC_CM_REJECT_INVALID_GID, "the addresses in the request are not those of its packet"},
	{RNIC_CM_REJECT_INVALID_MTU, "the peer does not accept that path MTU"},
	{RNIC_CM_REJECT_CONSUMER, "the peer's program has refused"},
};

/* The statuses of a SIDR_REP (12.11.1.2). */
static const struct refusal datagram_refusals[] = {
	{RNIC_CM_SIDR_UNSUPPORTED, "nobody offers that service at the peer"},
	{RNIC_CM_SIDR_REJECT, "the peer's program has refused"},
	{RNIC_CM_SIDR_NO_QP, "the peer has no queue pair for that service"},
};

static const char *find_sentence(const struct refusal *table, size_t count, int reason)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].reason == reason)
			return table[i].sentence;
	return "the peer has refused";
}

void cm_reject_text(int reason, bool is_datagram, char *text, uint32_t text_bytes)
{
	if (is_datagram)
		snprintf(text, text_bytes, "%s (status %d)",
			 find_sentence(datagram_refusals, RNIC_COUNT_OF(datagram_refusals), reason),
			 reason);
	else
		snprintf(text, text_bytes, "%s (reason %d)",
			 find_sentence(refusals, RNIC_COUNT_OF(refusals), reason), reason);
}
