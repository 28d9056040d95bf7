/* SPDX-License-Identifier: MIT */
#include "daemon/shared/reports/trouble_text.h"

#include "proto/base/causes.h"
#include "proto/ctl/ctl_check.h"
#include "proto/wire/gid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool trouble_text_of_request(struct rnic_process_trouble *trouble, uint32_t client_id,
			     uint16_t operation, int error, const char *reason)
{
	if (error == -EAGAIN)
		return false;
	*trouble = (struct rnic_process_trouble){
		.client_id = client_id,
		.cause = RNIC_CAUSE_REFUSED,
	};
	snprintf(trouble->subject, sizeof(trouble->subject), "%s refused",
		 rnic_ctl_operation_name(operation));
	snprintf(trouble->reason, sizeof(trouble->reason), "%s",
		 reason[0] != '\0' ? reason : strerror(-error));
	return true;
}

/* Returns the likely cause of this error from the network. */
static const char *trouble_text_hint(int error)
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

static void trouble_text_begin(struct rnic_process_trouble *trouble, const struct rnic_gid *dest)
{
	char peer[RNIC_GID_TEXT_BYTES];

	*trouble = (struct rnic_process_trouble){.cause = RNIC_CAUSE_UNREACHABLE};
	rnic_gid_text(dest, peer);
	snprintf(trouble->subject, sizeof(trouble->subject), "packets to %s", peer);
}

void trouble_text_of_refusal(struct rnic_process_trouble *trouble, const struct rnic_gid *dest,
			     uint32_t bytes, int error)
{
	trouble_text_begin(trouble, dest);
	snprintf(trouble->reason, sizeof(trouble->reason),
		 "the kernel refuses to send %" PRIu32 " bytes: %s%s", bytes, strerror(-error),
		 trouble_text_hint(error));
}

static bool trouble_text_is_own(const struct rnic_ctl_gids_reply *gids, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < gids->count; i++)
		if (rnic_gid_equal(&gids->entries[i].gid, gid))
			return true;
	return false;
}

/* Writes the reason that `who`, a host or router, is said to have reported. */
static void trouble_text_write_delivery(struct rnic_process_trouble *trouble, const char *who,
					int error, uint32_t mtu_bytes)
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

void trouble_text_of_delivery(struct rnic_process_trouble *trouble,
			      const struct rnic_ctl_gids_reply *gids, const struct rnic_gid *dest,
			      const struct rnic_gid *from, int error, uint32_t mtu_bytes)
{
	char router[RNIC_GID_TEXT_BYTES];

	trouble_text_begin(trouble, dest);
	trouble->undelivered_error = error;
	rnic_gid_text(from, router);
	if (trouble_text_is_own(gids, from) && error == -EHOSTUNREACH)
		snprintf(trouble->reason, sizeof(trouble->reason),
			 "nobody on the network answers for that address (ARP or neighbour "
			 "discovery); is the host up?");
	else if (rnic_gid_is_zero(from) || rnic_gid_equal(from, dest))
		trouble_text_write_delivery(trouble, "the host", error, mtu_bytes);
	else
		trouble_text_write_delivery(trouble, router, error, mtu_bytes);
}

void trouble_text_of_icrc(struct rnic_process_trouble *trouble, const struct rnic_gid *source,
			  uint64_t packets)
{
	char peer[RNIC_GID_TEXT_BYTES];

	*trouble = (struct rnic_process_trouble){
		.undelivered_error = -EBADMSG,
		.cause = RNIC_CAUSE_CHANGED_ON_WAY,
	};
	rnic_gid_text(source, peer);
	snprintf(trouble->subject, sizeof(trouble->subject), "packets from %s", peer);
	snprintf(trouble->reason, sizeof(trouble->reason),
		 "the ICRC of %" PRIu64 " in a row was wrong: something on the way changes "
		 "addresses or contents (NAT, a proxy), which RoCE does not survive",
		 packets);
}

void trouble_text_of_unknown_qp(struct rnic_process_trouble *trouble,
				const struct unknown_qp *unknown)
{
	char peer[RNIC_GID_TEXT_BYTES];

	*trouble = (struct rnic_process_trouble){
		.undelivered_error = -ENOENT,
		.cause = RNIC_CAUSE_UNKNOWN_QPN,
	};
	rnic_gid_text(&unknown->source, peer);
	snprintf(trouble->subject, sizeof(trouble->subject), "packets from %s", peer);
	snprintf(trouble->reason, sizeof(trouble->reason),
		 "they go to queue pair 0x%06" PRIx32 ", which is not here, or not any more: the "
		 "peer has another number than that of its partner (dest_qp_num), or its partner "
		 "ended",
		 unknown->qpn);
}
