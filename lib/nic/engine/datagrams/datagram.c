/* SPDX-License-Identifier: MIT */
#include "engine/datagrams/datagram.h"

#include "engine/verbs/qp.h"
#include "engine/responder/request_checks.h"
#include "engine/responder/responder_execute.h"
#include "wire/ip_header.h"

#include <assert.h>

#define CONTROLLED_QKEY_BIT UINT32_C(0x80000000)
#define QPN_MASK	    0xffffff

void datagram_address(const struct qp *qp, uint32_t index, struct rnic_packet *packet)
{
	const struct send_wqe *wqe = send_queue_at(&qp->send_queue, index);
	const struct rnic_path *path = send_queue_path(&qp->send_queue, index);
	uint32_t qkey = wqe->datagram.remote_qkey;

	packet->addresses = engine_addresses(qp->engine, path);
	packet->dest_qpn = wqe->datagram.remote_qpn & QPN_MASK;
	packet->qkey = (qkey & CONTROLLED_QKEY_BIT) != 0 ? qp->attributes.qkey : qkey;
	packet->source_qpn = qp->qpn;
}

static enum verdict datagram_check(struct request *request)
{
	const struct recv_wqe *wqe;
	const struct rnic_sge *sges;
	enum verdict verdict = request_check_receive(request);

	if (verdict != VERDICT_PASS)
		return verdict;
	wqe = responder_peek_receive(request, &sges);
	return (uint64_t)RNIC_GRH_BYTES + request->packet->payload_bytes <= wqe->length
		       ? VERDICT_PASS
		       : VERDICT_RECEIVE_TOO_SHORT;
}

/* Header and payload into the receive entry, which is taken. */
static enum verdict datagram_place(struct request *request)
{
	const struct rnic_packet *packet = request->packet;
	uint8_t header[RNIC_GRH_BYTES];
	enum verdict verdict;

	rnic_grh_write(&packet->addresses, rnic_packet_bytes(packet) + RNIC_ICRC_BYTES, header);
	verdict = responder_scatter(request, 0, header, sizeof(header));
	if (verdict == VERDICT_PASS && request->qp->state != RNIC_QP_STATE_ERR)
		verdict = responder_scatter(request, sizeof(header), packet->payload,
					    packet->payload_bytes);
	/* The header is on this stack. */
	placement_run(request->engine);
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
	responder_complete_receive(engine, qp, &cqe);
}

void datagram_receive(struct engine *engine, struct qp *qp, const struct rnic_packet *packet)
{
	struct request request = {.engine = engine, .qp = qp, .packet = packet, .srq = qp->srq};
	enum verdict verdict = datagram_check(&request);
	bool is_taken;

	if (verdict == VERDICT_PASS) {
		is_taken = responder_try_take_receive(&request);
		assert(is_taken);
		verdict = datagram_place(&request);
	}
	if (verdict != VERDICT_PASS)
		responder_refuse(&request, verdict);
	else if (qp->state != RNIC_QP_STATE_ERR)
		complete(engine, qp, packet);
}
