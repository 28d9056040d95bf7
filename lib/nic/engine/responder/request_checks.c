/* SPDX-License-Identifier: MIT */
#include "engine/responder/request_checks.h"

#include "base/bits.h"
#include "engine/objects/mr.h"
#include "engine/objects/mw.h"
#include "engine/objects/qp.h"
#include "engine/objects/srq.h"
#include "engine/objects/xrcd.h"

/* What a QP must allow, and a region must grant, for each operation of the wire. */
static const struct {
	bool is_built;
	uint32_t access;
} operations[RNIC_OPERATION_COUNT] = {
	[RNIC_OPERATION_SEND] = {true, 0},
	[RNIC_OPERATION_WRITE] = {true, RNIC_ACCESS_REMOTE_WRITE},
	[RNIC_OPERATION_READ_REQUEST] = {true, RNIC_ACCESS_REMOTE_READ},
	[RNIC_OPERATION_COMPARE_SWAP] = {true, RNIC_ACCESS_REMOTE_ATOMIC},
	[RNIC_OPERATION_FETCH_ADD] = {true, RNIC_ACCESS_REMOTE_ATOMIC},
	[RNIC_OPERATION_FLUSH] = {true, 0}, /* depends on its type, see access_of() */
	[RNIC_OPERATION_ATOMIC_WRITE] = {true, RNIC_ACCESS_REMOTE_WRITE},
};

/* The rights that the request needs, of the QP and of the region. */
static uint32_t access_of(const struct rnic_packet *packet)
{
	uint32_t access = operations[packet->row->operation].access;

	if (packet->row->operation != RNIC_OPERATION_FLUSH)
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
	uint8_t operation = request->packet->row->operation;
	uint32_t access = access_of(request->packet);

	if (!operations[operation].is_built)
		return VERDICT_BAD_OPERATION;
	if (operation == RNIC_OPERATION_FLUSH && !is_flush_known(request->packet))
		return VERDICT_BAD_OPERATION;
	if ((request->qp->attributes.access_flags & access) != access)
		return VERDICT_BAD_OPERATION;
	return VERDICT_PASS;
}

const struct pd *request_receive_pd(const struct request *request)
{
	return request->srq != NULL ? request->srq->pd : request->qp->pd;
}

const struct pd *request_remote_pd(const struct request *request)
{
	return request->qp->xrcd != NULL ? request->srq->pd : request->qp->pd;
}

static enum verdict check_receive_sges(struct request *request, const struct recv_wqe *wqe,
				       const struct rnic_sge *sges)
{
	for (uint32_t i = 0; i < wqe->sge_count; i++) {
		uint64_t offset;

		if (sges[i].length > 0 &&
		    mr_find(request->engine, sges[i].lkey, request_receive_pd(request),
			    RNIC_ACCESS_LOCAL_WRITE, sges[i].address, sges[i].length,
			    &offset) == NULL)
			return VERDICT_RECEIVE_PROTECTION;
	}
	return VERDICT_PASS;
}

enum verdict request_check_receive(struct request *request)
{
	const struct rnic_sge *sges;
	const struct recv_wqe *wqe = responder_peek_receive(request, &sges);

	if (wqe == NULL)
		return VERDICT_NO_RECEIVE;
	if (wqe->invalid)
		return VERDICT_BAD_RECEIVE;
	/* The immediate of a WRITE goes into the completion; the entry's SGEs are not used. */
	if (request->packet->row->operation != RNIC_OPERATION_SEND)
		return VERDICT_PASS;
	return check_receive_sges(request, wqe, sges);
}

static enum verdict check_resources(struct request *request)
{
	switch (request->packet->row->operation) {
	case RNIC_OPERATION_READ_REQUEST:
	case RNIC_OPERATION_COMPARE_SWAP:
	case RNIC_OPERATION_FETCH_ADD:
	case RNIC_OPERATION_FLUSH:
	case RNIC_OPERATION_ATOMIC_WRITE:
		if (!responder_resources_has_space(&request->qp->responder.resources))
			return VERDICT_TOO_MANY_READS;
		return VERDICT_PASS;
	default:
		break;
	}
	return request_needs_receive(request->packet) ? request_check_receive(request)
						      : VERDICT_PASS;
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
		return bytes == 8;
	}
	return false;
}

static enum verdict check_send_length(struct request *request)
{
	const struct responder *responder = &request->qp->responder;
	const struct recv_wqe *wqe = &responder->receive;
	uint64_t bytes = request->packet->payload_bytes;
	const struct rnic_sge *sges;

	if (request_is_first(request->packet))
		wqe = responder_peek_receive(request, &sges);
	else
		bytes += responder->message_bytes;
	if (bytes > RNIC_MESSAGE_BYTES_MAX)
		return VERDICT_BAD_LENGTH;
	return bytes <= wqe->length ? VERDICT_PASS : VERDICT_RECEIVE_TOO_SHORT;
}

/* The packets of a WRITE carry exactly as many bytes as its RETH says. */
static enum verdict check_write_length(struct request *request)
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

static enum verdict check_length(struct request *request)
{
	const struct rnic_packet *packet = request->packet;

	if (!is_payload_right(packet, request->qp->path_mtu_bytes))
		return VERDICT_BAD_LENGTH;
	switch (packet->row->operation) {
	case RNIC_OPERATION_SEND:
		return check_send_length(request);
	case RNIC_OPERATION_WRITE:
		return check_write_length(request);
	case RNIC_OPERATION_READ_REQUEST:
		return packet->reth.length <= RNIC_MESSAGE_BYTES_MAX ? VERDICT_PASS
								     : VERDICT_BAD_LENGTH;
	case RNIC_OPERATION_ATOMIC_WRITE:
		return packet->reth.length == packet->payload_bytes ? VERDICT_PASS
								    : VERDICT_BAD_LENGTH;
	default:
		return VERDICT_PASS;
	}
}

static enum verdict request_checks_find_region(struct request *request, uint32_t rkey,
					       uint64_t address, uint64_t length)
{
	request->mr = mr_find_remote(request->engine, rkey, request->qp, request_remote_pd(request),
				     access_of(request->packet), address, length,
				     &request->region_offset);
	return request->mr != NULL ? VERDICT_PASS : VERDICT_BAD_RKEY;
}

static enum verdict find_flushed(struct request *request)
{
	const struct rnic_reth *reth = &request->packet->reth;

	if (!(request->packet->flush_type & RNIC_FLUSH_WHOLE_REGION))
		return request_checks_find_region(request, reth->rkey, reth->address, reth->length);
	request->mr = mr_find_remote_whole(request->engine, reth->rkey, request->qp,
					   request_remote_pd(request), access_of(request->packet));
	return request->mr != NULL ? VERDICT_PASS : VERDICT_BAD_RKEY;
}

/*
 * The key is looked up for every packet: it may be deregistered in the middle of a message. A READ
 * or WRITE of no bytes does not look at its key at all (IBTA 1.4, C9-88).
 */
static enum verdict check_key(struct request *request)
{
	const struct responder *responder = &request->qp->responder;
	const struct rnic_packet *packet = request->packet;

	switch (packet->row->operation) {
	case RNIC_OPERATION_WRITE:
		if (!request_is_first(packet))
			return request_checks_find_region(request, responder->write_rkey,
							  responder->write_address,
							  packet->payload_bytes);
		/* fall through */
	case RNIC_OPERATION_READ_REQUEST:
		if (packet->reth.length == 0)
			return VERDICT_PASS;
		return request_checks_find_region(request, packet->reth.rkey, packet->reth.address,
						  packet->reth.length);
	case RNIC_OPERATION_COMPARE_SWAP:
	case RNIC_OPERATION_FETCH_ADD:
		return request_checks_find_region(request, packet->atomic.rkey,
						  packet->atomic.address, 8);
	case RNIC_OPERATION_ATOMIC_WRITE:
		return request_checks_find_region(request, packet->reth.rkey, packet->reth.address,
						  8);
	case RNIC_OPERATION_FLUSH:
		return find_flushed(request);
	default:
		return VERDICT_PASS;
	}
}

static enum verdict check_alignment(struct request *request)
{
	const struct rnic_packet *packet = request->packet;
	uint64_t address;

	if (packet->row->headers & RNIC_HEADER_ATOMIC)
		address = packet->atomic.address;
	else if (packet->row->operation == RNIC_OPERATION_ATOMIC_WRITE)
		address = packet->reth.address;
	else
		return VERDICT_PASS;
	return address % 8 == 0 ? VERDICT_PASS : VERDICT_MISALIGNED_ATOMIC;
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
	check_psn,    check_sequence, check_srq,       check_operation,	 check_resources,
	check_length, check_key,      check_alignment, check_invalidate,
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
