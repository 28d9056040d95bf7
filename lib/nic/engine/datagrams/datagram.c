/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/datagrams/datagram.h"

#include "lib/nic/engine/engine_addresses.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/progress/receive_wqe.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/responder/request_checks.h"
#include "lib/nic/engine/responder/responder_execute.h"
#include "lib/nic/engine/responder/responder_fail.h"
#include "proto/wire/ip_header.h"

#include <assert.h>

static enum verdict datagram_check(struct request *request)
{
	const struct recv_wqe *wqe;
	const struct rnic_sge *sges;
	const uint32_t bytes = RNIC_GRH_BYTES + request->packet->payload_bytes;
	enum verdict verdict = request_check_receive(request, bytes);

	if (verdict != VERDICT_PASS)
		return verdict;
	wqe = receive_wqe_peek(request->qp, request->srq, &sges);
	return bytes <= wqe->length ? VERDICT_PASS : VERDICT_RECEIVE_TOO_SHORT;
}

/* Header and payload into the receive WQE, which is taken. */
static enum verdict datagram_place(struct request *request)
{
	const struct rnic_packet *packet = request->packet;
	uint8_t *header = placement_header(request->engine);
	enum verdict verdict;

	rnic_grh_write(&packet->addresses, rnic_packet_bytes(packet) + RNIC_ICRC_BYTES, header);
	verdict = responder_scatter(request, 0, header, RNIC_GRH_BYTES);
	if (verdict == VERDICT_PASS && request->qp->state != RNIC_QP_STATE_ERR)
		verdict = responder_scatter(request, RNIC_GRH_BYTES, packet->payload,
					    packet->payload_bytes);
	return verdict;
}

static void complete(struct engine *engine, struct qp *qp, const struct rnic_packet *packet)
{
	bool has_immediate = (packet->row->headers & RNIC_HEADER_IMMEDIATE) != 0;
	struct cqe cqe = {
		.byte_count = RNIC_GRH_BYTES + packet->payload_bytes,
		.immediate = packet->immediate,
		.source_qpn = packet->source_qpn,
		.status = RNIC_WC_SUCCESS,
		.opcode = RNIC_WC_RECV,
		.wc_flags = (uint8_t)(RNIC_WC_GRH | (has_immediate ? RNIC_WC_WITH_IMM : 0)),
		.is_solicited = packet->solicited,
		.source_gid_index = engine_gid_index(engine, &packet->addresses.dest),
		.service_level = rnic_addresses_are_ipv4(&packet->addresses) ? RNIC_WC_SL_IPV4
									     : RNIC_WC_SL_IPV6,
	};

	engine->counters[COUNTER_SEND_REQUESTS]++;
	receive_wqe_complete(engine, qp, &cqe);
}

void datagram_receive(struct engine *engine, struct qp *qp, const struct rnic_packet *packet)
{
	struct request request = {.engine = engine, .qp = qp, .packet = packet, .srq = qp->srq};
	enum verdict verdict = datagram_check(&request);
	bool is_taken;

	if (verdict == VERDICT_PASS) {
		is_taken = receive_wqe_try_take(qp, qp->srq);
		assert(is_taken);
		verdict = datagram_place(&request);
	}
	if (verdict != VERDICT_PASS)
		responder_refuse(&request, verdict);
	else if (qp->state != RNIC_QP_STATE_ERR)
		complete(engine, qp, packet);
}
