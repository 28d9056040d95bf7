/* SPDX-License-Identifier: MIT */
/*
 * What the engine tells the flight recorder. Ordinary traffic costs nothing: an entry is preceded
 * by the positions that the queue pair has reached, if they are others than at its last entry.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_QP_RECORD_H
#define LIB_NIC_ENGINE_OBJECTS_QP_RECORD_H

#include "proto/base/record.h"

struct cqe;
struct engine;
struct qp;

/* Records an event of the queue pair; engine->now_ns is its time, members as record.h has them. */
void qp_record(struct qp *qp, const struct rnic_record_entry *entry);

/* Records a completion in error: SEND_FAILED or RECEIVE_FAILED. */
void qp_record_failure(struct qp *qp, enum rnic_record_event event, const struct cqe *cqe);

/* The queue pair sends or receives a NAK. */
void qp_record_nak(struct qp *qp, enum rnic_record_event event, uint8_t syndrome, uint32_t psn);

/* The queue pair has a peer. */
void qp_record_connected(struct qp *qp);

/*
 * The queue pair ends: by a call, or with its program. The position of its responder is what tells
 * lost answers from lost requests later.
 */
void qp_record_end(struct qp *qp, enum rnic_record_end end);

/* Something happened to the port; its time is engine->now_ns. */
void engine_record_port(struct engine *engine, const struct rnic_record_entry *entry);

/* The program deregisters the region with this key. */
void engine_record_region_end(struct engine *engine, uint32_t key);

#endif
