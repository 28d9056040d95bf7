/* SPDX-License-Identifier: MIT */
/*
 * Inbound payload goes to client memory in batches, many packets in one system call. Here
 * completions wait, in order, until all payload received before them is placed. So do the failures
 * of QPs that placement finds.
 *
 * The engine owns the placement. A function that changes what waiting completions refer to (QPs,
 * regions, a peer's view of memory) calls placement_run() first. A completion waits only while
 * payload waits: outside a batch of received packets, completions are delivered at once.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_PLACEMENT_H
#define LIB_NIC_ENGINE_OBJECTS_PLACEMENT_H

#include "lib/nic/engine/objects/placement_state.h"
#include "proto/wire/psn.h"

struct cq;
struct engine;
struct memory_transfer;
struct qp;
struct srq;

/* What a payload on its way to client memory is part of. */
enum placement_origin {
	PLACEMENT_SEND,	    /* a request that holds the receive WQE under way */
	PLACEMENT_WRITE,    /* a request that holds none */
	PLACEMENT_RESPONSE, /* the answer to the oldest WQE of the send queue */
};

/* Sets up engine->placement and engine->writes; `failed` acts on the failures of a QP. */
void placement_init(struct engine *engine, placement_failed_function *failed);

/*
 * Delivers a completion through the sink, once all payload received so far is placed. If the CQ has
 * overflowed, the completion is lost and the QP goes into error. If the completion's payload, or
 * earlier payload of the same QP, cannot be placed, the completion is delivered as an error.
 */
void placement_cqe(struct engine *engine, struct cq *cq, const struct cqe *cqe);

/*
 * Sends a transfer of payload that came in packet `psn` for `qp` on its way to client memory.
 * Returns 0, or the error of a region that is written at once. Making room may show that earlier
 * payload failed: the caller looks whether the QP is in ERR now, and then nothing was written.
 */
int placement_write(struct engine *engine, struct qp *qp, const struct memory_transfer *transfer,
		    enum placement_origin origin, struct rnic_psn psn);

/*
 * Returns room for the header of a datagram, RNIC_GRH_BYTES. The room is the caller's until all
 * payload received so far is placed. Making room may show that earlier payload failed, as in
 * placement_write().
 */
uint8_t *placement_header(struct engine *engine);

/* Raises RNIC_EVENT_QP_LAST_WQE_REACHED for `qp` once all its completions so far are delivered. */
void placement_last_receive(struct engine *engine, struct qp *qp);

/* Places all payload, delivers the completions that wait, and brings the QPs whose payload could
 * not be placed into error. */
void placement_run(struct engine *engine);

#endif
