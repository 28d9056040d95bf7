/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verdict.h"

#include "proto/base/causes.h"
#include "proto/base/verbs_types.h"
#include "proto/wire/syndrome.h"

#include <assert.h>
#include <errno.h>

#define NONE VERDICT_NO_STATUS

#define ACK_SYNDROME   (RNIC_SYNDROME_ACK << 5 | RNIC_CREDITS_NOT_CARRIED)
#define NAK(code)      (RNIC_SYNDROME_NAK << 5 | RNIC_NAK_##code)
#define RNR_SYNDROME   (RNIC_SYNDROME_RNR_NAK << 5) /* the timer is the QP's */
#define NO_NAK	       VERDICT_NO_SYNDROME
#define STATUS(status) RNIC_WC_##status
#define EVENT(event)   RNIC_EVENT_##event

/* What a responder finds and forgives: no completion, the QP lives on. */
#define ANSWER(cause_, syndrome_, counter_)                                                        \
	{                                                                                          \
		.syndrome = (syndrome_), .receive_status = NONE, .send_status = NONE,              \
		.async_event = NONE, .counter = COUNTER_##counter_,                                \
		.unreliable_counter = COUNTER_##counter_, .cause = RNIC_CAUSE_##cause_,            \
	}

/* What breaks the connection at the responder, and the status of its receive WQE under way. */
#define REFUSE(cause_, syndrome_, receive_status_, takes_receive_, event_, counter_)               \
	{                                                                                          \
		.syndrome = (syndrome_), .receive_status = STATUS(receive_status_),                \
		.send_status = NONE, .takes_receive = (takes_receive_), .is_fatal = true,          \
		.async_event = (event_), .counter = COUNTER_##counter_,                            \
		.unreliable_counter = COUNTER_##counter_, .cause = RNIC_CAUSE_##cause_,            \
	}

/* The same for what is wrong with our own receive WQE or memory: class A of every service. */
#define REFUSE_LOCAL(cause_, receive_status_, takes_receive_, event_, counter_)                    \
	{                                                                                          \
		.syndrome = NAK(REMOTE_OPERATIONAL_ERROR),                                         \
		.receive_status = STATUS(receive_status_), .send_status = NONE,                    \
		.takes_receive = (takes_receive_), .is_fatal = true, .async_event = (event_),      \
		.counter = COUNTER_##counter_, .is_fatal_unreliable = true,                        \
		.unreliable_counter = COUNTER_##counter_, .cause = RNIC_CAUSE_##cause_,            \
	}

/* The same where the program has ended, of which nobody reads a completion any more. */
#define REFUSE_GONE(syndrome_)                                                                     \
	{                                                                                          \
		.syndrome = (syndrome_), .receive_status = STATUS(LOC_PROT_ERR),                   \
		.send_status = NONE, .is_fatal = true, .async_event = NONE,                        \
		.counter = COUNTER_MEMORY_ERRORS, .is_fatal_unreliable = true,                     \
		.unreliable_counter = COUNTER_MEMORY_ERRORS, .cause = RNIC_CAUSE_PROGRAM_GONE,     \
	}

/* What breaks the connection at the requester, and the status of its WQE. */
#define GIVE_UP(cause_, send_status_, counter_)                                                    \
	{                                                                                          \
		.syndrome = NO_NAK, .receive_status = NONE, .send_status = STATUS(send_status_),   \
		.is_fatal = true, .async_event = NONE, .counter = COUNTER_##counter_,              \
		.cause = RNIC_CAUSE_##cause_,                                                      \
	}

static const struct verdict_row verdict_rows[VERDICT_COUNT] = {
	[VERDICT_PASS] = ANSWER(PASS, ACK_SYNDROME, RECEIVED_PACKETS),
	[VERDICT_DUPLICATE] = ANSWER(DUPLICATE, ACK_SYNDROME, DUPLICATE_REQUESTS),
	[VERDICT_SEQUENCE_GAP] =
		ANSWER(SEQUENCE_GAP, NAK(PSN_SEQUENCE_ERROR), OUT_OF_SEQUENCE_REQUESTS),
	[VERDICT_BAD_SEQUENCE] = REFUSE(BAD_SEQUENCE, NAK(INVALID_REQUEST), REM_INV_REQ_ERR, false,
					EVENT(QP_REQ_ERR), BAD_REQUESTS),
	[VERDICT_BAD_OPERATION] = REFUSE(BAD_OPERATION, NAK(INVALID_REQUEST), REM_INV_REQ_ERR,
					 false, EVENT(QP_REQ_ERR), BAD_REQUESTS),
	[VERDICT_BAD_SRQ] = REFUSE(BAD_SRQ, NAK(INVALID_REQUEST), REM_INV_REQ_ERR, false,
				   EVENT(QP_REQ_ERR), BAD_REQUESTS),
	[VERDICT_TOO_MANY_READS] = REFUSE(TOO_MANY_READS, NAK(INVALID_REQUEST), REM_INV_REQ_ERR,
					  false, EVENT(QP_REQ_ERR), BAD_REQUESTS),
	[VERDICT_NO_RECEIVE] =
		{
			.syndrome = RNR_SYNDROME,
			.receive_status = NONE,
			.send_status = NONE,
			.async_event = NONE,
			.counter = COUNTER_SENT_RNR_NAKS,
			.unreliable_counter = COUNTER_DROPPED_NO_RECEIVE,
			.cause = RNIC_CAUSE_NO_RECEIVE,
		},
	[VERDICT_BAD_RECEIVE] = REFUSE_LOCAL(BAD_RECEIVE, LOC_QP_OP_ERR, true, NONE, LOCAL_ERRORS),
	[VERDICT_RECEIVE_PROTECTION] =
		REFUSE_LOCAL(RECEIVE_PROTECTION, LOC_PROT_ERR, true, NONE, LOCAL_ERRORS),
	[VERDICT_RECEIVE_TOO_SHORT] = REFUSE(RECEIVE_TOO_SHORT, NAK(INVALID_REQUEST), LOC_LEN_ERR,
					     true, NONE, BAD_REQUESTS),
	[VERDICT_BAD_LENGTH] = REFUSE(BAD_LENGTH, NAK(INVALID_REQUEST), REM_INV_REQ_ERR, false,
				      EVENT(QP_REQ_ERR), BAD_REQUESTS),
	[VERDICT_BAD_RKEY] = REFUSE(BAD_RKEY, NAK(REMOTE_ACCESS_ERROR), LOC_ACCESS_ERR, true,
				    EVENT(QP_ACCESS_ERR), ACCESS_ERRORS),
	[VERDICT_MISALIGNED_ATOMIC] =
		REFUSE(MISALIGNED_ATOMIC, NAK(INVALID_REQUEST), REM_INV_REQ_ERR, false,
		       EVENT(QP_REQ_ERR), BAD_REQUESTS),
	[VERDICT_BAD_INVALIDATE] =
		REFUSE(BAD_INVALIDATE, NO_NAK, REM_INV_REQ_ERR, true, NONE, ACCESS_ERRORS),
	[VERDICT_MEMORY_GONE] =
		REFUSE_LOCAL(MEMORY_GONE, LOC_PROT_ERR, false, EVENT(QP_FATAL), MEMORY_ERRORS),
	[VERDICT_PROGRAM_GONE] = REFUSE_GONE(NO_NAK),
	[VERDICT_PROGRAM_REFUSES] = REFUSE_GONE(NAK(REMOTE_ACCESS_ERROR)),
	[VERDICT_BAD_SERVICE] = ANSWER(BAD_SERVICE, NO_NAK, DROPPED_BAD_OPCODE),
	[VERDICT_BAD_PKEY] = ANSWER(BAD_PKEY, NO_NAK, DROPPED_BAD_PKEY),
	[VERDICT_BAD_QKEY] = ANSWER(BAD_QKEY, NO_NAK, DROPPED_BAD_QKEY),
	[VERDICT_BAD_PEER] = ANSWER(BAD_PEER, NO_NAK, DROPPED_BAD_PEER),
	[VERDICT_BAD_PORT] = ANSWER(BAD_PORT, NO_NAK, DROPPED_BAD_PORT),
	[VERDICT_BAD_STATE] = ANSWER(BAD_STATE, NO_NAK, DROPPED_BAD_STATE),

	[VERDICT_LOCAL_LENGTH] = GIVE_UP(LOCAL_LENGTH, LOC_LEN_ERR, LOCAL_ERRORS),
	[VERDICT_LOCAL_OPERATION] = GIVE_UP(LOCAL_OPERATION, LOC_QP_OP_ERR, LOCAL_ERRORS),
	[VERDICT_LOCAL_PROTECTION] = GIVE_UP(LOCAL_PROTECTION, LOC_PROT_ERR, LOCAL_ERRORS),
	[VERDICT_LOCAL_MEMORY_GONE] = GIVE_UP(LOCAL_MEMORY_GONE, LOC_PROT_ERR, MEMORY_ERRORS),
	[VERDICT_LOCAL_PROGRAM_GONE] = GIVE_UP(PROGRAM_GONE, LOC_PROT_ERR, MEMORY_ERRORS),
	[VERDICT_BIND_REFUSED] = GIVE_UP(BIND_REFUSED, MW_BIND_ERR, LOCAL_ERRORS),
	[VERDICT_INVALIDATE_REFUSED] = GIVE_UP(INVALIDATE_REFUSED, MW_BIND_ERR, LOCAL_ERRORS),

	[VERDICT_REMOTE_INVALID_REQUEST] =
		GIVE_UP(REMOTE_INVALID_REQUEST, REM_INV_REQ_ERR, REMOTE_ERRORS),
	[VERDICT_REMOTE_ACCESS] = GIVE_UP(REMOTE_ACCESS, REM_ACCESS_ERR, REMOTE_ERRORS),
	[VERDICT_REMOTE_OPERATIONAL] = GIVE_UP(REMOTE_OPERATIONAL, REM_OP_ERR, REMOTE_ERRORS),
	[VERDICT_BAD_RESPONSE] = GIVE_UP(BAD_RESPONSE, BAD_RESP_ERR, BAD_RESPONSES),
	[VERDICT_RETRY_EXCEEDED] = GIVE_UP(RETRY_EXCEEDED, RETRY_EXC_ERR, RETRY_EXCEEDED),
	[VERDICT_RNR_RETRY_EXCEEDED] =
		GIVE_UP(RNR_RETRY_EXCEEDED, RNR_RETRY_EXC_ERR, RNR_RETRY_EXCEEDED),

	[VERDICT_FLUSHED] =
		{
			.syndrome = NO_NAK,
			.receive_status = STATUS(WR_FLUSH_ERR),
			.send_status = STATUS(WR_FLUSH_ERR),
			.takes_receive = true,
			.is_fatal = true,
			.async_event = NONE,
			.counter = COUNTER_FLUSHED_COMPLETIONS,
			.cause = RNIC_CAUSE_FLUSHED,
		},
	[VERDICT_CQ_OVERRUN] =
		{
			.syndrome = NO_NAK,
			.receive_status = NONE,
			.send_status = NONE,
			.is_fatal = true,
			.async_event = EVENT(QP_FATAL),
			.counter = COUNTER_CQ_OVERRUNS,
			.cause = RNIC_CAUSE_CQ_OVERRUN,
		},
	[VERDICT_FIRST_PSN] = ANSWER(FIRST_PSN, NO_NAK, OUT_OF_SEQUENCE_REQUESTS),
	[VERDICT_ORDERED] =
		{
			.syndrome = NO_NAK,
			.receive_status = NONE,
			.send_status = NONE,
			.is_fatal = true,
			.async_event = EVENT(QP_FATAL),
			.counter = COUNTER_FLUSHED_COMPLETIONS,
			.cause = RNIC_CAUSE_ORDERED,
		},
};

const struct verdict_row *verdict_row(enum verdict verdict)
{
	assert(verdict < VERDICT_COUNT);
	return &verdict_rows[verdict];
}

enum verdict verdict_of_local_memory(int error)
{
	return error == -ESRCH ? VERDICT_LOCAL_PROGRAM_GONE : VERDICT_LOCAL_MEMORY_GONE;
}
