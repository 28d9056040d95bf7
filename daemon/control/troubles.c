/* SPDX-License-Identifier: MIT */
#include "control/troubles.h"

#include "client/client.h"
#include "client/client_set.h"
#include "cm_ids/cm_identifier.h"
#include "ctl/ctl_check.h"
#include "device/device_half.h"
#include "wire/gid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void trouble_of_request(struct client *client, uint16_t operation, int error, const char *reason)
{
	char subject[RNIC_TROUBLE_SUBJECT_BYTES];

	if (error == -EAGAIN || client->is_admin)
		return;
	snprintf(subject, sizeof(subject), "%s refused", rnic_ctl_operation_name(operation));
	client_note_trouble(client, subject, reason[0] != '\0' ? reason : strerror(-error));
}

/* Returns the likely cause of this error from the network. */
static const char *troubles_hint(int error)
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

static struct trouble troubles_of_packets(const struct client_set *set, const struct rnic_gid *dest)
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

void trouble_of_network(struct client_set *set, const struct rnic_gid *dest, uint32_t bytes,
			int error)
{
	struct trouble trouble = troubles_of_packets(set, dest);

	snprintf(trouble.reason, sizeof(trouble.reason),
		 "the kernel refuses to send %" PRIu32 " bytes: %s%s", bytes, strerror(-error),
		 troubles_hint(error));
	trouble_log_note(&set->trouble_log, &trouble);
}

static bool troubles_is_own(const struct client_set *set, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < set->facts->gids.count; i++)
		if (rnic_gid_equal(&set->facts->gids.entries[i].gid, gid))
			return true;
	return false;
}

/* Writes the reason that `who`, a host or router, is said to have reported. */
static void troubles_write_delivery(struct trouble *trouble, const char *who, int error,
				    uint32_t mtu_bytes)
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

/*
 * Returns whether a queue pair, an address handle or a connection of any client has its peer at
 * `dest`.
 */
static bool troubles_concern(const struct client_set *set, const struct rnic_gid *dest)
{
	const struct list *node;

	if (device_half_uses_dest(set->device, dest))
		return true;
	list_for_each (node, &set->clients)
		if (cm_identifier_any_to(list_entry(node, struct client, node), dest))
			return true;
	return false;
}

void trouble_of_delivery(struct client_set *set, const struct rnic_gid *dest,
			 const struct rnic_gid *from, int error, uint32_t mtu_bytes)
{
	struct trouble trouble = troubles_of_packets(set, dest);
	char router[RNIC_GID_TEXT_BYTES];

	trouble.undelivered_error = error;
	if (!troubles_concern(set, dest) || !trouble_log_may_note(&set->trouble_log, &trouble))
		return;
	rnic_gid_text(from, router);
	if (troubles_is_own(set, from) && error == -EHOSTUNREACH)
		snprintf(trouble.reason, sizeof(trouble.reason),
			 "nobody on the network answers for that address (ARP or neighbour "
			 "discovery); is the host up?");
	else if (rnic_gid_is_zero(from) || rnic_gid_equal(from, dest))
		troubles_write_delivery(&trouble, "the host", error, mtu_bytes);
	else
		troubles_write_delivery(&trouble, router, error, mtu_bytes);
	trouble_log_note(&set->trouble_log, &trouble);
}
