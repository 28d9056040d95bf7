/* SPDX-License-Identifier: MIT */
/* How WQEs leave the send queue: in order, each with one completion. */
#ifndef LIB_NIC_ENGINE_PROGRESS_SEND_COMPLETION_H
#define LIB_NIC_ENGINE_PROGRESS_SEND_COMPLETION_H

#include "lib/nic/engine/verdict.h"
#include "proto/base/verbs_types.h"

struct engine;
struct qp;

/* Completes the oldest WQE with `status` and frees its slot. Does nothing in ERR, where the queue
 * was flushed. */
void send_completion_complete_oldest(struct engine *engine, struct qp *qp,
				     enum rnic_wc_status status, enum verdict verdict);

/* Flushes the send queue: completes all WQEs with WR_FLUSH_ERR, oldest first. */
void send_completion_flush(struct engine *engine, struct qp *qp);

/* SQD: raises the event once all started WQEs are completed. */
void send_completion_check_drained(struct qp *qp);

#endif
