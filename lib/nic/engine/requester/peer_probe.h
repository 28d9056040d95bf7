/* SPDX-License-Identifier: MIT */
/*
 * Asks the peer of a living RC QP for a sign of life: a SEND of no bytes that asks for an
 * acknowledgement, with the PSN before the oldest unacknowledged one. Everything there has been
 * acknowledged, so the peer takes the SEND for a copy, acknowledges it again and does nothing else
 * (IBTA 1.4, 9.7.5.1; check_psn() and duplicate_request() of Linux 6.12's rxe_resp.c). Of all
 * requests a SEND is the one that needs no right of the peer's QP, so no peer can refuse it, in
 * whatever order it checks. No state of the requester changes, and the timer does not run: the
 * caller asks again.
 */
#ifndef LIB_NIC_ENGINE_REQUESTER_PEER_PROBE_H
#define LIB_NIC_ENGINE_REQUESTER_PEER_PROBE_H

#include <stdbool.h>

struct engine;
struct packet_builder;
struct qp;

/*
 * One probe leaves as soon as the QP has its turn. 0; -EOPNOTSUPP: the QP is not of RC; -EAGAIN:
 * the QP does not send now; -ENOTCONN: the QP has failed or was reset, and has no peer any more.
 */
int peer_probe_ask(struct qp *qp);

/* Builds the probe that requester.owes_probe says is owed; false when it may not leave now. */
bool peer_probe_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out);

#endif
