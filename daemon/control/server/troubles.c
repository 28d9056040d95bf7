/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/troubles.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/cm_ids/cm_identifier.h"
#include "daemon/control/supervisor/device_child.h"
#include "daemon/shared/link/device_facts.h"
#include "daemon/shared/reports/trouble_text.h"
#include "lib/nic/port/port.h"
#include "proto/base/causes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void trouble_of_request(struct client *client, uint16_t operation, int error, const char *reason)
{
	struct rnic_process_trouble trouble;

	if (!client->is_admin &&
	    trouble_text_of_request(&trouble, client->peer.client_id, operation, error, reason))
		client_note_trouble(client, trouble.cause, trouble.subject, trouble.reason);
}

/* Notes a trouble that is no client's, unless the network reports too many. */
static void troubles_note(struct client_set *set, struct trouble *trouble,
			  const struct rnic_process_trouble *told)
{
	trouble->at_ns = set->now_ns;
	trouble->account = client_set_account(set, trouble->uid);
	trouble->undelivered_error = told->undelivered_error;
	trouble->cause = told->cause;
	snprintf(trouble->program, sizeof(trouble->program), "rnicd");
	memcpy(trouble->subject, told->subject, sizeof(trouble->subject));
	memcpy(trouble->reason, told->reason, sizeof(trouble->reason));
	if (told->undelivered_error == 0 || trouble_log_may_note(&set->trouble_log, trouble))
		trouble_log_note(&set->trouble_log, trouble);
}

void trouble_of_packets(struct client_set *set, const struct rnic_process_trouble *told)
{
	struct trouble trouble = {.pid = getpid(), .uid = geteuid(), .is_of_all = true};

	troubles_note(set, &trouble, told);
}

void trouble_of_device(struct client_set *set, const struct device_child *process,
		       const struct rnic_process_trouble *told)
{
	struct trouble trouble = {.pid = process->pid, .uid = process->uid};
	const struct gone_client *gone = gone_clients_find(&set->gone, told->client_id);
	struct client *client = client_find(set, told->client_id);

	if (told->client_id == 0)
		troubles_note(set, &trouble, told);
	else if (client != NULL && client->device == process)
		client_note_trouble(client, told->cause, told->subject, told->reason);
	else if (client == NULL && gone != NULL && gone->device_pid == process->pid)
		client_note_late_trouble(set, gone, told->cause, told->subject, told->reason);
}

void trouble_of_silence(struct client_set *set, const struct device_child *process)
{
	struct trouble trouble = {.pid = process->pid, .uid = process->uid};
	struct rnic_process_trouble told = {
		.cause = RNIC_CAUSE_DEVICE_FAILED,
		.reason = "it does not answer, so that listings lack its rows; is it stopped?",
	};

	snprintf(told.subject, sizeof(told.subject), "device process of user %u", process->uid);
	troubles_note(set, &trouble, &told);
}

/* Returns whether a connection of any client has its peer at `dest`. */
static bool troubles_concern(const struct client_set *set, const struct rnic_gid *dest)
{
	const struct list *node;

	list_for_each (node, &set->peers.all)
		if (cm_identifier_any_to(list_entry(node, struct client, peer.node), dest))
			return true;
	return false;
}

void trouble_of_delivery(struct client_set *set, const struct port_report *report)
{
	struct rnic_process_trouble trouble;

	if (!troubles_concern(set, &report->dest))
		return;
	trouble_text_of_delivery(&trouble, &set->facts->gids, &report->dest, &report->from,
				 report->error, report->mtu_bytes);
	trouble_of_packets(set, &trouble);
}
