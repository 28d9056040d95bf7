/* SPDX-License-Identifier: MIT */
/* The SGEs of send WQEs as pieces of client memory. */
#ifndef LIB_NIC_ENGINE_REQUESTER_GATHER_H
#define LIB_NIC_ENGINE_REQUESTER_GATHER_H

#include "lib/nic/engine/verdict.h"

#include <stdint.h>

struct engine;
struct payload_piece;
struct qp;

/*
 * The bytes [offset, offset + length) of the message of WQE `index` as pieces of its SGEs (or of
 * its inline data). `pieces` has room for LIMIT_SGES. PASS, or LOCAL_PROTECTION when an SGE's
 * region does not, or no longer, allow the WQE's operation.
 */
enum verdict gather_bytes(struct engine *engine, struct qp *qp, uint32_t index, uint32_t offset,
			  uint32_t length, struct payload_piece *pieces, uint32_t *piece_count);

/* Checks all SGEs of WQE `index`; IBTA 1.4, 10.6.3 and 11.4.1.1. */
enum verdict gather_check_sges(struct engine *engine, struct qp *qp, uint32_t index);

#endif
