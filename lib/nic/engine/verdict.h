/* SPDX-License-Identifier: MIT */
/*
 * Everything that can be wrong with a request or a response, and what follows, as one table:
 * verdict x service -> reply, completion, effect on the QP, counter, and the cause, in causes.def.
 *
 * Checks return a verdict and do nothing; only the table's readers act. IBTA 1.4, 9.9 and tables
 * 60, 61.
 */
#ifndef LIB_NIC_ENGINE_VERDICT_H
#define LIB_NIC_ENGINE_VERDICT_H

#include "lib/nic/engine/counters.h"

#include <stdbool.h>
#include <stdint.h>

enum verdict {
	VERDICT_PASS = 0,

	/* The responder on a request. */
	VERDICT_DUPLICATE,	    /* PSN in the past: replay */
	VERDICT_SEQUENCE_GAP,	    /* PSN in the future: NAK once */
	VERDICT_BAD_SEQUENCE,	    /* FIRST, MIDDLE, LAST, ONLY out of place */
	VERDICT_BAD_OPERATION,	    /* the service or the QP's access flags do not allow it */
	VERDICT_BAD_SRQ,	    /* XRC: the SRQ is none of the QP's domain */
	VERDICT_TOO_MANY_READS,	    /* more READs and atomics than max_dest_rd_atomic */
	VERDICT_NO_RECEIVE,	    /* no receive WQE is posted: RNR */
	VERDICT_BAD_RECEIVE,	    /* the receive WQE is malformed */
	VERDICT_RECEIVE_PROTECTION, /* lkey, range, rights or PD of a receive WQE's SGE */
	VERDICT_RECEIVE_TOO_SHORT,  /* the message is longer than the receive WQE */
	VERDICT_BAD_LENGTH, /* packet payload against path MTU, or message against RETH length */
	VERDICT_BAD_RKEY,   /* key, range, rights or protection domain */
	VERDICT_MISALIGNED_ATOMIC,
	VERDICT_BAD_INVALIDATE,	 /* SEND with invalidate of a key that cannot be */
	VERDICT_MEMORY_GONE,	 /* the bytes could not be reached: the client unmapped them */
	VERDICT_PROGRAM_GONE,	 /* the same, because the client has ended: nobody answers */
	VERDICT_PROGRAM_REFUSES, /* and memory goes before queue pairs: the key is void */

	/* Packets that do not concern the QP: dropped in silence. */
	VERDICT_BAD_STATE,   /* the QP cannot receive now */
	VERDICT_BAD_SERVICE, /* of another service than the QP's */
	VERDICT_BAD_PKEY,    /* of another partition */
	VERDICT_BAD_QKEY,
	VERDICT_BAD_PEER, /* from an address that is not the QP's peer */
	VERDICT_BAD_PORT, /* from a UDP port that is not the peer's */

	/* The requester on its own WQE. */
	VERDICT_LOCAL_LENGTH,	  /* longer than a message may be */
	VERDICT_LOCAL_OPERATION,  /* malformed WQE: opcode, SGE count, inline */
	VERDICT_LOCAL_PROTECTION, /* lkey, range, rights or protection domain of an SGE */
	VERDICT_LOCAL_MEMORY_GONE,
	VERDICT_LOCAL_PROGRAM_GONE, /* the same, because the client has ended */
	VERDICT_BIND_REFUSED,	    /* the window cannot be bound so */
	VERDICT_INVALIDATE_REFUSED, /* LOCAL_INVALIDATE of a key that cannot be */

	/* The requester on a response. */
	VERDICT_REMOTE_INVALID_REQUEST,
	VERDICT_REMOTE_ACCESS,
	VERDICT_REMOTE_OPERATIONAL,
	VERDICT_BAD_RESPONSE, /* unexpected opcode, length or syndrome */
	VERDICT_RETRY_EXCEEDED,
	VERDICT_RNR_RETRY_EXCEEDED,

	VERDICT_FLUSHED,
	VERDICT_CQ_OVERRUN,
	VERDICT_ORDERED, /* somebody wanted the error: rnicctl */

	/* Seen, and no request ends for it. */
	VERDICT_FIRST_PSN, /* the first packets have a PSN far from the one that was agreed on */
	VERDICT_COUNT,
};

/* No NAK, no completion status: values that name "nothing" in the table. */
#define VERDICT_NO_SYNDROME 0xff
#define VERDICT_NO_STATUS   0xff

/* Members that are not there are VERDICT_NO_SYNDROME or VERDICT_NO_STATUS. */
struct verdict_row {
	uint8_t syndrome;	/* AETH syndrome that answers an RC request */
	uint8_t receive_status; /* enum rnic_wc_status of the receive WQE under way */
	uint8_t send_status;	/* enum rnic_wc_status of the send WQE */
	bool takes_receive;	/* uses up the receive WQE under way, or that of a first packet */
	bool is_fatal;		/* the QP goes to ERR (RC); UC and UD: see below */
	uint8_t async_event;	/* enum rnic_async_event_type raised with it */
	uint8_t counter;	/* enum counter */
	/*
	 * UC and UD, where nothing is answered, and where the responder only drops most wrong
	 * messages (classes D of the tables): which faults, on our side, bring the QP into ERR all
	 * the same, and which counter counts them.
	 */
	bool is_fatal_unreliable;
	uint8_t unreliable_counter;
	uint8_t cause; /* enum rnic_cause, which has words for people; the vendor_err of completions
			*/
};

const struct verdict_row *verdict_row(enum verdict verdict);

/* Of the requester's own memory: -EFAULT, or -ESRCH where the client has ended. */
enum verdict verdict_of_local_memory(int error);

#endif
