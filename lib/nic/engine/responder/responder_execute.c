/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/responder/responder_execute.h"

#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/objects/mw.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/progress/receive_wqe.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/ready_list.h"
#include "lib/nic/engine/responder/request_checks.h"
#include "lib/nic/engine/responder/responder_fail.h"

#include <assert.h>
#include <string.h>

/* Out of line: this is not to keep its callers from being inlined. */
__attribute__((noinline)) static enum verdict verdict_of_memory(const struct request *request,
								int error)
{
	const bool is_send = request->packet->row->operation == RNIC_OPERATION_SEND;

	return responder_memory_verdict(request->engine, request->qp, error, is_send);
}

static inline enum verdict write_payload(struct request *request, struct client_region *region,
					 uint64_t offset, const uint8_t *bytes, uint32_t length)
{
	const struct memory_transfer transfer = {
		.region = region,
		.offset = offset,
		.bytes = (uint8_t *)(uintptr_t)bytes, /* only read: engine->writes writes regions */
		.length = length,
	};
	enum placement_origin origin = request->packet->row->operation == RNIC_OPERATION_SEND
					       ? PLACEMENT_SEND
					       : PLACEMENT_WRITE;
	int ret = placement_write(request->engine, request->qp, &transfer, origin,
				  request->packet->psn);

	return ret < 0 ? verdict_of_memory(request, ret) : VERDICT_PASS;
}

enum verdict responder_scatter(struct request *request, uint32_t skip, const uint8_t *bytes,
			       uint32_t left)
{
	const struct responder *responder = &request->qp->responder;

	for (uint32_t i = 0; left > 0; i++) {
		const struct rnic_sge *sge = &responder->receive_sges[i];
		enum verdict verdict;
		uint32_t length;
		uint64_t offset;
		struct mr *mr;

		assert(i < responder->receive.sge_count);
		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		length = sge->length - skip < left ? sge->length - skip : left;
		mr = mr_find(request->engine, sge->lkey, request_receive_pd(request),
			     RNIC_ACCESS_LOCAL_WRITE, sge->address + skip, length, &offset);
		if (mr == NULL)
			return VERDICT_RECEIVE_PROTECTION;
		verdict = write_payload(request, mr->region, offset, bytes, length);
		if (verdict != VERDICT_PASS)
			return verdict;
		/* Making room in the batch may have shown that an earlier packet failed. */
		if (request->qp->state == RNIC_QP_STATE_ERR)
			return VERDICT_PASS;
		bytes += length;
		left -= length;
		skip = 0;
	}
	return VERDICT_PASS;
}

/* The message of `packet`, its last, is in place. */
static void complete_message(struct engine *engine, struct qp *qp, const struct rnic_packet *packet)
{
	bool is_send = packet->row->operation == RNIC_OPERATION_SEND;
	bool has_immediate = (packet->row->headers & RNIC_HEADER_IMMEDIATE) != 0;
	bool has_invalidate = (packet->row->headers & RNIC_HEADER_INVALIDATE) != 0;
	struct cqe cqe = {
		.byte_count = qp->responder.message_bytes,
		.immediate = has_invalidate ? packet->invalidate_rkey : packet->immediate,
		.status = RNIC_WC_SUCCESS,
		.opcode = (uint8_t)(is_send ? RNIC_WC_RECV : RNIC_WC_RECV_RDMA_WITH_IMM),
		.wc_flags = has_immediate    ? RNIC_WC_WITH_IMM
			    : has_invalidate ? RNIC_WC_WITH_INVALIDATE
					     : 0,
		.is_solicited = packet->solicited,
	};

	receive_wqe_complete(engine, qp, &cqe);
}

/* Closes the message of `packet`. */
static void finish_message(struct request *request)
{
	struct engine *engine = request->engine;
	struct qp *qp = request->qp;
	bool has_completion = request->packet->row->operation == RNIC_OPERATION_SEND ||
			      request_needs_receive(request->packet);
	bool is_taken;

	qp->responder.msn = (qp->responder.msn + 1) & RNIC_PSN_MASK;
	qp->responder.open_operation = RNIC_OPERATION_NONE;
	if (!has_completion)
		return;
	is_taken = receive_wqe_try_take(request->qp, request->srq);
	assert(is_taken);
	complete_message(engine, qp, request->packet);
}

/* Invalidates what the SEND names, if anything, once its payload is in place. */
static void responder_execute_invalidate(struct request *request)
{
	if ((request->packet->row->headers & RNIC_HEADER_INVALIDATE) == 0)
		return;
	placement_run(request->engine);
	if (request->qp->state != RNIC_QP_STATE_ERR)
		mw_invalidate(request->qp, request->packet->invalidate_rkey);
}

static enum verdict execute_send(struct request *request)
{
	struct responder *responder = &request->qp->responder;
	const struct rnic_packet *packet = request->packet;
	enum verdict verdict;

	if (request_is_first(packet)) {
		bool is_taken = receive_wqe_try_take(request->qp, request->srq);

		assert(is_taken);
		responder->open_operation = RNIC_OPERATION_SEND;
		responder->message_bytes = 0;
	}
	verdict = responder_scatter(request, responder->message_bytes, packet->payload,
				    packet->payload_bytes);
	if (verdict != VERDICT_PASS || request->qp->state == RNIC_QP_STATE_ERR)
		return verdict;
	responder->message_bytes += packet->payload_bytes;
	if (!request_is_last(packet))
		return VERDICT_PASS;
	responder_execute_invalidate(request);
	if (request->qp->state == RNIC_QP_STATE_ERR)
		return VERDICT_PASS;
	request->engine->counters[COUNTER_SEND_REQUESTS]++;
	finish_message(request);
	return VERDICT_PASS;
}

static enum verdict execute_write(struct request *request)
{
	struct responder *responder = &request->qp->responder;
	const struct rnic_packet *packet = request->packet;

	if (request_is_first(packet)) {
		responder->open_operation = RNIC_OPERATION_WRITE;
		responder->message_bytes = 0;
		responder->write_length = packet->reth.length;
		responder->write_rkey = packet->reth.rkey;
		responder->write_address = packet->reth.address;
	}
	if (packet->payload_bytes > 0) {
		enum verdict verdict =
			write_payload(request, request->mr->region, request->region_offset,
				      packet->payload, packet->payload_bytes);

		if (verdict != VERDICT_PASS || request->qp->state == RNIC_QP_STATE_ERR)
			return verdict;
	}
	responder->message_bytes += packet->payload_bytes;
	responder->write_address += packet->payload_bytes;
	if (request_is_last(packet)) {
		assert(responder->message_bytes == responder->write_length);
		request->engine->counters[COUNTER_WRITE_REQUESTS]++;
		finish_message(request);
	}
	return VERDICT_PASS;
}

/* Remembers a request that is not merely acknowledged; its answer is owed from now on. */
static struct responder_resource *remember(struct request *request, uint32_t packets)
{
	struct responder *responder = &request->qp->responder;
	struct responder_resource *responder_resource =
		responder_resources_add(&responder->resources);

	responder->msn = (responder->msn + 1) & RNIC_PSN_MASK;
	responder_resource->operation = request->packet->row->operation;
	responder_resource->psn = request->packet->psn;
	responder_resource->packets = packets;
	responder_resource->msn = responder->msn;
	responder_resource->is_pending = true;
	responder_resource->answer.end_packet = packets;
	ready_list_add(request->qp);
	return responder_resource;
}

static enum verdict execute_read(struct request *request)
{
	const struct rnic_reth *reth = &request->packet->reth;
	uint32_t packets = qp_packets_for(request->qp, reth->length);
	struct responder_resource *responder_resource = remember(request, packets);

	responder_resource->rkey = reth->rkey;
	responder_resource->srqn = request->packet->xrc_srqn;
	responder_resource->address = reth->address;
	responder_resource->length = reth->length;
	responder_resource->answer.end_bytes = reth->length;
	request->qp->responder.expected_psn = rnic_psn_add(request->packet->psn, (int32_t)packets);
	request->engine->counters[COUNTER_READ_REQUESTS]++;
	return VERDICT_PASS;
}

/* Executed here and now, after all that came before; only the answer waits its turn. */
static enum verdict execute_atomic(struct request *request)
{
	const struct rnic_atomic_header *atomic = &request->packet->atomic;
	struct client_region *region = request->mr->region;
	struct responder_resource *responder_resource;
	uint64_t original;
	int ret;

	placement_run(request->engine);
	if (request->qp->state == RNIC_QP_STATE_ERR)
		return VERDICT_PASS;
	if (request->packet->row->operation == RNIC_OPERATION_COMPARE_SWAP)
		ret = region->ops->compare_swap(region, request->region_offset, atomic->compare,
						atomic->swap_or_add, &original);
	else
		ret = region->ops->fetch_add(region, request->region_offset, atomic->swap_or_add,
					     &original);
	if (ret < 0)
		return verdict_of_memory(request, ret);
	request->engine->counters[COUNTER_ATOMIC_REQUESTS]++;
	responder_resource = remember(request, 1);
	responder_resource->original = original;
	return VERDICT_PASS;
}

/* Its 8 bytes are put in place at once, after all that came before. */
static enum verdict execute_atomic_write(struct request *request)
{
	struct client_region *region = request->mr->region;
	uint64_t value;
	int ret;

	placement_run(request->engine);
	if (request->qp->state == RNIC_QP_STATE_ERR)
		return VERDICT_PASS;
	memcpy(&value, request->packet->payload, sizeof(value));
	ret = region->ops->store(region, request->region_offset, value);
	if (ret < 0)
		return verdict_of_memory(request, ret);
	request->engine->counters[COUNTER_ATOMIC_REQUESTS]++;
	remember(request, 1);
	return VERDICT_PASS;
}

/* What was put in place is visible to all; no region claims that it survives a loss of power. */
static enum verdict execute_flush(struct request *request)
{
	placement_run(request->engine);
	if (request->qp->state == RNIC_QP_STATE_ERR)
		return VERDICT_PASS;
	request->engine->counters[COUNTER_FLUSH_REQUESTS]++;
	remember(request, 1);
	return VERDICT_PASS;
}

static enum verdict (*const executions[RNIC_OPERATION_COUNT])(struct request *request) = {
#define RNIC_REQUEST(operation_, rights_, length_, key_, answer_, execution_)                      \
	[RNIC_OPERATION_##operation_] = execute_##execution_,
#include "proto/base/operations.def"
};

enum verdict responder_execute(struct request *request)
{
	return executions[request->packet->row->operation](request);
}
