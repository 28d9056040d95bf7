/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/requester/gather.h"

#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/packet_builder.h"
#include "lib/nic/engine/qp_state.h"

#include <assert.h>

static enum verdict gather_sges(struct engine *engine, struct qp *qp, uint32_t index,
				uint32_t offset, uint32_t length, struct payload_piece *pieces,
				uint32_t *piece_count)
{
	const struct send_wqe *wqe = send_queue_at(&qp->send_queue, index);
	const struct rnic_sge *sges = send_queue_sges(&qp->send_queue, index);
	uint32_t access = wqe_operation(wqe)->sge_access;
	uint32_t count = 0;

	for (uint32_t i = 0; i < wqe->sge_count && length > 0; i++) {
		uint64_t region_offset;
		uint32_t bytes;
		struct mr *mr;

		if (offset >= sges[i].length) {
			offset -= sges[i].length;
			continue;
		}
		bytes = sges[i].length - offset < length ? sges[i].length - offset : length;
		mr = mr_find(engine, sges[i].lkey, qp->pd, access, sges[i].address + offset, bytes,
			     &region_offset);
		if (mr == NULL)
			return VERDICT_LOCAL_PROTECTION;
		pieces[count++] = (struct payload_piece){
			.region = mr->region,
			.offset = region_offset,
			.length = bytes,
		};
		length -= bytes;
		offset = 0;
	}
	assert(length == 0);
	*piece_count = count;
	return VERDICT_PASS;
}

enum verdict gather_bytes(struct engine *engine, struct qp *qp, uint32_t index, uint32_t offset,
			  uint32_t length, struct payload_piece *pieces, uint32_t *piece_count)
{
	const struct send_wqe *wqe = send_queue_at(&qp->send_queue, index);

	if (!(wqe->flags & RNIC_SEND_INLINE))
		return gather_sges(engine, qp, index, offset, length, pieces, piece_count);
	*piece_count = length == 0 ? 0 : 1;
	if (length > 0)
		pieces[0] = (struct payload_piece){
			.inline_bytes = wqe->inline_bytes + offset,
			.length = length,
		};
	return VERDICT_PASS;
}

enum verdict gather_check_sges(struct engine *engine, struct qp *qp, uint32_t index)
{
	const struct send_wqe *wqe = send_queue_at(&qp->send_queue, index);
	const struct rnic_sge *sges = send_queue_sges(&qp->send_queue, index);

	for (uint32_t i = 0; i < wqe->sge_count; i++) {
		uint64_t offset;

		if (sges[i].length > 0 &&
		    mr_find(engine, sges[i].lkey, qp->pd, wqe_operation(wqe)->sge_access,
			    sges[i].address, sges[i].length, &offset) == NULL)
			return VERDICT_LOCAL_PROTECTION;
	}
	return VERDICT_PASS;
}
