/* SPDX-License-Identifier: MIT */
#include "daemon/device/objects/ctl_region.h"

#include "daemon/device/session/session.h"
#include "daemon/shared/served_peer/ctl_call.h"

#include <errno.h>
#include <unistd.h>

int ctl_region_open(struct ctl_call *call, struct shared_region *region, enum rnic_region_kind kind,
		    uint64_t bytes)
{
	int result = session_open_shared(call->session, region, kind, bytes, &call->reply_fds[0]);

	if (result == -ENOSPC)
		return ctl_refuse(call, result, "no more memory for queues is to be had");
	return result;
}

void ctl_region_close(struct ctl_call *call, struct shared_region *region)
{
	close(call->reply_fds[0]);
	session_close_shared(call->session, region);
}
