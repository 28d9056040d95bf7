/* SPDX-License-Identifier: MIT */
/*
 * Inbound payload goes to client memory in batches, many packets in one system call. What depends
 * on it waits here: completions, in the order in which they came about, until all payload received
 * before them is in place, and the failures of QPs that then turn out.
 *
 * Owned by the engine. Whoever changes what waiting things refer to (QPs, regions, a peer's view of
 * memory) calls placement_run() first. A completion waits only while payload does, so that one
 * which comes about outside a batch of received packets is delivered at once.
 */
#ifndef NIC_ENGINE_OBJECTS_PLACEMENT_H
#define NIC_ENGINE_OBJECTS_PLACEMENT_H

#include "base/list.h"
#include "base/verbs_types.h"
#include "wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

#define PLACEMENT_COMPLETIONS_MAX 256 /* a power of two */

struct cq;
struct engine;
struct memory_transfer;
struct qp;
struct srq;

/* A completed work entry, before it becomes an entry of the client's ring. */
struct cqe {
	uint64_t wr_id;
	struct qp *qp;
	struct srq *srq; /* that the receive came from; NULL: the QP's own queue */
	uint32_t byte_count;
	uint32_t immediate; /* or the invalidated rkey */
	uint32_t source_qpn;
	uint32_t vendor_error; /* enum verdict, 0 on success */
	uint32_t retired;      /* entries ever retired from the work queue, this one included */
	uint8_t status;	       /* enum rnic_wc_status */
	uint8_t opcode;	       /* enum rnic_wc_opcode */
	uint8_t wc_flags;      /* enum rnic_wc_flag */
	bool is_recv;
	bool is_solicited;
	bool is_silent; /* of an unsignaled entry: not to be delivered, unless it becomes an error
			 */
	uint8_t service_level;
	uint32_t source_gid_index;
};

/* What a payload on its way to client memory is part of. */
enum placement_origin {
	PLACEMENT_SEND,	    /* a request that holds the receive entry under way */
	PLACEMENT_WRITE,    /* a request that holds none */
	PLACEMENT_RESPONSE, /* the answer to the oldest entry of the send queue */
};

struct placement {
	struct {
		struct cq *cq;
		struct cqe cqe;
	} waiting[PLACEMENT_COMPLETIONS_MAX]; /* number i at i modulo its size */
	uint32_t queued;		      /* completions ever queued, and ever delivered */
	uint32_t delivered;
	struct list failing; /* struct qp with failures not acted upon */
	bool is_running;
};

/* What befell a QP while payload was placed. All zero but for the node: nothing. */
struct placement_failures {
	struct list node; /* in placement->failing, or unlinked */
	bool is_overrun;
	bool is_last_received; /* it went into error: its last receive from an SRQ is completed */
	bool has_request;      /* payload of a request was not put in place, or of a response */
	bool has_response;
	bool is_receive_at_fault; /* the receive entry under way is the one that failed */
	bool is_response_reported;
	struct rnic_psn request_psn; /* of the first such request */
	uint32_t request_msn;	     /* messages received before it */
};

/* Sets up engine->placement and engine->writes. */
void placement_init(struct engine *engine);

/*
 * Delivers a completion through the sink, once all payload received so far is in place. When it is
 * not to be delivered after all because its CQ has overflowed, the QP goes into error. If payload
 * that it speaks of, or earlier payload of the same work queue, cannot be put in place, it is
 * delivered as an error.
 */
void placement_cqe(struct engine *engine, struct cq *cq, const struct cqe *cqe);

/*
 * Sends a transfer of payload that came in packet `psn` for `qp` on its way to client memory.
 * Returns 0, or the error of a region that is written at once. Making room may show that earlier
 * payload failed: the caller looks whether the QP is in ERR now, and then nothing was written.
 */
int placement_write(struct engine *engine, struct qp *qp, const struct memory_transfer *transfer,
		    enum placement_origin origin, struct rnic_psn psn);

/* Raises RNIC_EVENT_QP_LAST_WQE_REACHED for `qp` once all its completions so far are delivered. */
void placement_last_receive(struct engine *engine, struct qp *qp);

/* Puts all payload in place, delivers what waits for it, and brings QPs whose payload could not be
 * put in place into error. */
void placement_run(struct engine *engine);

#endif
