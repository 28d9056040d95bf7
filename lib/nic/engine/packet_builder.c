/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/packet_builder.h"

#include "lib/nic/engine/ecn.h"
#include "lib/nic/engine/engine_addresses.h"
#include "lib/nic/engine/qp_state.h"
#include "proto/wire/opcode.h"

#include <assert.h>

#define QPN_MASK 0xffffff

void packet_builder_start(struct qp *qp, struct packet_builder *out, enum rnic_operation operation,
			  enum rnic_position position, uint16_t headers, struct rnic_psn psn)
{
	enum rnic_service service = operation == RNIC_OPERATION_CONGESTION ? RNIC_SERVICE_CNP
				    : operation == RNIC_OPERATION_HOLES ? RNIC_SERVICE_MANUFACTURER
									: qp_service(qp);
	int opcode = rnic_opcode_find(service, operation, position, headers);

	assert(opcode >= 0);
	out->packet = (struct rnic_packet){
		.addresses = engine_addresses(qp->engine, &qp->attributes.path),
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.migrated = true,
		.pkey = qp_pkey(qp),
		.dest_qpn = qp->attributes.dest_qpn,
		.psn = psn,
	};
	if (qp->engine->config.has_ecn && qp->type != RNIC_QP_TYPE_UD)
		out->packet.addresses.traffic_class =
			ecn_allow_marks(out->packet.addresses.traffic_class);
	out->piece_count = 0;
	out->qp = qp;
}

void packet_builder_address_datagram(const struct qp *qp, uint32_t index,
				     struct rnic_packet *packet)
{
	const struct send_wqe *wqe = send_queue_at(&qp->send_queue, index);
	const struct rnic_path *path = send_queue_path(&qp->send_queue, index);
	uint32_t qkey = wqe->datagram.remote_qkey;

	packet->addresses = engine_addresses(qp->engine, path);
	packet->dest_qpn = wqe->datagram.remote_qpn & QPN_MASK;
	packet->qkey = (qkey & RNIC_CONTROLLED_QKEY_BIT) != 0 ? qp->attributes.qkey : qkey;
	packet->source_qpn = qp->qpn;
}
