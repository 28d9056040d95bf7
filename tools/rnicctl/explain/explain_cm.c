/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/explain/explain_cm.h"

#include "proto/mad/cm_message.h"

#include <stddef.h>

bool explain_cm_is(const struct rnic_show_record *row)
{
	return row->event == RNIC_RECORD_CM_SENT || row->event == RNIC_RECORD_CM_RECEIVED;
}

bool explain_cm_is_late(const struct rnic_show_record *row)
{
	return explain_cm_is(row) && row->value == RNIC_RECORD_CM_LATE;
}

bool explain_cm_is_end(const struct rnic_show_record *row)
{
	return row->event == RNIC_RECORD_CM_RECEIVED && row->detail == RNIC_CM_DREQ &&
	       !explain_cm_is_late(row);
}

const struct rnic_cause_row *explain_cm_cause(const struct rnic_show_record *row)
{
	if (!explain_cm_is(row))
		return NULL;
	if (row->detail == RNIC_CM_REJ)
		return rnic_cause_of(rnic_cm_reject_cause(row->extra));
	if (row->detail == RNIC_CM_SIDR_REP && row->extra != RNIC_CM_SIDR_SUCCESS)
		return rnic_cause_of(rnic_cm_sidr_cause(row->extra));
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
		if (explain_cm_is(&evidence->records[i]) && evidence->records[i].qpn == qpn &&
		    !explain_cm_is_late(&evidence->records[i]))
			*last = &evidence->records[i];
	if (*last == NULL)
		return NULL;
	if (is_request(*last) && (*last)->run > 0)
		return rnic_cause_of(RNIC_CAUSE_CM_UNANSWERED);
	return explain_cm_cause(*last);
}

bool explain_cm_has_heard(const struct evidence *evidence, uint32_t qpn)
{
	for (size_t i = 0; i < evidence->record_count; i++)
		if (evidence->records[i].event == RNIC_RECORD_CM_RECEIVED &&
		    evidence->records[i].qpn == qpn)
			return true;
	return false;
}

/* Whether the message is the refusal of which the trouble tells. */
static bool is_refusal_of(const struct rnic_show_record *row,
			  const struct rnic_show_trouble *trouble)
{
	const struct rnic_cause_row *cause = explain_cm_cause(row);

	return row->pid == trouble->pid && row->event == RNIC_RECORD_CM_RECEIVED && cause != NULL &&
	       cause->code == trouble->cause;
}

bool explain_cm_tells(const struct evidence *evidence, const struct rnic_show_trouble *trouble)
{
	for (size_t i = 0; i < evidence->record_count; i++)
		if (evidence->records[i].qpn != 0 && is_refusal_of(&evidence->records[i], trouble))
			return true;
	return false;
}
