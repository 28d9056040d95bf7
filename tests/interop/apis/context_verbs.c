/* SPDX-License-Identifier: MIT */
/* The objects of libibverbs beside a context: context_verbs ADDRESS. As context_alone otherwise. */
#include "tests/interop/apis/context_check.h"

#include <iwarp_verbs.h>

static char buffer[4096];

/* A region of libibverbs in the context's domain, and the context's region in libibverbs. */
static void test_shares_its_domain(struct iw_ctx_conn *ctx, const struct iw_verbs *verbs)
{
	struct ibv_mr *theirs, *ours;
	struct iw_lmr *lmr;

	REQUIRE(iw_lmr_create(sizeof(buffer), IW_ACCESS_LOCAL_WRITE, &lmr, ctx));
	ours = ibv_import_mr(verbs->pd, rnic_mr_name(lmr->mr));
	REQUIRE_TRUE(ours != NULL);
	REQUIRE_TRUE(ours->lkey == rnic_mr_lkey(lmr->mr));
	theirs = ibv_reg_mr(verbs->pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	REQUIRE_TRUE(theirs != NULL);
	REQUIRE(ibv_dereg_mr(theirs));
	ibv_unimport_mr(ours);
	REQUIRE(iw_lmr_destroy(lmr, true));
}

int main(int argument_count, char **arguments)
{
	struct ibv_device_attr attributes;
	struct iw_verbs verbs, second;
	struct iw_ctx_conn *ctx;

	if (argument_count != 2)
		return 2;
	REQUIRE(iw_ctx_alloc(arguments[1], 1, NULL, NULL, &ctx));
	EXPECT(-EINVAL, iw_ctx_verbs(NULL, &verbs));
	EXPECT(-EINVAL, iw_ctx_verbs(ctx, NULL));
	REQUIRE(iw_ctx_verbs(ctx, &verbs));
	EXPECT(-EBUSY, iw_ctx_verbs(ctx, &second));
	REQUIRE_TRUE(verbs.qp_num == 0);
	REQUIRE(ibv_query_device(verbs.context, &attributes));
	test_shares_its_domain(ctx, &verbs);
	iw_verbs_close(&verbs);
	iw_ctx_free(ctx);
	return 0;
}
