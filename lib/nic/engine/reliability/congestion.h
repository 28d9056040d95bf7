/* SPDX-License-Identifier: MIT */
/*
 * Congestion management of RoCEv2 (IBTA 1.4, A17.9): with engine_config.has_ecn the packets of RC
 * and UC QPs say in their IP header that switches may mark them instead of dropping them. The
 * engine answers a mark with a congestion notification packet (CNP), at most one in
 * LIMIT_CNP_INTERVAL_NS for a QP, and a CNP slows down what the QP sends: requests with all their
 * packets, and READ responses (cc_dcqcn.h). Acknowledgements and CNPs are never held back.
 *
 * Without has_ecn nothing is marked, notified or slowed down; marks and CNPs that arrive are
 * counted.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_CONGESTION_H
#define LIB_NIC_ENGINE_RELIABILITY_CONGESTION_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct packet_builder;
struct qp;
struct rnic_packet;

/* A new connection begins at full speed, and the timer of an old connection stops. */
void congestion_reset(struct engine *engine, struct qp *qp);

/* A packet of the peer arrived, marked or not. */
void congestion_look(struct engine *engine, struct qp *qp, const struct rnic_packet *packet);

/*
 * A CNP arrived. `is_proven`: its UDP port is that of the peer's other packets. Anybody on the
 * peer's host can send one that is not, as can hardware: it takes the rate to
 * 1 / LIMIT_CC_UNPROVEN_DIVISOR of the line's at most, and is counted apart.
 */
void congestion_notified(struct engine *engine, struct qp *qp, bool is_proven);

/* Builds the CNP that is owed; false when none is. */
bool congestion_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out);

/* Whether the rate lets a packet leave now. When not, the QP becomes ready once the rate does. */
bool congestion_try_send(struct engine *engine, struct qp *qp);

/* The packet leaves. */
void congestion_sent(struct engine *engine, struct qp *qp, uint32_t payload_bytes);

/* The timer of `qp` expired. */
void congestion_expired(struct qp *qp);

#endif
