/* SPDX-License-Identifier: MIT */
/*
 * The responder: requests are checked in the order of IBTA 1.4, 9.7.4 and figure 104
 * (request_checks.h), executed, and answered. The responder queues at most one acknowledgement at a
 * time: a later one stands for all before it, so that a burst of requests is answered once.
 *
 * UC (IBTA 1.4, 9.8.2): a message is received whole or not at all, and nothing is answered. A
 * message that misses a packet, or is wrong, is dropped up to the next FIRST or ONLY; the next
 * message uses its receive WQE.
 *
 * Invariant: expected_psn only grows (modulo 2^24; not with UC); a message is open exactly when the
 * last accepted packet was FIRST or MIDDLE; a receive WQE is taken once and completed once, or
 * given back to the SRQ that it came from.
 */
#ifndef LIB_NIC_ENGINE_RESPONDER_RESPONDER_H
#define LIB_NIC_ENGINE_RESPONDER_RESPONDER_H

#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct placement_failures;
struct qp;
struct responder;
struct rnic_packet;
struct srq;

/* Room for receive WQEs of up to `recv_sge_max` SGEs. -ENOMEM. */
int responder_init(struct responder *responder, uint32_t recv_sge_max);
void responder_fini(struct responder *responder);

/*
 * The QP goes to RTR: expects attributes.rq_psn, remembers attributes.max_dest_rd_atomic requests.
 * -ENOMEM, and nothing is changed.
 */
int responder_start(struct qp *qp);

/* One request packet for `qp`. */
void responder_receive(struct engine *engine, struct qp *qp, const struct rnic_packet *packet);

/*
 * The gap of `qp` has closed: takes a slice of the packets that the QP keeps, and acknowledges
 * through them. The rest follows with engine_tick().
 */
void responder_drain(struct qp *qp);

/* Inbound payload did not reach memory, as the `failures` of placement.h say of a request. */
void responder_write_failed(struct engine *engine, struct qp *qp,
			    const struct placement_failures *failures);

/*
 * Payload of a response did not reach memory, after `msn` messages had been received: the receives
 * of later messages are flushed, and no answer may acknowledge those messages.
 */
void responder_take_back(struct qp *qp, uint32_t msn);

/* The application does not hear of a message received: nothing is acknowledged any more. */
void responder_take_all_back(struct qp *qp);

/* The bytes of a READ response could not be read: -EFAULT, or -ESRCH: the client has ended. */
void responder_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn, int error);

/* The SRQ of an XRC domain is about to go: a message that took a WQE of the SRQ cannot end. */
void responder_forget_srq(struct qp *qp, const struct srq *srq);

/* Forgets everything; QP to RESET. */
void responder_reset(struct engine *engine, struct qp *qp);

#endif
