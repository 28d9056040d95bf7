/* SPDX-License-Identifier: MIT */
/* Completion queues as the engine sees them: a destination of completions and a state of error. */
#ifndef LIB_NIC_ENGINE_OBJECTS_CQ_H
#define LIB_NIC_ENGINE_OBJECTS_CQ_H

#include <stdbool.h>
#include <stdint.h>

struct cqe;
struct engine;

struct cq {
	uint32_t references; /* QPs, counted once for sending and once for receiving */
	bool overrun;	     /* a completion was lost; no more are delivered */
	void *user;	     /* the owner's */
};

/*
 * Delivers a completion through the sink; only placement.h calls this, since payload may have to be
 * placed first. False when the completion, or an earlier one, did not fit: the caller brings the
 * completion's QP into error. The first time raises RNIC_EVENT_CQ_ERR.
 */
bool cq_deliver(struct engine *engine, struct cq *cq, const struct cqe *cqe);

#endif
