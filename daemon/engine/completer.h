/* SPDX-License-Identifier: MIT */
/*
 * The completer: responses become progress and completions (IBTA 1.4, 9.7.5.1.2, 9.7.5.2).
 * Acknowledgements are cumulative: one for a PSN stands for all before it, except for READs and
 * atomics, whose answer must itself arrive.
 */
#ifndef DAEMON_ENGINE_COMPLETER_H
#define DAEMON_ENGINE_COMPLETER_H

#include "engine/verdict.h"
#include "wire/packet.h"

struct engine;
struct qp;

/* One response packet (ACK, NAK, READ response, atomic ACK) for `qp`. */
void completer_receive(struct engine *engine, struct qp *qp, const struct rnic_packet *packet);

/* Completes the oldest entry with `status` and frees its slot. Does nothing in ERR, where it was
 * flushed. */
void completer_complete_oldest(struct engine *engine, struct qp *qp, enum rnic_wc_status status,
			       enum verdict verdict);

/* Completes all entries of the send queue with WR_FLUSH_ERR, oldest first. */
void completer_flush(struct engine *engine, struct qp *qp);

#endif
