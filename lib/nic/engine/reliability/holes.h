/* SPDX-License-Identifier: MIT */
/*
 * Holes told: an extension of the wire between two devices like this one, by which a requester
 * hears of all gaps at once, where an acknowledgement shows one in a round trip. Packets of the
 * opcode 0xC0, of those that IBTA leaves to manufacturers (IBTA 1.4, table 35), carry it; a
 * responder of another service drops them in silence (9.6.1.4).
 *
 *     offer    requester to responder, with the repair of a gap, to a peer whose packets look like
 *              those of this device, until a report came: this requester understands reports
 *     report   responder to requester, after an offer: the packets that are missing
 *
 * Payload: kind (0 offer, 1 report), number of holes, and for each hole 3 bytes of the first PSN
 * and 3 bytes of the number of packets, in network order. Other kinds: exact_credits.h.
 *
 * A report is state, which later reports repeat: the first holes and the last ones, when a packet
 * comes behind a gap that asks for an acknowledgement or shows a new hole, at most one each
 * LIMIT_HOLES_NS. It acknowledges nothing. A forged report makes the requester send packets again
 * that are under way, by the pace, and no more.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_HOLES_H
#define LIB_NIC_ENGINE_RELIABILITY_HOLES_H

#include "lib/nic/engine/reliability/holes_state.h"

#include <stdbool.h>

struct packet_builder;
struct qp;
struct rnic_packet;

/* The enum holes_kind of a packet; HOLES_KIND_NONE when it is too short. */
int holes_kind(const struct rnic_packet *packet);

/* Starts a packet of the opcode with this payload, which stays in place until the packet left. */
void holes_start_packet(struct qp *qp, struct packet_builder *out, const uint8_t *bytes,
			uint32_t byte_count, struct rnic_psn psn);

/* Reads the holes of a report. False: the packet is no report. */
bool holes_decode(const struct rnic_packet *packet, struct holes *holes);

/* The responder's part: the peer understands reports. */
void holes_accept_offer(struct qp *qp);

/* There is something to report, now or soon after the last report. */
void holes_owe(struct qp *qp);

/* Builds the report that is owed. */
void holes_build_report(struct qp *qp, struct packet_builder *out);

void holes_build_offer(struct qp *qp, struct packet_builder *out);

#endif
