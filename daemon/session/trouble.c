/* SPDX-License-Identifier: MIT */
#include "session/trouble.h"

#include "base/log.h"
#include "engine/qp.h"
#include "session/cm_identifier.h"
#include "session/session.h"
#include "session/session_set.h"
#include "wire/gid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct trouble *trouble_nth(const struct troubles *troubles, uint32_t n)
{
	if (n >= troubles->count || n >= TROUBLES_MAX)
		return NULL;
	return &troubles->entries[(troubles->count - 1 - n) % TROUBLES_MAX];
}

static bool is_same(const struct trouble *one, const struct trouble *other)
{
	return one->pid == other->pid && strcmp(one->subject, other->subject) == 0 &&
	       strcmp(one->reason, other->reason) == 0;
}

/* The same again only counts as now: a program that tries for ever fills neither log nor list. */
static void note(struct session_set *set, const struct trouble *trouble)
{
	struct troubles *troubles = &set->troubles;
	uint32_t latest = (troubles->count - 1) % TROUBLES_MAX;

	if (troubles->count > 0 && is_same(&troubles->entries[latest], trouble)) {
		troubles->entries[latest].at_ns = trouble->at_ns;
		return;
	}
	troubles->entries[troubles->count++ % TROUBLES_MAX] = *trouble;
	log_from_client("%s (pid %d), %s: %s",
			trouble->program[0] != '\0' ? trouble->program : "unnamed",
			(int)trouble->pid, trouble->subject, trouble->reason);
}

static struct trouble trouble_of(const struct session *session)
{
	struct trouble trouble = {
		.at_ns = session->set->now_ns,
		.pid = session->pid,
		.uid = session->uid,
	};

	snprintf(trouble.program, sizeof(trouble.program), "%s", session->program);
	return trouble;
}

/* A target of XRC belongs to all that have opened it; the first one stands for them. */
static const struct session *owner_of(const struct qp *qp)
{
	const struct shared_target *target = qp->user;
	const struct session_qp *session_qp = qp->user;

	if (qp->xrcd == NULL)
		return session_qp->session;
	if (list_is_empty(&target->handles))
		return NULL;
	return list_first_entry(&target->handles, struct session_qp, target_node)->session;
}

void trouble_of_qp(void *context, const struct qp *qp)
{
	const struct session *session = owner_of(qp);
	char peer[RNIC_GID_TEXT_BYTES];
	struct trouble trouble;

	if (session == NULL)
		return;
	trouble = trouble_of(session);
	rnic_gid_text(&qp->attributes.path.dest_gid, peer);
	if (rnic_gid_is_zero(&qp->attributes.path.dest_gid))
		snprintf(trouble.subject, sizeof(trouble.subject), "queue pair 0x%06" PRIx32,
			 qp->qpn);
	else
		snprintf(trouble.subject, sizeof(trouble.subject),
			 "queue pair 0x%06" PRIx32 " to 0x%06" PRIx32 " of %s", qp->qpn,
			 qp->attributes.dest_qpn, peer);
	qp_last_error_text(qp, trouble.reason, sizeof(trouble.reason));
	note(context, &trouble);
}

void trouble_of_request(struct session *session, uint16_t operation, int error, const char *reason)
{
	struct trouble trouble = trouble_of(session);

	if (error == -EAGAIN || session->is_admin)
		return;
	snprintf(trouble.subject, sizeof(trouble.subject), "%s refused",
		 rnic_ctl_operation_name(operation));
	snprintf(trouble.reason, sizeof(trouble.reason), "%s",
		 reason[0] != '\0' ? reason : strerror(-error));
	note(session->set, &trouble);
}

void trouble_of_connection(const struct session_cm_id *id)
{
	struct trouble trouble = trouble_of(id->session);
	char peer[RNIC_GID_TEXT_BYTES];

	rnic_gid_text(&id->peer.gid, peer);
	snprintf(trouble.subject, sizeof(trouble.subject), "connection to %s port %u", peer,
		 id->peer.port);
	cm_identifier_last_error(id, trouble.reason, sizeof(trouble.reason));
	if (trouble.reason[0] != '\0')
		note(id->session->set, &trouble);
}

/* What is likely when the network says this. */
static const char *network_hint(int error)
{
	switch (error) {
	case -EMSGSIZE:
		return "; the path carries less than the MTU of the interface, which must be lower";
	case -EPERM:
		return "; a firewall of this host does not let UDP port 4791 out";
	case -EINVAL:
		return "; from a loopback address only loopback addresses are reached";
	case -EADDRNOTAVAIL:
		return "; the GID that it should come from is no address of the device any more";
	default:
		return "";
	}
}

void trouble_of_network(struct session_set *set, const struct rnic_gid *dest, uint32_t bytes,
			int error)
{
	struct trouble trouble = {
		.at_ns = set->now_ns,
		.pid = getpid(),
		.uid = geteuid(),
		.is_of_all = true,
		.program = "rnicd",
	};
	char peer[RNIC_GID_TEXT_BYTES];

	rnic_gid_text(dest, peer);
	snprintf(trouble.subject, sizeof(trouble.subject), "packets to %s", peer);
	snprintf(trouble.reason, sizeof(trouble.reason),
		 "the kernel refuses to send %" PRIu32 " bytes: %s%s", bytes, strerror(-error),
		 network_hint(error));
	note(set, &trouble);
}
