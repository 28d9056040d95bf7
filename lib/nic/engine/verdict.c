/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verdict.h"

#include "proto/base/verbs_types.h"
#include "proto/wire/syndrome.h"

#include <assert.h>

#define NONE VERDICT_NO_STATUS

#define ACK_SYNDROME   (RNIC_SYNDROME_ACK << 5 | RNIC_CREDITS_NOT_CARRIED)
#define NAK(code)      (RNIC_SYNDROME_NAK << 5 | RNIC_NAK_##code)
#define RNR_SYNDROME   (RNIC_SYNDROME_RNR_NAK << 5) /* the timer is the QP's */
#define NO_NAK	       VERDICT_NO_SYNDROME
#define STATUS(status) RNIC_WC_##status
#define EVENT(event)   RNIC_EVENT_##event

/* What a responder finds and forgives: no completion, the QP lives on. */
#define ANSWER(syndrome_, counter_, clause_, sentence_)                                            \
	{                                                                                          \
		.syndrome = (syndrome_), .receive_status = NONE, .send_status = NONE,              \
		.async_event = NONE, .counter = COUNTER_##counter_,                                \
		.unreliable_counter = COUNTER_##counter_, .clause = (clause_),                     \
		.sentence = (sentence_),                                                           \
	}

/* What breaks the connection at the responder, and the status of its receive WQE under way. */
#define REFUSE(syndrome_, receive_status_, takes_receive_, event_, counter_, clause_, sentence_)   \
	{                                                                                          \
		.syndrome = (syndrome_), .receive_status = STATUS(receive_status_),                \
		.send_status = NONE, .takes_receive = (takes_receive_), .is_fatal = true,          \
		.async_event = (event_), .counter = COUNTER_##counter_,                            \
		.unreliable_counter = COUNTER_##counter_, .clause = (clause_),                     \
		.sentence = (sentence_),                                                           \
	}

/* The same for what is wrong with our own receive WQE or memory: class A of every service. */
#define REFUSE_LOCAL(receive_status_, takes_receive_, event_, counter_, clause_, sentence_)        \
	{                                                                                          \
		.syndrome = NAK(REMOTE_OPERATIONAL_ERROR),                                         \
		.receive_status = STATUS(receive_status_), .send_status = NONE,                    \
		.takes_receive = (takes_receive_), .is_fatal = true, .async_event = (event_),      \
		.counter = COUNTER_##counter_, .is_fatal_unreliable = true,                        \
		.unreliable_counter = COUNTER_##counter_, .clause = (clause_),                     \
		.sentence = (sentence_),                                                           \
	}

/* What breaks the connection at the requester, and the status of its WQE. */
#define GIVE_UP(send_status_, counter_, clause_, sentence_)                                        \
	{                                                                                          \
		.syndrome = NO_NAK, .receive_status = NONE, .send_status = STATUS(send_status_),   \
		.is_fatal = true, .async_event = NONE, .counter = COUNTER_##counter_,              \
		.clause = (clause_), .sentence = (sentence_),                                      \
	}

static const struct verdict_row verdict_rows[VERDICT_COUNT] = {
	[VERDICT_PASS] =
		ANSWER(ACK_SYNDROME, RECEIVED_PACKETS, "9.7.4", "The request is as it should be."),
	[VERDICT_DUPLICATE] =
		ANSWER(ACK_SYNDROME, DUPLICATE_REQUESTS, "9.7.4.1, 9.7.5.1",
		       "A request came again, because its answer was lost or late; it is answered "
		       "again and not executed twice."),
	[VERDICT_SEQUENCE_GAP] =
		ANSWER(NAK(PSN_SEQUENCE_ERROR), OUT_OF_SEQUENCE_REQUESTS, "9.7.4.1, 9.9.3 class B",
		       "A request before this one was lost or overtaken; the requester is asked "
		       "once to go back to it."),
	[VERDICT_BAD_SEQUENCE] =
		REFUSE(NAK(INVALID_REQUEST), REM_INV_REQ_ERR, false, EVENT(QP_REQ_ERR),
		       BAD_REQUESTS, "9.7.4.1, 9.9.3 class C",
		       "FIRST, MIDDLE, LAST or ONLY came out of place: the requester mixed two "
		       "messages, or is not in step with this QP."),
	[VERDICT_BAD_OPERATION] =
		REFUSE(NAK(INVALID_REQUEST), REM_INV_REQ_ERR, false, EVENT(QP_REQ_ERR),
		       BAD_REQUESTS, "9.7.4.1, 9.9.3 class C",
		       "The operation is not built, or the QP's access flags do not allow it; look "
		       "at qp_access_flags of the modify to INIT or RTR."),
	[VERDICT_BAD_SRQ] =
		REFUSE(NAK(INVALID_REQUEST), REM_INV_REQ_ERR, false, EVENT(QP_REQ_ERR),
		       BAD_REQUESTS, "9.9.3 class C, annex A14",
		       "The request names a shared receive queue that is not, or no longer, one of "
		       "the target QP's XRC domain; look at remote_srqn on the other end."),
	[VERDICT_TOO_MANY_READS] =
		REFUSE(NAK(INVALID_REQUEST), REM_INV_REQ_ERR, false, EVENT(QP_REQ_ERR),
		       BAD_REQUESTS, "9.7.4.1, 9.9.3 class C",
		       "More READs and atomics are under way than max_dest_rd_atomic of this QP; "
		       "the peer's max_rd_atomic is larger."),
	[VERDICT_NO_RECEIVE] =
		{
			.syndrome = RNR_SYNDROME,
			.receive_status = NONE,
			.send_status = NONE,
			.async_event = NONE,
			.counter = COUNTER_SENT_RNR_NAKS,
			.unreliable_counter = COUNTER_DROPPED_NO_RECEIVE,
			.clause = "9.7.5.2.8, 9.9.3 class B, 9.8.2",
			.sentence =
				"No receive entry is posted for this message; the requester is "
				"asked "
				"to wait for min_rnr_timer, or (UC, UD) the message is dropped.",
		},
	[VERDICT_BAD_RECEIVE] = REFUSE_LOCAL(
		LOC_QP_OP_ERR, true, NONE, LOCAL_ERRORS, "9.9.3 class A",
		"The receive entry for this message is malformed: SGE count or reserved "
		"members."),
	[VERDICT_RECEIVE_PROTECTION] = REFUSE_LOCAL(
		LOC_PROT_ERR, true, NONE, LOCAL_ERRORS, "9.9.3 class A",
		"An SGE of the receive entry names memory that this QP may not write: lkey, "
		"range, protection domain or IBV_ACCESS_LOCAL_WRITE."),
	[VERDICT_RECEIVE_TOO_SHORT] =
		REFUSE(NAK(INVALID_REQUEST), LOC_LEN_ERR, true, NONE, BAD_REQUESTS,
		       "9.7.4.1, 9.9.3 class C",
		       "The message is longer than the SGEs of the receive entry together; a "
		       "datagram takes 40 bytes more."),
	[VERDICT_BAD_LENGTH] =
		REFUSE(NAK(INVALID_REQUEST), REM_INV_REQ_ERR, false, EVENT(QP_REQ_ERR),
		       BAD_REQUESTS, "9.7.4.1, 9.9.3 class C",
		       "A packet's payload does not fit the path MTU, or the message its announced "
		       "length; both ends must have the same path_mtu."),
	[VERDICT_BAD_RKEY] =
		REFUSE(NAK(REMOTE_ACCESS_ERROR), LOC_ACCESS_ERR, true, EVENT(QP_ACCESS_ERR),
		       ACCESS_ERRORS, "9.7.4.1, 9.9.3 class C",
		       "The rkey does not grant this access: key, address range, access flags or "
		       "protection domain of the region."),
	[VERDICT_MISALIGNED_ATOMIC] =
		REFUSE(NAK(INVALID_REQUEST), REM_INV_REQ_ERR, false, EVENT(QP_REQ_ERR),
		       BAD_REQUESTS, "9.4.5, 9.9.3 class C",
		       "The address of an atomic operation is not a multiple of 8."),
	[VERDICT_BAD_INVALIDATE] = REFUSE(
		NO_NAK, REM_INV_REQ_ERR, true, NONE, ACCESS_ERRORS, "9.4.1.1, 9.9.3 class J",
		"A SEND with invalidate names no key of a window of type 2 that is free or bound "
		"through this QP. The requester gets no answer."),
	[VERDICT_MEMORY_GONE] = REFUSE_LOCAL(
		LOC_PROT_ERR, false, EVENT(QP_FATAL), MEMORY_ERRORS, "9.9.3 class A",
		"Registered memory could not be reached: the application unmapped it, or "
		"ended."),
	[VERDICT_BAD_SERVICE] = ANSWER(NO_NAK, DROPPED_BAD_OPCODE, "9.6.1.4",
				       "A packet was of another service than this QP's and was "
				       "dropped; both ends must have the same QP type."),
	[VERDICT_BAD_PKEY] = ANSWER(NO_NAK, DROPPED_BAD_PKEY, "9.6.1.1, 10.9.3",
				    "A packet of another partition was dropped. Look at pkey_index "
				    "on both ends; two limited members do not hear each other."),
	[VERDICT_BAD_QKEY] = ANSWER(NO_NAK, DROPPED_BAD_QKEY, "9.6.1.3, 10.2.5",
				    "A datagram whose Q_Key is not the QP's was dropped."),
	[VERDICT_BAD_PEER] = ANSWER(NO_NAK, DROPPED_BAD_PEER, "9.6.1.2",
				    "A packet from an address that is not the QP's peer was "
				    "dropped. Look at the GID index on both ends."),
	[VERDICT_BAD_PORT] = ANSWER(NO_NAK, DROPPED_BAD_PORT, "9.6.1.2, annex A17",
				    "A packet from a UDP port that is not the peer's was dropped: "
				    "it is forged, or the peer changes ports."),
	[VERDICT_BAD_STATE] = ANSWER(NO_NAK, DROPPED_BAD_STATE, "10.3.1",
				     "A packet came that the QP's state does not let it "
				     "receive; it was dropped."),

	[VERDICT_LOCAL_LENGTH] = GIVE_UP(
		LOC_LEN_ERR, LOCAL_ERRORS, "10.6.2, 11.6.2",
		"The work request is longer than a message may be: 2 GiB, or of a datagram the "
		"port's MTU."),
	[VERDICT_LOCAL_OPERATION] =
		GIVE_UP(LOC_QP_OP_ERR, LOCAL_ERRORS, "11.6.2",
			"The work request is malformed: opcode, SGE count, inline length, or a "
			"limit of the QP such as max_rd_atomic 0."),
	[VERDICT_LOCAL_PROTECTION] =
		GIVE_UP(LOC_PROT_ERR, LOCAL_ERRORS, "10.6.3, 11.6.2",
			"An SGE of the work request names memory that this QP may not use: lkey, "
			"range, protection domain or access flags."),
	[VERDICT_LOCAL_MEMORY_GONE] =
		GIVE_UP(LOC_PROT_ERR, MEMORY_ERRORS, "11.6.2",
			"Memory of the work request could not be reached: the application unmapped "
			"it, or ended."),
	[VERDICT_BIND_REFUSED] = GIVE_UP(
		MW_BIND_ERR, LOCAL_ERRORS, "10.6.7.2, 11.6.2",
		"The memory window cannot be bound so: key, range, rights, domain, a region "
		"without MW_BIND or LOCAL_WRITE, or type 2 and bound already."),
	[VERDICT_INVALIDATE_REFUSED] =
		GIVE_UP(MW_BIND_ERR, LOCAL_ERRORS, "10.6.7.2.4, 11.6.2",
			"The key cannot be invalidated: it is not that of a memory window of type "
			"2, or the window is of another QP or protection domain."),

	[VERDICT_REMOTE_INVALID_REQUEST] =
		GIVE_UP(REM_INV_REQ_ERR, REMOTE_ERRORS, "9.7.5.2, 11.6.2",
			"The peer refused the request as invalid: its QP's access flags, its "
			"receive buffer's length, path_mtu, or the alignment of an atomic."),
	[VERDICT_REMOTE_ACCESS] =
		GIVE_UP(REM_ACCESS_ERR, REMOTE_ERRORS, "9.7.5.2, 11.6.2",
			"The peer refused access: rkey, address range, or access flags of its "
			"region."),
	[VERDICT_REMOTE_OPERATIONAL] =
		GIVE_UP(REM_OP_ERR, REMOTE_ERRORS, "9.7.5.2, 11.6.2",
			"The peer could not carry out the request, for reasons of its own: a bad "
			"receive entry, or memory that is gone."),
	[VERDICT_BAD_RESPONSE] =
		GIVE_UP(BAD_RESP_ERR, BAD_RESPONSES, "9.9.2, 11.6.2",
			"The peer's answer fits no request: opcode, length or syndrome."),
	[VERDICT_RETRY_EXCEEDED] = GIVE_UP(
		RETRY_EXC_ERR, RETRY_EXCEEDED, "9.7.6.1, 11.6.2",
		"The peer did not answer within timeout and retry_cnt: it is gone, in "
		"error, not reachable (UDP port 4791), or its QP number or GID is another."),
	[VERDICT_RNR_RETRY_EXCEEDED] =
		GIVE_UP(RNR_RETRY_EXC_ERR, RNR_RETRY_EXCEEDED, "9.7.5.2.8, 11.6.2",
			"The peer had no receive entry posted, and rnr_retry is used up; 7 means "
			"to try for ever."),

	[VERDICT_FLUSHED] =
		{
			.syndrome = NO_NAK,
			.receive_status = STATUS(WR_FLUSH_ERR),
			.send_status = STATUS(WR_FLUSH_ERR),
			.takes_receive = true,
			.is_fatal = true,
			.async_event = NONE,
			.counter = COUNTER_FLUSHED_COMPLETIONS,
			.clause = "10.3.1, 11.6.2",
			.sentence =
				"The QP was in error, or came to be, before the entry's turn came.",
		},
	[VERDICT_CQ_OVERRUN] =
		{
			.syndrome = NO_NAK,
			.receive_status = NONE,
			.send_status = NONE,
			.is_fatal = true,
			.async_event = EVENT(QP_FATAL),
			.counter = COUNTER_CQ_OVERRUNS,
			.clause = "10.2.5, 11.6.3",
			.sentence =
				"A completion found its CQ full: the CQ is too small for the work "
				"posted to it.",
		},
	[VERDICT_FIRST_PSN] =
		ANSWER(NO_NAK, OUT_OF_SEQUENCE_REQUESTS, "9.7.4.1, 12.9.8",
		       "The peer's first packet has another PSN than this QP's rq_psn: the rq_psn "
		       "of one end must be the sq_psn of the other."),
};

const struct verdict_row *verdict_row(enum verdict verdict)
{
	assert(verdict < VERDICT_COUNT);
	return &verdict_rows[verdict];
}
