/* SPDX-License-Identifier: MIT */
/*
 * What a modify does with the value of each attribute, as a table. ib_core decides for every RoCE
 * device of Linux: it masks PSNs and refuses alternate paths (_ib_modify_qp(), Linux 6.12). It
 * leaves the other values to the device. mlx5 writes them into fields of so many bits as the table
 * keeps, and refuses the numbers that the table refuses; rdma_rxe takes most of them as they are.
 */
#ifndef LIB_NIC_ENGINE_VERBS_QP_ATTRIBUTES_H
#define LIB_NIC_ENGINE_VERBS_QP_ATTRIBUTES_H

#include "proto/base/verbs_types.h"

#include <stdint.h>

/* Those of a queue pair in RESET. A path MTU of 0 would be no member of enum ibv_mtu. */
extern const struct rnic_qp_attributes qp_attributes_at_reset;

/* The first attribute in `mask` (a bit of it) whose value is refused; 0 when there is none. */
uint32_t qp_attributes_refused(const struct rnic_qp_attributes *attributes, uint32_t mask);

/* Copies what `mask` names, each number with as many bits as the device keeps of it. */
void qp_attributes_take(struct rnic_qp_attributes *to, const struct rnic_qp_attributes *from,
			uint32_t mask);

#endif
