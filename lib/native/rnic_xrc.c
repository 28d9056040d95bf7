/* SPDX-License-Identifier: MIT */
/* XRC domains; their queues are in rnic_qp.c and rnic_srq.c. */
#include "native/rnic_objects.h"

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
	struct rnic_xrcd *xrcd = malloc(sizeof(*xrcd));
	int error;

	if (xrcd == NULL)
		return -ENOMEM;
	error = rnic_link_call(&context->link, &call);
	if (error != 0) {
		free(xrcd);
		return error;
	}
	*xrcd = (struct rnic_xrcd){.context = context, .handle = reply.xrcd};
	rnic_context_hold(context);
	*opened = xrcd;
	return 0;
}

int rnic_close_xrcd(struct rnic_xrcd *xrcd)
{
	int error = rnic_link_call_object(&xrcd->context->link, RNIC_CTL_CLOSE_XRCD, xrcd->handle);

	if (error != 0 && rnic_context_lost(xrcd->context) == 0)
		return error;
	rnic_context_release(xrcd->context);
	free(xrcd);
	return 0;
}
