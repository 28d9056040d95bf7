/* SPDX-License-Identifier: MIT */
/* XRC domains; their queues are in ibv_qp.c and ibv_srq.c. */
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

struct ibv_xrcd *rnic_verbs_open_xrcd(struct ibv_context *context,
				      struct ibv_xrcd_init_attr *attributes)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	const struct rnic_xrcd_options options = {
		.file_fd = attributes->fd,
		.may_create = (attributes->oflags & O_CREAT) != 0,
		.must_create = (attributes->oflags & O_EXCL) != 0,
	};
	struct rnic_verbs_xrcd *xrcd;
	int error;

	if ((attributes->comp_mask & ~needed) != 0)
		return rnic_verbs_null(EOPNOTSUPP);
	if ((attributes->comp_mask & needed) != needed || attributes->fd < -1 ||
	    (attributes->oflags & ~(O_CREAT | O_EXCL)) != 0)
		return rnic_verbs_null(EINVAL);
	xrcd = calloc(1, sizeof(*xrcd));
	if (xrcd == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_open_xrcd(rnic_verbs_native(context), &options, &xrcd->native);
	if (error != 0) {
		free(xrcd);
		return rnic_verbs_null(-error);
	}
	xrcd->xrcd.context = context;
	xrcd->made = rnic_verbs_made(context, 0);
	return &xrcd->xrcd;
}

int rnic_verbs_close_xrcd(struct ibv_xrcd *ibv)
{
	struct rnic_verbs_xrcd *xrcd = rnic_verbs_xrcd(ibv);
	int error = rnic_verbs_check_xrcd(ibv);

	if (error == 0)
		error = rnic_close_xrcd(xrcd->native);
	if (error != 0)
		return rnic_verbs_errno(error);
	free(xrcd);
	return 0;
}
