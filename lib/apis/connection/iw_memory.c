/* SPDX-License-Identifier: MIT */
/* Local regions. */
#include "lib/apis/connection/iw_objects.h"

#include <errno.h>
#include <stdlib.h>

#define ALL_RIGHTS (IW_ACCESS_LOCAL_WRITE | IW_ACCESS_REMOTE_WRITE | IW_ACCESS_REMOTE_READ)

/* Registers a region in the context's domain. */
static int register_in(struct iw_ctx_conn *ctx, void *addr, size_t length, uint32_t access_flags,
		       struct iw_lmr **registered)
{
	struct iw_lmr *lmr = malloc(sizeof(*lmr));
	int error;

	if (lmr == NULL)
		return -ENOMEM;
	*lmr = (struct iw_lmr){
		.address = addr,
		.length = length,
		.access_flags = access_flags,
	};
	error = rnic_reg_mr(ctx->pd->native, addr, length, (uintptr_t)addr, access_flags, &lmr->mr);
	if (error != 0) {
		free(lmr);
		return error;
	}
	lmr->pd = rnic_iw_pd_hold(ctx->pd);
	*registered = lmr;
	return 0;
}

static int iw_memory_check(const struct iw_ctx_conn *ctx, size_t length, uint32_t access_flags,
			   struct iw_lmr **out)
{
	return ctx == NULL || out == NULL || length == 0 ||
			       (access_flags & ~(uint32_t)ALL_RIGHTS) != 0
		       ? -EINVAL
		       : 0;
}

int rnic_iw_lmr_register(void *addr, size_t length, uint32_t access_flags,
			 struct iw_lmr **iw_lmr_out, struct iw_ctx_conn *ctx)
{
	int error = iw_memory_check(ctx, length, access_flags, iw_lmr_out);

	if (error == 0)
		error = rnic_iw_find_daemon(ctx);
	if (error == 0)
		error = register_in(ctx, addr, length, access_flags, iw_lmr_out);
	return error;
}

int rnic_iw_lmr_create(size_t length, uint32_t access_flags, struct iw_lmr **iw_lmr_out,
		       struct iw_ctx_conn *ctx)
{
	void *memory;
	int error = iw_memory_check(ctx, length, access_flags, iw_lmr_out);

	if (error == 0)
		error = rnic_iw_find_daemon(ctx);
	if (error == 0)
		error = rnic_alloc(ctx->pd->context, length, &memory);
	if (error != 0)
		return error;
	error = register_in(ctx, memory, length, access_flags, iw_lmr_out);
	if (error != 0)
		rnic_free(ctx->pd->context, memory);
	return error;
}

int rnic_iw_lmr_destroy(struct iw_lmr *lmr, bool free_buf)
{
	int error;

	if (lmr == NULL)
		return -EINVAL;
	error = rnic_dereg_mr(lmr->mr);
	if (error != 0)
		return error;
	if (free_buf && rnic_free(lmr->pd->context, lmr->address) == -EINVAL)
		free(lmr->address);
	rnic_iw_pd_free(lmr->pd);
	free(lmr);
	return 0;
}
