/* SPDX-License-Identifier: MIT */
/*
 * The responder: requests are checked in the order of IBTA 1.4, 9.7.4 and figure 104
 * (request_checks.h), executed, and answered. It owes at most one acknowledgement at a time: a
 * later one stands for all before it, so that a burst of requests is answered once.
 *
 * UC (IBTA 1.4, 9.8.2): a message is received whole or not at all, and nothing is answered. One
 * that misses a packet, or is wrong, is dropped up to the next FIRST or ONLY; the receive entry
 * that it took is used by the next message.
 *
 * Invariant: expected_psn only grows (modulo 2^24; not with UC); a message is open exactly when the
 * last accepted packet was FIRST or MIDDLE; a receive entry is taken once and completed once, or
 * given back to the SRQ that it came from.
 */
#ifndef NIC_ENGINE_RESPONDER_RESPONDER_H
#define NIC_ENGINE_RESPONDER_RESPONDER_H

#include "engine/objects/recv_queue.h"
#include "engine/responder/responder_resources.h"
#include "engine/verdict.h"
#include "wire/packet.h"
#include "wire/syndrome.h"

#include <stdbool.h>
#include <stdint.h>

/* Of an ACK that is owed; credits_syndrome() gives it its credits when it leaves. */
#define RESPONDER_ACK_SYNDROME rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED)

struct cqe;
struct engine;
struct mr;
struct packet_builder;
struct qp;
struct request;
struct srq;

struct responder {
	struct rnic_psn expected_psn;
	struct rnic_psn gap_end; /* one past the furthest packet that was dropped behind a gap */
	uint32_t msn;

	/* The message under way. */
	uint8_t open_operation; /* enum rnic_operation; NONE when no message is open */
	uint32_t message_bytes; /* placed so far */
	uint32_t write_length;	/* of the RETH */
	uint32_t write_rkey;
	uint64_t write_address; /* of the next byte */
	bool has_receive;	/* `receive` is taken and not completed */
	struct recv_wqe receive;
	struct srq *receive_srq;       /* that it came from; NULL: the QP's own queue */
	struct rnic_sge *receive_sges; /* recv sge_max */

	/* The answer that is owed. */
	bool has_acknowledge; /* an ACK or NAK is owed */
	uint8_t syndrome;
	struct rnic_psn acknowledge_psn;
	uint32_t acknowledge_msn;
	bool has_nak_pending; /* a sequence or RNR NAK was sent: stay silent until the gap closes */
	bool has_fatal_nak;   /* nothing may follow this NAK */
	bool has_told_no_credits; /* the peer's last word is that no receive is posted */

	struct responder_resources resources;
};

/* Room for receive entries of up to `recv_sge_max` SGEs. -ENOMEM. */
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
 * Inbound payload of the packet `psn`, which came behind `msn` messages, did not reach memory; see
 * placement.h. `is_receive_at_fault`: it was meant for the receive entry under way.
 */
void responder_write_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn, uint32_t msn,
			    bool is_receive_at_fault);

/* The bytes of a READ response could not be read. */
void responder_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn, int error);

/*
 * The receive entry that the message of `request` uses or will use, and its SGEs: one that a
 * dropped UC message has left, or the oldest that is posted. NULL when there is none.
 */
const struct recv_wqe *responder_peek_receive(const struct request *request,
					      const struct rnic_sge **sges);

/* Takes that entry, to be completed; false when there is none. */
bool responder_try_take_receive(const struct request *request);

/*
 * The message under way ends without a trace: an entry that it took from an SRQ is the SRQ's again,
 * for the next message of any of its QPs.
 */
void responder_give_back(struct qp *qp);

/* The SRQ of an XRC domain is about to go: a message that took an entry of it cannot end. */
void responder_forget_srq(struct qp *qp, const struct srq *srq);

/*
 * Delivers `completion` of the entry under way, with what all have in common filled in; of a
 * datagram source_qpn is given.
 */
void responder_complete_receive(struct engine *engine, struct qp *qp, struct cqe *cqe);

/* What follows from `verdict` on a request: a NAK and the QP's error, or the message's end. */
void responder_refuse(struct request *request, enum verdict verdict);

/*
 * Ends the message and, but for a dropped UC or UD message, the connection over the packet `psn`:
 * the answers to what came before it still leave, then the NAK, then nothing (IBTA 1.4, 9.9.3). The
 * receive entry under way fails with it or, unless `is_receive_at_fault`, is flushed.
 */
void responder_fail(struct engine *engine, struct qp *qp, enum verdict verdict, struct rnic_psn psn,
		    bool is_receive_at_fault);

/*
 * Owes the peer an ACK of all up to `psn`. A NAK stands for an acknowledgement of all before it, so
 * one that is owed already is enough; and so is an ACK of more.
 */
void responder_queue_ack(struct qp *qp, struct rnic_psn psn);

/* Completes the receive entry under way and all that are posted to the QP itself with WR_FLUSH_ERR.
 */
void responder_flush(struct engine *engine, struct qp *qp);

/* Forgets everything; QP to RESET. */
void responder_reset(struct engine *engine, struct qp *qp);

#endif
