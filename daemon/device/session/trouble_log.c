/* SPDX-License-Identifier: MIT */
#include "device/session/trouble_log.h"

#include "ctl/ctl_check.h"
#include "base/log.h"
#include "base/time_units.h"
#include "engine/verbs/qp.h"
#include "cm_ids/cm_identifier.h"
#include "device/session/session.h"
#include "device/session/session_set.h"
#include "wire/gid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOG_AGAIN_NS (10 * RNIC_NS_PER_MINUTE)

const struct trouble *trouble_nth(const struct trouble_log *trouble_log, uint32_t n)
{
	if (n >= trouble_log->count || n >= TROUBLE_LOG_MAX)
		return NULL;
	return &trouble_log->entries[(trouble_log->count - 1 - n) % TROUBLE_LOG_MAX];
}

static bool trouble_log_is_same(const struct trouble *one, const struct trouble *other)
{
	return one->pid == other->pid && strcmp(one->subject, other->subject) == 0 &&
	       one->cqe_delivery_error == other->cqe_delivery_error &&
	       (one->cqe_delivery_error != 0 || strcmp(one->reason, other->reason) == 0);
}

static struct trouble *entry_of(struct trouble_log *trouble_log, uint32_t n)
{
	return &trouble_log->entries[(trouble_log->count - 1 - n) % TROUBLE_LOG_MAX];
}

/* Makes the trouble that `n` others came after the latest one. */
static void move_to_front(struct trouble_log *trouble_log, uint32_t n)
{
	struct trouble moved = *entry_of(trouble_log, n);

	for (; n > 0; n--)
		*entry_of(trouble_log, n) = *entry_of(trouble_log, n - 1);
	*entry_of(trouble_log, 0) = moved;
}

/* The same as `trouble`, which is the latest then, or NULL. */
static struct trouble *find_same(struct trouble_log *trouble_log, const struct trouble *trouble)
{
	for (uint32_t n = 0; trouble_nth(trouble_log, n) != NULL; n++) {
		if (!trouble_log_is_same(entry_of(trouble_log, n), trouble))
			continue;
		move_to_front(trouble_log, n);
		return entry_of(trouble_log, 0);
	}
	return NULL;
}

/*
 * The place of a new trouble of `pid`, which is the latest then. The oldest gives way: of all, or
 * of this program when it has half of them, so that they do not hide what others tell, which may be
 * their cause.
 */
static struct trouble *make_place(struct trouble_log *trouble_log, pid_t pid)
{
	uint32_t own_count = 0, own_oldest = 0;

	if (trouble_log->count >= TROUBLE_LOG_MAX) {
		for (uint32_t n = 0; n < TROUBLE_LOG_MAX; n++) {
			if (entry_of(trouble_log, n)->pid != pid)
				continue;
			own_count++;
			own_oldest = n;
		}
	}
	if (own_count >= TROUBLE_LOG_MAX / 2) {
		move_to_front(trouble_log, own_oldest);
		return entry_of(trouble_log, 0);
	}
	return &trouble_log->entries[trouble_log->count++ % TROUBLE_LOG_MAX];
}

/*
 * The same again only counts as now, and is logged now and then: what is tried for ever, by however
 * many, fills neither log nor list.
 */
static void trouble_log_note(struct session_set *set, const struct trouble *trouble)
{
	struct trouble_log *trouble_log = &set->trouble_log;
	struct trouble *noted = find_same(trouble_log, trouble);
	bool is_logged = noted != NULL && trouble->at_ns - noted->logged_ns < LOG_AGAIN_NS;
	uint64_t logged_ns = is_logged ? noted->logged_ns : trouble->at_ns;

	if (noted == NULL)
		noted = make_place(trouble_log, trouble->pid);
	*noted = *trouble;
	noted->logged_ns = logged_ns;
	if (is_logged)
		return;
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
	trouble_log_note(context, &trouble);
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
	trouble_log_note(session->set, &trouble);
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
		trouble_log_note(id->session->set, &trouble);
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

static struct trouble trouble_of_packets(const struct session_set *set, const struct rnic_gid *dest)
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
	return trouble;
}

void trouble_of_network(struct session_set *set, const struct rnic_gid *dest, uint32_t bytes,
			int error)
{
	struct trouble trouble = trouble_of_packets(set, dest);

	snprintf(trouble.reason, sizeof(trouble.reason),
		 "the kernel refuses to send %" PRIu32 " bytes: %s%s", bytes, strerror(-error),
		 network_hint(error));
	trouble_log_note(set, &trouble);
}

static bool trouble_log_is_own(const struct session_set *set, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < set->facts->gids.count; i++)
		if (rnic_gid_equal(&set->facts->gids.entries[i].gid, gid))
			return true;
	return false;
}

/* What `who`, a host or router, is said to have said. */
static void write_delivery(struct trouble *trouble, const char *who, int error, uint32_t mtu_bytes)
{
	char *text = trouble->reason;
	const size_t bytes = sizeof(trouble->reason);

	switch (error) {
	case -ECONNREFUSED:
		snprintf(
			text, bytes,
			"%s answers that nothing listens on UDP port 4791; is rnicd running there?",
			who);
		break;
	case -EHOSTUNREACH:
		snprintf(text, bytes, "%s says that the host is not reachable; is it up?", who);
		break;
	case -ENETUNREACH:
		snprintf(text, bytes, "%s says that there is no route", who);
		break;
	case -EACCES:
		snprintf(text, bytes, "%s says that a firewall forbids them", who);
		break;
	case -EMSGSIZE:
		snprintf(text, bytes,
			 "%s passes on no more than %" PRIu32
			 " bytes; the MTU of the interface must be as low",
			 who, mtu_bytes);
		break;
	case -ETIME:
		snprintf(text, bytes, "%s says that their hop limit was used up", who);
		break;
	default:
		snprintf(text, bytes, "%s says: %s", who, strerror(-error));
	}
}

/* Whether it is one of those that a minute may bring, or noted already. */
static bool may_note_delivery(struct session_set *set, const struct trouble *trouble)
{
	struct trouble_log *trouble_log = &set->trouble_log;
	uint64_t *noted_ns = &trouble_log->cqe_delivery_ns[trouble_log->cqe_delivery_count %
							   TROUBLE_LOG_DELIVERIES_MAX];

	if (find_same(trouble_log, trouble) != NULL)
		return true;
	if (trouble_log->cqe_delivery_count >= TROUBLE_LOG_DELIVERIES_MAX &&
	    set->now_ns - *noted_ns < RNIC_NS_PER_MINUTE)
		return false;
	*noted_ns = set->now_ns;
	trouble_log->cqe_delivery_count++;
	return true;
}

void trouble_of_delivery(struct session_set *set, const struct rnic_gid *dest,
			 const struct rnic_gid *from, int error, uint32_t mtu_bytes)
{
	struct trouble trouble = trouble_of_packets(set, dest);
	char router[RNIC_GID_TEXT_BYTES];

	trouble.cqe_delivery_error = error;
	if (!session_set_uses_dest(set, dest) || !may_note_delivery(set, &trouble))
		return;
	rnic_gid_text(from, router);
	if (trouble_log_is_own(set, from) && error == -EHOSTUNREACH)
		snprintf(trouble.reason, sizeof(trouble.reason),
			 "nobody on the network answers for that address (ARP or neighbour "
			 "discovery); is the host up?");
	else if (rnic_gid_is_zero(from) || rnic_gid_equal(from, dest))
		write_delivery(&trouble, "the host", error, mtu_bytes);
	else
		write_delivery(&trouble, router, error, mtu_bytes);
	trouble_log_note(set, &trouble);
}
