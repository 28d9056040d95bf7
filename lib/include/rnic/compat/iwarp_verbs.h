/* SPDX-License-Identifier: MIT */
/*
 * The objects of libibverbs beside a context of <rnic/connection.h>, for what that interface does
 * not have. Link with -libverbs, and run under rnic-run, so that the libibverbs is rnicd's.
 *
 * The function stands in this header, so that librnic-connection needs no libibverbs.
 */
#ifndef RNIC_COMPAT_IWARP_VERBS_H
#define RNIC_COMPAT_IWARP_VERBS_H

#include <rnic/connection.h>

#include <errno.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct iw_verbs {
	struct ibv_context *context; /* of the same device */
	struct ibv_pd *pd;	     /* the context's domain, imported */
	uint32_t qp_num;	     /* of the context's queue pair; 0: it has none */
};

/*
 * Opens the objects of libibverbs for a context; iw_verbs_close() ends them, before the context.
 * Regions, address handles and queue pairs can be made from them. Once for each domain: contexts
 * with a shared domain share these too.
 * -EINVAL: NULL. -EBUSY: they are open already. -EOPNOTSUPP: another libibverbs is loaded. Other
 * errors are those of iw_ctx_share() and ibv_import_device(3).
 */
static inline int iw_ctx_verbs(const struct iw_ctx_conn *iw_ctx, struct iw_verbs *verbs)
{
	struct iw_verbs made = {NULL, NULL, 0};
	struct iw_natives natives;
	int error = verbs != NULL ? rnic_iw_ctx_natives(iw_ctx, &natives) : -EINVAL;
	int fd;

	if (error == 0)
		error = rnic_iw_ctx_share(iw_ctx, &fd);
	if (error != 0)
		return error;
	made.context = ibv_import_device(fd); /* which takes the descriptor over */
	if (made.context == NULL) {
		error = errno;
		close(fd);
		return -error;
	}
	made.pd = ibv_import_pd(made.context, rnic_pd_name(natives.pd));
	if (made.pd == NULL) {
		error = errno;
		ibv_close_device(made.context);
		return -error;
	}
	made.qp_num = natives.qp != NULL ? rnic_qp_number(natives.qp) : 0;
	*verbs = made;
	return 0;
}

static inline void iw_verbs_close(struct iw_verbs *verbs)
{
	ibv_unimport_pd(verbs->pd);
	ibv_close_device(verbs->context);
}

#ifdef __cplusplus
}
#endif

#endif
