/* SPDX-License-Identifier: MIT */
/*
 * The state diagram of queue pairs as data: [from][to] -> allowed, and by service the attributes
 * that must and that may be given (IBTA 1.4, 10.3.1 and 11.2.5.2).
 */
#ifndef LIB_NIC_ENGINE_VERBS_QP_TRANSITION_H
#define LIB_NIC_ENGINE_VERBS_QP_TRANSITION_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether a QP of `type` may go from `from` to `to` with the attributes in `mask`: the transition
 * exists, all required attributes are there, and none that is neither required nor optional.
 */
bool qp_transition_check(enum rnic_qp_type type, enum rnic_qp_state from, enum rnic_qp_state to,
			 uint32_t mask);

/* Stores which attributes that transition must and may have (STATE is in neither); false when there
 * is no such transition. */
bool qp_transition_masks(enum rnic_qp_type type, enum rnic_qp_state from, enum rnic_qp_state to,
			 uint32_t *required, uint32_t *optional);

#endif
