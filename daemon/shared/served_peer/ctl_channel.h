/* SPDX-License-Identifier: MIT */
/* Opens a channel, for completions or for the connection manager: a descriptor to its client. */
#ifndef DAEMON_SHARED_SERVED_PEER_CTL_CHANNEL_H
#define DAEMON_SHARED_SERVED_PEER_CTL_CHANNEL_H

#include "daemon/shared/base/handle_table.h"
#include "daemon/shared/quota/quota.h"

struct ctl_call;

/* A channel to open. The caller owns the channel's object, which holds the handle. */
struct ctl_channel {
	struct quota_account *account;
	enum session_resource resource; /* the channel takes one unit of this resource */
	struct handle_table *table;
	void *object;
	int (*open)(void *object, int *client_fd); /* 0, or a negative errno */
	void (*close)(void *object);
	struct rnic_handle *handle;
	const char *plural; /* the plural noun in refusals */
};

/*
 * Opens the object, puts the client's end into the reply, and gives the object a handle of the
 * table. A refusal, -ENOMEM, -EMFILE, -ENFILE: nothing has changed.
 */
int ctl_channel_open(struct ctl_call *call, const struct ctl_channel *channel);

#endif
