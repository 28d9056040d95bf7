/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/explain_cm.h"

#include "proto/mad/cm_message.h"

#include <stddef.h>
#include <string.h>

#define SUBJECT "connection to " /* of troubles about connections */

bool explain_cm_is(const struct rnic_show_record *row)
{
	return row->event == RNIC_RECORD_CM_SENT || row->event == RNIC_RECORD_CM_RECEIVED;
}

const char *explain_cm_kind(uint32_t kind)
{
	static const char *const names[] = {"REQ",  "MRA",	"REJ",	    "REP", "RTU", "DREQ",
					    "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"};

	return kind >= RNIC_CM_REQ && kind - RNIC_CM_REQ < sizeof(names) / sizeof(names[0])
		       ? names[kind - RNIC_CM_REQ]
		       : "unknown message";
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

const struct rnic_cause_row *explain_cm_trouble(const struct evidence *evidence,
						const struct rnic_show_trouble *trouble,
						bool *is_told)
{
	const struct rnic_show_record *found = NULL;

	*is_told = false;
	if (strncmp(trouble->subject, SUBJECT, strlen(SUBJECT)) != 0)
		return NULL;
	for (size_t i = 0; i < evidence->record_count; i++) {
		const struct rnic_show_record *row = &evidence->records[i];

		if (row->pid == trouble->pid && row->event == RNIC_RECORD_CM_RECEIVED &&
		    explain_cm_cause(row) != NULL)
			found = row;
	}
	if (strstr(trouble->reason, "answer") != NULL)
		return rnic_cause_of(RNIC_CAUSE_CM_UNANSWERED);
	if (found == NULL)
		return NULL;
	*is_told = found->qpn != 0;
	return explain_cm_cause(found);
}
