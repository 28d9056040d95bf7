/* SPDX-License-Identifier: MIT */
/* The responder's fields of a QP. */
#ifndef LIB_NIC_ENGINE_RESPONDER_RESPONDER_STATE_H
#define LIB_NIC_ENGINE_RESPONDER_RESPONDER_STATE_H

#include "lib/nic/engine/objects/recv_queue.h"
#include "lib/nic/engine/objects/responder_resources.h"
#include "lib/nic/engine/reliability/holes_state.h"
#include "lib/nic/engine/reliability/reliability_state.h"
#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

struct srq;

struct responder {
	struct rnic_psn expected_psn;
	struct rnic_psn gap_end;   /* one past the furthest packet that came behind a gap */
	struct rnic_psn asked_psn; /* has_nak_pending: of the last sequence NAK */
	bool sends_again;	   /* a NAK has left: what is before gap_end comes again */
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
	bool is_not_ready;    /* it was an RNR NAK: nothing is kept */
	bool has_failed; /* the request of failed_psn ended the QP: nothing may follow its answer */
	struct rnic_psn failed_psn;
	bool has_told_no_credits; /* the peer's last word is that no receive is posted */

	struct holes_report report;
	struct exact_credits exact_credits;
	struct responder_resources resources;
};

#endif
