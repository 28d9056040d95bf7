/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/explain/explain_cm.h"

#include "proto/mad/cm_message.h"

#include <stddef.h>
#include <string.h>

#define SUBJECT "connection to " /* of troubles about connections */

bool explain_cm_is(const struct rnic_show_record *row)
{
	return row->event == RNIC_RECORD_CM_SENT || row->event == RNIC_RECORD_CM_RECEIVED;
}

bool explain_cm_is_end(const struct rnic_show_record *row)
{
	return row->event == RNIC_RECORD_CM_RECEIVED && row->detail == RNIC_CM_DREQ;
}

static uint32_t cause_of_reject(uint32_t reason)
{
	switch ((enum rnic_cm_reject_reason)reason) {
	case RNIC_CM_REJECT_INVALID_SERVICE_ID:
		return RNIC_CAUSE_CM_NO_LISTENER;
	case RNIC_CM_REJECT_CONSUMER:
		return RNIC_CAUSE_CM_REFUSED;
	case RNIC_CM_REJECT_STALE_CONNECTION:
		return RNIC_CAUSE_CM_STALE;
	case RNIC_CM_REJECT_TIMEOUT:
		return RNIC_CAUSE_CM_UNANSWERED;
	default:
		return RNIC_CAUSE_CM_REJECTED;
	}
}

static uint32_t cause_of_datagram(uint32_t status)
{
	switch ((enum rnic_cm_sidr_status)status) {
	case RNIC_CM_SIDR_UNSUPPORTED:
		return RNIC_CAUSE_CM_NO_LISTENER;
	case RNIC_CM_SIDR_REJECT:
		return RNIC_CAUSE_CM_REFUSED;
	default:
		return RNIC_CAUSE_CM_REJECTED;
	}
}

const struct rnic_cause_row *explain_cm_cause(const struct rnic_show_record *row)
{
	if (!explain_cm_is(row))
		return NULL;
	if (row->detail == RNIC_CM_REJ)
		return rnic_cause_of(cause_of_reject(row->extra));
	if (row->detail == RNIC_CM_SIDR_REP && row->extra != RNIC_CM_SIDR_SUCCESS)
		return rnic_cause_of(cause_of_datagram(row->extra));
	return NULL;
}

static bool is_request(const struct rnic_show_record *row)
{
	return row->event == RNIC_RECORD_CM_SENT &&
	       (row->detail == RNIC_CM_REQ || row->detail == RNIC_CM_REP ||
		row->detail == RNIC_CM_SIDR_REQ);
}

const struct rnic_cause_row *explain_cm_failure(const struct evidence *evidence, uint32_t qpn,
						const struct rnic_show_record **last)
{
	*last = NULL;
	for (size_t i = 0; i < evidence->record_count; i++)
		if (explain_cm_is(&evidence->records[i]) && evidence->records[i].qpn == qpn)
			*last = &evidence->records[i];
	if (*last == NULL)
		return NULL;
	if (is_request(*last) && (*last)->run > 0)
		return rnic_cause_of(RNIC_CAUSE_CM_UNANSWERED);
	return explain_cm_cause(*last);
}

static bool is_of_connection(const struct rnic_show_trouble *trouble)
{
	return strncmp(trouble->subject, SUBJECT, strlen(SUBJECT)) == 0;
}

/* The last refusal that the program of the trouble got; NULL: none is known. */
static const struct rnic_show_record *refusal_of(const struct evidence *evidence,
						 const struct rnic_show_trouble *trouble)
{
	const struct rnic_show_record *found = NULL;

	for (size_t i = 0; i < evidence->record_count; i++) {
		const struct rnic_show_record *row = &evidence->records[i];

		if (row->pid == trouble->pid && row->event == RNIC_RECORD_CM_RECEIVED &&
		    explain_cm_cause(row) != NULL)
			found = row;
	}
	return found;
}

/* The sentences of silence, of the peer or of its network, have this word alone in common. */
static bool is_silence(const struct rnic_show_trouble *trouble)
{
	return strstr(trouble->reason, "answer") != NULL;
}

const struct rnic_cause_row *explain_cm_trouble(const struct evidence *evidence,
						const struct rnic_show_trouble *trouble)
{
	const struct rnic_show_record *refusal;

	if (!is_of_connection(trouble))
		return NULL;
	if (is_silence(trouble))
		return rnic_cause_of(RNIC_CAUSE_CM_UNANSWERED);
	refusal = refusal_of(evidence, trouble);
	return refusal != NULL ? explain_cm_cause(refusal) : NULL;
}

bool explain_cm_tells(const struct evidence *evidence, const struct rnic_show_trouble *trouble)
{
	const struct rnic_show_record *refusal = refusal_of(evidence, trouble);

	return is_of_connection(trouble) && !is_silence(trouble) && refusal != NULL &&
	       refusal->qpn != 0;
}
