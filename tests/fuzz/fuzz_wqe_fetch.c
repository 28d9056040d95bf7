/* SPDX-License-Identifier: MIT */
/*
 * WQEs as a client may write them, for QPs of all types and for receive queues, shared or not: of
 * any bytes WQE fetch makes a sound WQE or one marked as malformed. The first four bytes choose the
 * capacities.
 */
#include "daemon/device/queues/wqe_fetch.h"

#include "lib/nic/engine/objects/recv_queue.h"
#include "proto/base/operation.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool may_be_inline(uint8_t opcode)
{
	return opcode <= RNIC_WR_SEND_WITH_IMM || opcode == RNIC_WR_SEND_WITH_INVALIDATE ||
	       opcode == RNIC_WR_ATOMIC_WRITE;
}

static void check_send(const struct rnic_send_wqe *entry, uint8_t type,
		       const struct rnic_qp_capacities *capacities)
{
	struct send_wqe wqe;

	wqe_fetch_check_send(entry, type, capacities, &wqe);
	assert(wqe.wr_id == entry->wr_id);
	assert(wqe.sge_count <= capacities->max_send_sge);
	assert(wqe.length <= capacities->max_inline_bytes);
	if ((wqe.flags & RNIC_SEND_INLINE) != 0)
		assert(wqe.sge_count == 0 && may_be_inline(wqe.opcode));
	if (wqe.opcode == WQE_FETCH_BAD_OPCODE || wqe.opcode == RNIC_WR_BIND_MW ||
	    wqe.opcode == RNIC_WR_FLUSH || wqe.opcode == RNIC_WR_LOCAL_INVALIDATE)
		assert(wqe.sge_count == 0 && wqe.length == 0);
	if (wqe.opcode == RNIC_WR_BIND_MW)
		assert(type == RNIC_QP_TYPE_RC || type == RNIC_QP_TYPE_UC);
	if (wqe.opcode == RNIC_WR_FLUSH || wqe.opcode == RNIC_WR_ATOMIC_WRITE)
		assert(type == RNIC_QP_TYPE_RC || type == RNIC_QP_TYPE_XRC_INITIATOR);
	if (type == RNIC_QP_TYPE_UD && wqe.opcode != WQE_FETCH_BAD_OPCODE)
		assert(wqe.opcode == RNIC_WR_SEND || wqe.opcode == RNIC_WR_SEND_WITH_IMM);
}

static void check_recv(const struct rnic_recv_wqe *entry, uint32_t sge_max)
{
	struct recv_wqe wqe;

	wqe_fetch_check_recv(entry, sge_max, &wqe);
	assert(wqe.wr_id == entry->wr_id && wqe.sge_count <= sge_max);
	assert(!wqe.invalid || wqe.sge_count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rnic_qp_capacities capacities = {0};
	struct rnic_sge sges[RNIC_SGE_COUNT_MAX] = {0};
	struct rnic_send_wqe send = {0};
	struct rnic_recv_wqe recv = {0};

	if (size < 4)
		return 0;
	capacities.max_send_sge = data[0] % (RNIC_SGE_COUNT_MAX + 1);
	capacities.max_recv_sge = data[1] % (RNIC_SGE_COUNT_MAX + 1);
	capacities.max_inline_bytes = (uint32_t)data[2] << (data[3] % 3);
	data += 4;
	size -= 4;
	memcpy(&send, data, size < sizeof(send) ? size : sizeof(send));
	memcpy(&recv, data, size < sizeof(recv) ? size : sizeof(recv));
	memcpy(sges, data, size < sizeof(sges) ? size : sizeof(sges));
	for (uint8_t type = RNIC_QP_TYPE_RC; type <= RNIC_QP_TYPE_XRC_TARGET; type++)
		check_send(&send, type, &capacities);
	check_recv(&recv, capacities.max_recv_sge);
	assert(rnic_sges_bytes_saturated(sges, RNIC_SGE_COUNT_MAX) >= sges[0].length);
	return 0;
}
