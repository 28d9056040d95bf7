/* SPDX-License-Identifier: MIT */
/* A packet on its way out: headers by value, payload by reference. */
#ifndef LIB_NIC_ENGINE_PACKET_BUILDER_H
#define LIB_NIC_ENGINE_PACKET_BUILDER_H

#include "lib/nic/engine/engine_limits.h"
#include "proto/wire/packet.h"

#include <stdint.h>

struct client_region;
struct qp;

/* A piece of payload: of a client region, or (inline data) of the engine's own memory. */
struct payload_piece {
	struct client_region *region; /* NULL: `inline_bytes` is valid */
	union {
		uint64_t offset;
		const uint8_t *inline_bytes;
	};
	uint32_t length;
};

/*
 * A packet that the engine wants sent: headers in `packet` (its `payload` is unused,
 * `payload_bytes` is the sum of the pieces), payload by reference. The references are good until
 * the next call of any engine function other than engine_transmit().
 */
struct packet_builder {
	struct rnic_packet packet;
	uint32_t piece_count;
	struct payload_piece pieces[LIMIT_SGES + 1];
	struct qp *qp; /* the sender, for engine_payload_failed(); NULL: it is gone */
};

/*
 * Makes `out` a packet of `qp` to its peer, with addresses and base header,
 * all else zero, and no pieces. The opcode must exist (asserted).
 */
void packet_builder_start(struct qp *qp, struct packet_builder *out, enum rnic_operation operation,
			  enum rnic_position position, uint16_t headers, struct rnic_psn psn);

/*
 * Fills in where the datagram of send WQE `index` goes, and from whom: addresses, QP numbers and
 * Q_Key. One with the highest bit set stands for the QP's own (IBTA 1.4, 10.2.5).
 */
void packet_builder_address_datagram(const struct qp *qp, uint32_t index,
				     struct rnic_packet *packet);

#endif
