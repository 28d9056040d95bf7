/* SPDX-License-Identifier: MIT */
/* What makes a channel, of completions or of the connection manager: a pipe to its client. */
#ifndef DAEMON_COMMON_CTL_CHANNEL_H
#define DAEMON_COMMON_CTL_CHANNEL_H

#include "common/event_pipe.h"
#include "common/handle_table.h"
#include "common/quota.h"

struct ctl_call;

/* A channel to open, which is the caller's and holds pipe and handle. */
struct ctl_channel {
	struct quota_account *account;
	enum session_resource resource; /* that the channel costs one of */
	struct handle_table *table;
	void *object;
	struct event_pipe *pipe;
	struct rnic_handle *handle;
	const char *plural; /* as refusals name such channels */
};

/*
 * Opens the pipe with the client's end in the reply, and gives the object a handle of the table. A
 * refusal, -ENOMEM, -EMFILE, -ENFILE: nothing has happened.
 */
int ctl_channel_open(struct ctl_call *call, const struct ctl_channel *channel);

#endif
