/* SPDX-License-Identifier: MIT */
/* Sentences for display: what an identifier waits for, and what went wrong. */
#include "daemon/control/cm_ids/cm_identifier.h"

#include "proto/mad/cm_message.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A time-out is the neighbour's; other errors are the routes' and addresses'. */
static void write_unresolved(const struct client_cm_id *id, char *text, uint32_t text_bytes)
{
	char peer[RNIC_GID_TEXT_BYTES];

	rnic_gid_text(&id->peer.gid, peer);
	if (id->failure_status == -ETIMEDOUT)
		snprintf(text, text_bytes,
			 "nobody on the network answers for %s, or for the router to it (ARP or "
			 "neighbour discovery)",
			 peer);
	else
		snprintf(text, text_bytes, "no address of the device reaches the destination: %s",
			 strerror(-id->failure_status));
}

static void write_unanswered(const struct client_cm_id *id, char *text, uint32_t text_bytes)
{
	char peer[RNIC_GID_TEXT_BYTES];

	rnic_gid_text(&id->peer.gid, peer);
	snprintf(text, text_bytes, "%s did not answer: %s", peer, strerror(-id->failure_status));
}

void cm_identifier_last_error(const struct client_cm_id *id, char *text, uint32_t text_bytes)
{
	switch (id->failure) {
	case RNIC_CM_ADDR_ERROR:
		write_unresolved(id, text, text_bytes);
		break;
	case RNIC_CM_UNREACHABLE:
		write_unanswered(id, text, text_bytes);
		break;
	case RNIC_CM_REJECTED:
		cm_reject_text(id->failure_status, id->qp_type == RNIC_QP_TYPE_UD, text,
			       text_bytes);
		break;
	default:
		snprintf(text, text_bytes, "%s", "");
		break;
	}
}

enum rnic_cause cm_identifier_cause(const struct client_cm_id *id)
{
	switch (id->failure) {
	case RNIC_CM_ADDR_ERROR:
		return RNIC_CAUSE_UNREACHABLE;
	case RNIC_CM_REJECTED:
		return id->qp_type == RNIC_QP_TYPE_UD
			       ? rnic_cm_sidr_cause((uint32_t)id->failure_status)
			       : rnic_cm_reject_cause((uint32_t)id->failure_status);
	default:
		return RNIC_CAUSE_CM_UNANSWERED;
	}
}

static void write_requests(const struct client_cm_id *id, char *text, uint32_t text_bytes)
{
	struct cm_binding_info info;

	cm_describe_binding(id->binding, &info);
	if (info.pending_count > 0)
		snprintf(text, text_bytes, "its program, to answer %u requests (of at most %u)",
			 info.pending_count, info.backlog);
	else
		snprintf(text, text_bytes, "a peer's request for a connection to port %u",
			 info.address.port);
}

void cm_identifier_waiting_for(const struct client_cm_id *id, char *text, uint32_t text_bytes)
{
	if (id->event_count > 0)
		snprintf(text, text_bytes, "its program, to take %u events", id->event_count);
	else if (id->connection != NULL)
		cm_waiting_for(id->connection, text, text_bytes);
	else if (cm_identifier_state(id) == CM_ID_LISTENING)
		write_requests(id, text, text_bytes);
	else if (cm_identifier_state(id) == CM_ID_ADDRESS_RESOLVING)
		snprintf(text, text_bytes, "the link address of the peer, or of the router to it");
	else
		snprintf(text, text_bytes, "%s", "");
}
