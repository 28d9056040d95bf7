/* SPDX-License-Identifier: MIT */
#include "daemon/shared/served_peer/ctl_channel.h"

#include "daemon/shared/served_peer/ctl_call.h"

#include <unistd.h>

int ctl_channel_open(struct ctl_call *call, const struct ctl_channel *channel)
{
	int result = quota_charge(channel->account, channel->resource, 1);

	if (result != 0)
		return ctl_refuse(call, result, "no more %s are to be had", channel->plural);
	result = quota_charge(channel->account, RESOURCE_DESCRIPTORS, 1);
	if (result != 0) {
		ctl_refuse(call, result, "no more file descriptors are to be had");
		goto discharge;
	}
	result = channel->open(channel->object, &call->reply_fds[0]);
	if (result != 0)
		goto discharge_descriptor;
	result = handle_table_add(channel->table, channel->object, channel->handle);
	if (result != 0)
		goto close_object;
	call->reply_fd_count = 1;
	return 0;

close_object:
	close(call->reply_fds[0]);
	channel->close(channel->object);
discharge_descriptor:
	quota_discharge(channel->account, RESOURCE_DESCRIPTORS, 1);
discharge:
	quota_discharge(channel->account, channel->resource, 1);
	return result;
}
