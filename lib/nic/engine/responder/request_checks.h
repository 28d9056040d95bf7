/* SPDX-License-Identifier: MIT */
/*
 * The checks that a responder makes of a request packet before execution, in the order of IBTA 1.4,
 * 9.7.4.1: PSN, opcode sequence, XRC SRQ, operation, resources, length, key. The first check that
 * fails decides.
 *
 * Checks change nothing, except that the sink may be asked to refill the receive queue: the checks
 * look at the receive WQE, and the execution takes it.
 */
#ifndef LIB_NIC_ENGINE_RESPONDER_REQUEST_CHECKS_H
#define LIB_NIC_ENGINE_RESPONDER_REQUEST_CHECKS_H

#include "lib/nic/engine/verdict.h"
#include "proto/wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct mr;
struct pd;
struct qp;
struct srq;

/* A packet and its QP; the key check finds `mr` and `region_offset`. */
struct request {
	struct engine *engine;
	struct qp *qp;
	const struct rnic_packet *packet;
	struct srq *srq;	/* of its message's receive WQE; NULL: the QP's own queue */
	struct mr *mr;		/* of RDMA and atomic requests; NULL when no byte is accessed */
	uint64_t region_offset; /* of this packet's first byte, or of the whole READ */
};

/* VERDICT_PASS, with request->mr and region_offset set, or why the request must not be executed. */
enum verdict request_check(struct request *request);

/*
 * Whether a receive WQE is posted for the packet's message, and its SGEs grant writing the first
 * `bytes`.
 */
enum verdict request_check_receive(struct request *request, uint32_t bytes);

/* The protection domain of the SGEs of the receive WQE that the request's message takes. */
const struct pd *request_receive_pd(const struct request *request);

/* Whether this is the packet of its message that takes a receive WQE. */
bool request_needs_receive(const struct rnic_packet *packet);

/* Of all others the answer is the acknowledgement. */
static inline bool request_is_acknowledged(const struct rnic_packet *packet)
{
	return rnic_request_operations[packet->row->operation].answer == RNIC_ANSWER_ACKNOWLEDGE;
}

static inline bool request_is_first(const struct rnic_packet *packet)
{
	return packet->row->position == RNIC_POSITION_FIRST ||
	       packet->row->position == RNIC_POSITION_ONLY;
}

static inline bool request_is_last(const struct rnic_packet *packet)
{
	return packet->row->position == RNIC_POSITION_LAST ||
	       packet->row->position == RNIC_POSITION_ONLY;
}

#endif
