/* SPDX-License-Identifier: MIT */
/* Answers VERB_RULES: where a program finds the rules for its calls and completions. */
#include "daemon/control/server/ctl_dispatch.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/supervisor/device_child.h"
#include "daemon/shared/served_peer/ctl_call.h"

#include <string.h>

int ctl_verb_rules(struct ctl_call *call)
{
	struct rnic_ctl_verb_rules_reply *reply = (void *)call->reply.payload;
	const struct client *client = call->client;
	const int result = verb_pages_share(&client->device->verbs, call->reply_fds);

	if (result != 0)
		return ctl_refuse(call, result, "no descriptors for the rules of calls: %s",
				  strerror(-result));
	call->reply_fd_count = 2;
	reply->pid = (uint32_t)client->peer.pid;
	memcpy(reply->program, client->peer.program, sizeof(reply->program));
	return 0;
}
