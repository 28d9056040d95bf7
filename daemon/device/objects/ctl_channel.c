/* SPDX-License-Identifier: MIT */
#include "device/objects/ctl_channel.h"

#include "control/ctl_dispatch.h"

#include <unistd.h>

int ctl_channel_open(struct ctl_call *call, enum session_resource resource,
		     struct handle_table *table, void *channel, struct event_pipe *pipe,
		     struct rnic_handle *handle, const char *what)
{
	int result = quota_charge(&call->session->account, resource, 1);

	if (result != 0)
		return ctl_refuse(call, result, "no more %s are to be had", what);
	result = quota_charge(&call->session->account, RESOURCE_DESCRIPTORS, 1);
	if (result != 0) {
		ctl_refuse(call, result, "no more file descriptors are to be had");
		goto discharge;
	}
	result = event_pipe_open(pipe, &call->reply_fds[0]);
	if (result != 0)
		goto discharge_descriptor;
	result = handle_table_add(table, channel, handle);
	if (result != 0)
		goto close_pipe;
	call->reply_fd_count = 1;
	return 0;

close_pipe:
	close(call->reply_fds[0]);
	event_pipe_close(pipe);
discharge_descriptor:
	quota_discharge(&call->session->account, RESOURCE_DESCRIPTORS, 1);
discharge:
	quota_discharge(&call->session->account, resource, 1);
	return result;
}
