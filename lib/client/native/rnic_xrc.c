/* SPDX-License-Identifier: MIT */
/* XRC domains; their queues are in rnic_qp.c and rnic_srq.c. */
#include "lib/client/native/refuse_null.h"
#include "lib/client/native/rnic_objects.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t flags_of(const struct rnic_xrcd_options *options)
{
	return (options->file_fd >= 0 ? (uint32_t)RNIC_XRCD_FILE : 0) |
	       (options->may_create ? (uint32_t)RNIC_XRCD_CREATE : 0) |
	       (options->must_create ? (uint32_t)RNIC_XRCD_EXCLUSIVE : 0);
}

int rnic_open_xrcd(struct rnic_context *context, const struct rnic_xrcd_options *options,
		   struct rnic_xrcd **opened)
{
	RNIC_REFUSE_NULL(context, options, opened);
	const struct rnic_ctl_open_xrcd request = {.flags = flags_of(options)};
	struct rnic_ctl_xrcd_reply reply;
	const struct rnic_call call = {
		.operation = RNIC_CTL_OPEN_XRCD,
		.request = &request,
		.request_bytes = sizeof(request),
		.request_fd = options->file_fd >= 0 ? options->file_fd : -1,
		.reply = &reply,
		.reply_bytes = sizeof(reply),
	};
	int error;
	struct rnic_xrcd *xrcd = rnic_object_create(context, &call, sizeof(*xrcd), &error);

	if (xrcd == NULL)
		return rnic_own_device_result(context, error);
	*xrcd = (struct rnic_xrcd){.context = context, .handle = reply.xrcd};
	*opened = xrcd;
	return 0;
}

int rnic_close_xrcd(struct rnic_xrcd *xrcd)
{
	RNIC_REFUSE_NULL(xrcd);
	return rnic_object_destroy(xrcd->context, RNIC_CTL_CLOSE_XRCD, xrcd->handle, xrcd);
}
