/* SPDX-License-Identifier: MIT */
/* Steps of queue pairs that several programs of this folder take, with cmocka or without. */
#ifndef TESTS_INTEROP_VERBS_QP_STEPS_H
#define TESTS_INTEROP_VERBS_QP_STEPS_H

#include <infiniband/verbs.h>

/* What ibv_modify_qp() must be given on the way to INIT, RTR or RTS, and no more. */
static inline int qp_mask_to(enum ibv_qp_state state, enum ibv_qp_type type)
{
	static const int connected[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN,
	};
	static const int reliable[] = {
		[IBV_QPS_RTR] = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		[IBV_QPS_RTS] = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_MAX_QP_RD_ATOMIC,
	};
	static const int datagram[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN,
	};

	if (type == IBV_QPT_UD)
		return IBV_QP_STATE | datagram[state];
	return IBV_QP_STATE | connected[state] | (type == IBV_QPT_RC ? reliable[state] : 0);
}

/* Brings a connected queue pair from RESET to ERR by INIT. 0, or an errno. */
static inline int qp_end_in_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	int error = ibv_modify_qp(qp, &attributes, qp_mask_to(IBV_QPS_INIT, qp->qp_type));

	attributes.qp_state = IBV_QPS_ERR;
	return error != 0 ? error : ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
}

#endif
