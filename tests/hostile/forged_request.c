/* SPDX-License-Identifier: MIT */
#include "tests/hostile/forged_request.h"

#include "proto/mad/mad.h"
#include "proto/wire/icrc.h"

uint32_t forged_request_build(const struct rnic_addresses *addresses, uint32_t dest_qpn,
			      const struct rnic_cm_message *message,
			      uint8_t bytes[RNIC_PACKET_BYTES_MAX])
{
	const int opcode =
		rnic_opcode_find(RNIC_SERVICE_UD, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 0);
	const struct rnic_packet packet = {
		.addresses = *addresses,
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.pkey = 0xffff,
		.dest_qpn = dest_qpn,
		.source_qpn = RNIC_GENERAL_SERVICES_QPN,
		.qkey = RNIC_MAD_QKEY,
		.payload_bytes = RNIC_MAD_BYTES,
	};
	size_t length = rnic_packet_encode_headers(&packet, bytes);

	rnic_cm_encode(message, bytes + length);
	length += RNIC_MAD_BYTES;
	rnic_icrc_write(bytes + length, rnic_icrc_compute(addresses, 0, bytes, length));
	return (uint32_t)(length + RNIC_ICRC_BYTES);
}
