/* SPDX-License-Identifier: MIT */
/* What makes a channel, of completions or of the connection manager: a pipe to its client. */
#ifndef DAEMON_DEVICE_OBJECTS_CTL_CHANNEL_H
#define DAEMON_DEVICE_OBJECTS_CTL_CHANNEL_H

#include "device/session/session.h"

struct ctl_call;

/*
 * Opens `pipe` with the client's end in the reply, and gives `channel`, which is the caller's and
 * holds both, a handle of `table`, at the cost of one `resource`. 0; a refusal that names `what` is
 * not to be had; -ENOMEM, -EMFILE, -ENFILE, and nothing has happened.
 */
int ctl_channel_open(struct ctl_call *call, enum session_resource resource,
		     struct handle_table *table, void *channel, struct event_pipe *pipe,
		     struct rnic_handle *handle, const char *what);

#endif
