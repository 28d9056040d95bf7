/* SPDX-License-Identifier: MIT */
#define RNIC_NATIVE_IS_DEFINED_HERE
#include "lib/dropin/verbs/ibv_native.h"

#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_objects.h"
#include "lib/dropin/verbs/ibv_translate.h"

static int native_connect_qp(struct ibv_qp *qp, const struct rnic_qp_attributes *attributes,
			     uint32_t receive_mask, uint32_t send_mask)
{
	int error = rnic_verbs_check_qp(qp);

	if (error != 0)
		return error;
	error = rnic_connect_qp(rnic_verbs_qp(qp)->native, attributes,
				(uint32_t)rnic_verbs_qp_mask(qp->qp_type, (int)receive_mask),
				(uint32_t)rnic_verbs_qp_mask(qp->qp_type, (int)send_mask));
	if (error == 0)
		qp->state = IBV_QPS_RTS;
	return error;
}

#define ENTRY(function) .function = rnic_##function,

const struct rnic_native_table rnic_native = {.bytes = sizeof(rnic_native),
					      .context = rnic_verbs_native,
					      .ah_attr = rnic_verbs_ah_attr,
					      .connect_qp = native_connect_qp,
					      .qp_attr = rnic_verbs_qp_attr,
					      RNIC_NATIVE_FUNCTIONS(ENTRY)};
