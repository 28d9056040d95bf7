/* SPDX-License-Identifier: MIT */
/* How entries leave the send queue: in order, each with one completion. */
#ifndef NIC_ENGINE_PROGRESS_SEND_COMPLETION_H
#define NIC_ENGINE_PROGRESS_SEND_COMPLETION_H

#include "base/verbs_types.h"
#include "engine/verdict.h"

struct engine;
struct qp;

/* Completes the oldest entry with `status` and frees its slot. Does nothing in ERR, where it was
 * flushed. */
void send_completion_complete_oldest(struct engine *engine, struct qp *qp,
				     enum rnic_wc_status status, enum verdict verdict);

/* Completes all entries of the send queue with WR_FLUSH_ERR, oldest first. */
void send_completion_flush(struct engine *engine, struct qp *qp);

/* SQD: tells that all started entries are completed, when they are. */
void send_completion_check_drained(struct qp *qp);

#endif
