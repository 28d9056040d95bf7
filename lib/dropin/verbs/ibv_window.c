/* SPDX-License-Identifier: MIT */
/* Memory windows, whose verbs are inline and come here through the context. */
#include "lib/client/native/rnic_post.h"
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <errno.h>
#include <stdlib.h>

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct rnic_verbs_mw *mw = calloc(1, sizeof(*mw));
	int error;

	if (mw == NULL)
		return rnic_verbs_null(ENOMEM);
	error = rnic_verbs_check_pd(pd);
	if (error == 0)
		error = rnic_alloc_mw(rnic_verbs_pd(pd)->native, (enum rnic_mw_type)type,
				      &mw->native);
	if (error != 0) {
		free(mw);
		return rnic_verbs_null(-error);
	}
	mw->mw = (struct ibv_mw){
		.context = pd->context,
		.pd = pd,
		.rkey = rnic_mw_rkey(mw->native),
		.type = type,
	};
	mw->made = rnic_verbs_made(pd->context, 0);
	return &mw->mw;
}

static int dealloc_mw(struct ibv_mw *ibv)
{
	struct rnic_verbs_mw *mw = rnic_verbs_mw(ibv);
	int error = rnic_verbs_check_mw(ibv);

	if (error == 0)
		error = rnic_dealloc_mw(mw->native);
	if (error == 0)
		free(mw);
	return rnic_verbs_errno(error);
}

/*
 * A window of type 1, which ibv_bind_mw() has checked: this library chooses the key, which is good
 * at once.
 */
static int bind_mw(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct rnic_qp *qp = rnic_verbs_qp(ibv)->native;
	struct rnic_send_wqe wqe = {
		.wr_id = bind->wr_id,
		.opcode = RNIC_WR_BIND_MW,
		.flags = rnic_verbs_send_flags(bind->send_flags),
	};
	int error = rnic_verbs_are_send_flags_served((unsigned)bind->send_flags) ? 0 : -EINVAL;

	if (error == 0)
		error = rnic_send_begin(qp);
	if (error != 0)
		return rnic_verbs_errno(error);
	error = rnic_verbs_bind(mw, ibv_inc_rkey(mw->rkey), &bind->bind_info, &wqe);
	if (error == 0)
		error = rnic_send_append(qp, &wqe, NULL, 0);
	rnic_send_end(qp);
	if (error == 0)
		mw->rkey = wqe.rkey;
	return rnic_verbs_errno(error);
}

void rnic_verbs_fill_windows(struct ibv_context_ops *ops)
{
	ops->alloc_mw = alloc_mw;
	ops->dealloc_mw = dealloc_mw;
	ops->bind_mw = bind_mw;
}
