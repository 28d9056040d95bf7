/* SPDX-License-Identifier: MIT */

#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_owner.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/ctl/ctl_message.h"
#include "proto/wire/gid.h"

#include <inttypes.h>
#include <stdio.h>

/* An XRC target belongs to all sessions that opened it. The first session represents them. */
static const struct session *qp_trouble_owner(const struct qp *qp)
{
	const struct shared_target *target = qp->user;
	const struct session_qp *session_qp = qp->user;

	if (qp->xrcd == NULL)
		return session_qp->session;
	if (list_is_empty(&target->handles))
		return NULL;
	return list_first_entry(&target->handles, struct session_qp, target_node)->session;
}

void qp_trouble_note(void *context, const struct qp *qp)
{
	const struct session_set *set = context;
	const struct session *session = qp_trouble_owner(qp);
	char subject[RNIC_TROUBLE_SUBJECT_BYTES];
	char reason[RNIC_CTL_TEXT_BYTES];
	char peer[RNIC_GID_TEXT_BYTES];

	if (session == NULL)
		return;
	rnic_gid_text(&qp->attributes.path.dest_gid, peer);
	if (rnic_gid_is_zero(&qp->attributes.path.dest_gid))
		snprintf(subject, sizeof(subject), "queue pair 0x%06" PRIx32, qp->qpn);
	else
		snprintf(subject, sizeof(subject),
			 "queue pair 0x%06" PRIx32 " to 0x%06" PRIx32 " of %s", qp->qpn,
			 qp->attributes.dest_qpn, peer);
	qp_last_error_text(qp, reason, sizeof(reason));
	set->owner->note_trouble(session->connection, verdict_row(qp->last_error)->cause, subject,
				 reason);
}

bool qp_trouble_refuses_when_gone(void *context, const struct qp *qp)
{
	const struct session_set *set = context;
	const struct session *session = qp_trouble_owner(qp);

	return session != NULL && set->owner->refuses_when_gone(session->connection);
}

void qp_trouble_program(void *context, const struct qp *qp, char *text, size_t bytes)
{
	const struct session_set *set = context;
	const struct session *session = qp_trouble_owner(qp);

	text[0] = '\0';
	if (session != NULL)
		set->owner->name_program(session->connection, text, bytes);
}
