/* SPDX-License-Identifier: MIT */
/* Completion queues as the engine sees them: a destination of completions and a state of error. */
#ifndef DAEMON_ENGINE_CQ_H
#define DAEMON_ENGINE_CQ_H

#include <stdbool.h>
#include <stdint.h>

struct completion;
struct engine;

struct cq {
	uint32_t references; /* QPs, counted once for sending and once for receiving */
	bool overrun;	     /* a completion was lost; no more are delivered */
	void *user;	     /* the owner's */
};

/*
 * Delivers a completion through the sink, after all payload received so far was put in place. On
 * the first one that does not fit, raises RNIC_EVENT_CQ_ERR, and brings the completion's QP into
 * error.
 */
void cq_complete(struct engine *engine, struct cq *cq, const struct completion *completion);

#endif
