/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/responder/request_checks.h"

#include "lib/nic/engine/objects/mr.h"
#include "lib/nic/engine/objects/mw.h"
#include "lib/nic/engine/objects/srq_queue.h"
#include "lib/nic/engine/objects/xrcd.h"
#include "lib/nic/engine/progress/receive_wqe.h"
#include "lib/nic/engine/qp_state.h"
#include "proto/base/bits.h"

/* The rights that the request needs, of the QP and of the region. */
static uint32_t access_of(const struct rnic_packet *packet)
{
	uint32_t access = rnic_request_operations[packet->row->operation].access;

	if (!(packet->row->headers & RNIC_HEADER_FETH))
		return access;
	if (packet->flush_type & RNIC_FLUSH_GLOBAL)
		access |= RNIC_ACCESS_FLUSH_GLOBAL;
	if (packet->flush_type & RNIC_FLUSH_PERSISTENT)
		access |= RNIC_ACCESS_FLUSH_PERSISTENT;
	return access;
}

/* A FLUSH asks for something, and for nothing that is not defined. */
static bool is_flush_known(const struct rnic_packet *packet)
{
	const uint32_t wanted = RNIC_FLUSH_GLOBAL | RNIC_FLUSH_PERSISTENT;

	return (packet->flush_type & wanted) != 0 &&
	       (packet->flush_type & ~(wanted | RNIC_FLUSH_WHOLE_REGION)) == 0;
}

bool request_needs_receive(const struct rnic_packet *packet)
{
	if (packet->row->operation == RNIC_OPERATION_SEND)
		return request_is_first(packet);
	return (packet->row->headers & RNIC_HEADER_IMMEDIATE) != 0 && request_is_last(packet);
}

static enum verdict check_psn(struct request *request)
{
	int32_t ahead =
		rnic_psn_distance(request->packet->psn, request->qp->responder.expected_psn);

	/* After a gap UC begins anew, which the responder has done by now. */
	if (ahead == 0 || !qp_is_reliable(request->qp))
		return VERDICT_PASS;
	return ahead < 0 ? VERDICT_DUPLICATE : VERDICT_SEQUENCE_GAP;
}

/* An open message is followed by MIDDLE or LAST of its operation, all else by FIRST or ONLY. */
static enum verdict check_sequence(struct request *request)
{
	const struct rnic_packet *packet = request->packet;
	uint8_t open_operation = request->qp->responder.open_operation;

	if (open_operation == RNIC_OPERATION_NONE)
		return request_is_first(packet) ? VERDICT_PASS : VERDICT_BAD_SEQUENCE;
	if (request_is_first(packet) || packet->row->operation != open_operation)
		return VERDICT_BAD_SEQUENCE;
	return VERDICT_PASS;
}

/* XRC, annex A14: every request names an SRQ of the QP's domain, and a message names one. */
static enum verdict check_srq(struct request *request)
{
	const struct responder *responder = &request->qp->responder;

	if (request->qp->xrcd == NULL)
		return VERDICT_PASS;
	request->srq = xrcd_find_srq(request->engine, request->qp->xrcd, request->packet->xrc_srqn);
	if (request->srq == NULL ||
	    (responder->has_receive && request->srq != responder->receive_srq))
		return VERDICT_BAD_SRQ;
	return VERDICT_PASS;
}

static enum verdict check_operation(struct request *request)
{
	const struct rnic_packet *packet = request->packet;
	uint32_t access = access_of(packet);

	if (rnic_request_operations[packet->row->operation].answer == RNIC_ANSWER_NONE)
		return VERDICT_BAD_OPERATION;
	if ((packet->row->headers & RNIC_HEADER_FETH) && !is_flush_known(packet))
		return VERDICT_BAD_OPERATION;
	if ((request->qp->attributes.access_flags & access) != access)
		return VERDICT_BAD_OPERATION;
	return VERDICT_PASS;
}

const struct pd *request_receive_pd(const struct request *request)
{
	return request->srq != NULL ? request->srq->pd : request->qp->pd;
}

/* The protection domain of the request's remote keys: the QP's or, of XRC, the SRQ's. */
static const struct pd *request_remote_pd(const struct request *request)
{
	return request->qp->xrcd != NULL ? request->srq->pd : request->qp->pd;
}

/*
 * Each SGE must begin in its region, and have the `bytes` of the packet that fall into it there.
 * What no message touches may lie beyond: adapters and Linux rxe check bytes as they write them,
 * and perftest 25.01 rounds the entries of an SRQ up to the path MTU. responder_scatter() checks
 * the bytes of later packets.
 */
static enum verdict check_receive_sges(struct request *request, const struct recv_wqe *wqe,
				       const struct rnic_sge *sges, uint32_t bytes)
{
	for (uint32_t i = 0; i < wqe->sge_count; i++) {
		uint32_t used = bytes < sges[i].length ? bytes : sges[i].length;
		uint64_t offset;

		if (sges[i].length > 0 &&
		    mr_find(request->engine, sges[i].lkey, request_receive_pd(request),
			    RNIC_ACCESS_LOCAL_WRITE, sges[i].address, used > 0 ? used : 1,
			    &offset) == NULL)
			return VERDICT_RECEIVE_PROTECTION;
		bytes -= used;
	}
	return VERDICT_PASS;
}

enum verdict request_check_receive(struct request *request, uint32_t bytes)
{
	const struct rnic_sge *sges;
	const struct recv_wqe *wqe = receive_wqe_peek(request->qp, request->srq, &sges);

	if (wqe == NULL)
		return VERDICT_NO_RECEIVE;
	if (wqe->invalid)
		return VERDICT_BAD_RECEIVE;
	/* The immediate of a WRITE goes into the completion; the WQE's SGEs are not used. */
	if (request->packet->row->operation != RNIC_OPERATION_SEND)
		return VERDICT_PASS;
	return check_receive_sges(request, wqe, sges, bytes);
}

static enum verdict check_resources(struct request *request)
{
	if (!request_is_acknowledged(request->packet))
		return responder_resources_has_space(&request->qp->responder.resources)
			       ? VERDICT_PASS
			       : VERDICT_TOO_MANY_READS;
	if (!request_needs_receive(request->packet))
		return VERDICT_PASS;
	return request_check_receive(request, request->packet->payload_bytes);
}

static bool is_payload_right(const struct rnic_packet *packet, uint32_t path_mtu_bytes)
{
	uint32_t bytes = packet->payload_bytes;

	switch ((enum rnic_payload_rule)packet->row->payload) {
	case RNIC_PAYLOAD_NONE:
		return bytes == 0;
	case RNIC_PAYLOAD_FULL:
		return bytes == path_mtu_bytes;
	case RNIC_PAYLOAD_LAST:
		return bytes >= 1 && bytes <= path_mtu_bytes;
	case RNIC_PAYLOAD_ONLY:
		return bytes <= path_mtu_bytes;
	case RNIC_PAYLOAD_EIGHT:
		return bytes == RNIC_ATOMIC_WORD_BYTES;
	}
	return false;
}

static enum verdict check_length_received(struct request *request)
{
	const struct responder *responder = &request->qp->responder;
	const struct recv_wqe *wqe = &responder->receive;
	uint64_t bytes = request->packet->payload_bytes;
	const struct rnic_sge *sges;

	if (request_is_first(request->packet))
		wqe = receive_wqe_peek(request->qp, request->srq, &sges);
	else
		bytes += responder->message_bytes;
	if (bytes > RNIC_MESSAGE_BYTES_MAX)
		return VERDICT_BAD_LENGTH;
	return bytes <= wqe->length ? VERDICT_PASS : VERDICT_RECEIVE_TOO_SHORT;
}

/* The packets of a WRITE carry exactly as many bytes as its RETH says. */
static enum verdict check_length_announced(struct request *request)
{
	const struct responder *responder = &request->qp->responder;
	const struct rnic_packet *packet = request->packet;
	uint64_t bytes = packet->payload_bytes;
	uint64_t announced = packet->reth.length;

	if (!request_is_first(packet)) {
		bytes += responder->message_bytes;
		announced = responder->write_length;
	}
	if (announced > RNIC_MESSAGE_BYTES_MAX)
		return VERDICT_BAD_LENGTH;
	if (request_is_last(packet))
		return bytes == announced ? VERDICT_PASS : VERDICT_BAD_LENGTH;
	return bytes < announced ? VERDICT_PASS : VERDICT_BAD_LENGTH;
}

static enum verdict check_length_asked(struct request *request)
{
	return request->packet->reth.length <= RNIC_MESSAGE_BYTES_MAX ? VERDICT_PASS
								      : VERDICT_BAD_LENGTH;
}

/* The one packet carries all that its RETH announces. */
static enum verdict check_length_whole(struct request *request)
{
	const struct rnic_packet *packet = request->packet;

	return packet->reth.length == packet->payload_bytes ? VERDICT_PASS : VERDICT_BAD_LENGTH;
}

static enum verdict check_length_none(struct request *request)
{
	(void)request;
	return VERDICT_PASS;
}

static enum verdict request_checks_find_region(struct request *request, uint32_t rkey,
					       uint64_t address, uint64_t length)
{
	request->mr = mr_find_remote(request->engine, rkey, request->qp, request_remote_pd(request),
				     access_of(request->packet), address, length,
				     &request->region_offset);
	return request->mr != NULL ? VERDICT_PASS : VERDICT_BAD_RKEY;
}

static enum verdict check_key_none(struct request *request)
{
	(void)request;
	return VERDICT_PASS;
}

/* A READ or WRITE of no bytes does not look at its key at all (IBTA 1.4, C9-88). */
static enum verdict check_key_range(struct request *request)
{
	const struct responder *responder = &request->qp->responder;
	const struct rnic_packet *packet = request->packet;

	if (!request_is_first(packet))
		return request_checks_find_region(request, responder->write_rkey,
						  responder->write_address, packet->payload_bytes);
	if (packet->reth.length == 0)
		return VERDICT_PASS;
	return request_checks_find_region(request, packet->reth.rkey, packet->reth.address,
					  packet->reth.length);
}

/* The word of an atomic operation. A word that is not aligned is refused after a bad key. */
static enum verdict check_key_word(struct request *request)
{
	const struct rnic_packet *packet = request->packet;
	const bool is_atomic = (packet->row->headers & RNIC_HEADER_ATOMIC) != 0;
	uint64_t address = is_atomic ? packet->atomic.address : packet->reth.address;
	enum verdict verdict = request_checks_find_region(
		request, is_atomic ? packet->atomic.rkey : packet->reth.rkey, address,
		RNIC_ATOMIC_WORD_BYTES);

	if (verdict != VERDICT_PASS)
		return verdict;
	return address % RNIC_ATOMIC_WORD_BYTES == 0 ? VERDICT_PASS : VERDICT_MISALIGNED_ATOMIC;
}

static enum verdict check_key_flushed(struct request *request)
{
	const struct rnic_reth *reth = &request->packet->reth;

	if (!(request->packet->flush_type & RNIC_FLUSH_WHOLE_REGION))
		return request_checks_find_region(request, reth->rkey, reth->address, reth->length);
	request->mr = mr_find_remote_whole(request->engine, reth->rkey, request->qp,
					   request_remote_pd(request), access_of(request->packet));
	return request->mr != NULL ? VERDICT_PASS : VERDICT_BAD_RKEY;
}

/* What is checked in another way for each operation: the columns of operations.def. */
static const struct {
	enum verdict (*check_length)(struct request *request);
	enum verdict (*check_key)(struct request *request);
} operation_checks[RNIC_OPERATION_COUNT] = {
#define RNIC_REQUEST(operation_, rights_, length_, key_, ...)                                      \
	[RNIC_OPERATION_##operation_] = {check_length_##length_, check_key_##key_},
#include "proto/base/operations.def"
};

static enum verdict check_length(struct request *request)
{
	const struct rnic_packet *packet = request->packet;

	if (!is_payload_right(packet, request->qp->path_mtu_bytes))
		return VERDICT_BAD_LENGTH;
	return operation_checks[packet->row->operation].check_length(request);
}

/* Every packet looks the key up: the region may be deregistered in the middle of a message. */
static enum verdict check_key(struct request *request)
{
	return operation_checks[request->packet->row->operation].check_key(request);
}

static enum verdict check_invalidate(struct request *request)
{
	if ((request->packet->row->headers & RNIC_HEADER_INVALIDATE) == 0)
		return VERDICT_PASS;
	return mw_can_invalidate(request->qp, request->packet->invalidate_rkey)
		       ? VERDICT_PASS
		       : VERDICT_BAD_INVALIDATE;
}

static enum verdict (*const checks[])(struct request *) = {
	check_psn,	 check_sequence, check_srq, check_operation,
	check_resources, check_length,	 check_key, check_invalidate,
};

enum verdict request_check(struct request *request)
{
	for (uint32_t i = 0; i < RNIC_COUNT_OF(checks); i++) {
		enum verdict verdict = checks[i](request);

		if (verdict != VERDICT_PASS)
			return verdict;
	}
	return VERDICT_PASS;
}
