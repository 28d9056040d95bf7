/* SPDX-License-Identifier: MIT */
#include "shm/wqe.h"

#define RC	  (1U << RNIC_QP_TYPE_RC)
#define UC	  (1U << RNIC_QP_TYPE_UC)
#define UD	  (1U << RNIC_QP_TYPE_UD)
#define XRC	  (1U << RNIC_QP_TYPE_XRC_INITIATOR)
#define RELIABLE  (RC | XRC)
#define CONNECTED (RELIABLE | UC)

/* IBTA 1.4, table 37. An XRC initiator answers no requests, so that a window would serve nobody. */
static const uint32_t types[RNIC_WR_OPCODE_COUNT] = {
	[RNIC_WR_RDMA_WRITE] = CONNECTED,
	[RNIC_WR_RDMA_WRITE_WITH_IMM] = CONNECTED,
	[RNIC_WR_SEND] = CONNECTED | UD,
	[RNIC_WR_SEND_WITH_IMM] = CONNECTED | UD,
	[RNIC_WR_SEND_WITH_INVALIDATE] = RC,
	[RNIC_WR_LOCAL_INVALIDATE] = RC | UC,
	[RNIC_WR_BIND_MW] = RC | UC,
	[RNIC_WR_FLUSH] = RELIABLE,
	[RNIC_WR_ATOMIC_WRITE] = RELIABLE,
	[RNIC_WR_RDMA_READ] = RELIABLE,
	[RNIC_WR_ATOMIC_COMPARE_SWAP] = RELIABLE,
	[RNIC_WR_ATOMIC_FETCH_ADD] = RELIABLE,
};

bool rnic_wqe_is_known(uint8_t opcode)
{
	return opcode < RNIC_WR_OPCODE_COUNT && types[opcode] != 0;
}

bool rnic_wqe_is_of_type(uint8_t opcode, uint8_t qp_type)
{
	return rnic_wqe_is_known(opcode) && (types[opcode] & 1U << qp_type) != 0;
}

bool rnic_wqe_has_operands(uint8_t opcode)
{
	return opcode == RNIC_WR_ATOMIC_COMPARE_SWAP || opcode == RNIC_WR_ATOMIC_FETCH_ADD ||
	       opcode == RNIC_WR_FLUSH;
}
