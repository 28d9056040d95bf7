/* SPDX-License-Identifier: MIT */
/*
 * DCQCN, the congestion control of RoCEv2 (Zhu et al., SIGCOMM 2015, section 3.1): the reaction of
 * one sender to congestion notifications. A pure state machine that is told the time; a caller that
 * looks runs the timers that are due. Parameters: LIMIT_CC_* in engine_limits.h.
 *
 * A notification cuts the rate by alpha / 2, where alpha estimates how much of the traffic was
 * marked. Then the rate recovers in steps, one for each LIMIT_CC_INCREASE_NS and one for each
 * LIMIT_CC_INCREASE_BYTES sent: first half way back to the target, the rate before the cut, five
 * times, then towards a target that grows slowly, and fast once both kinds of steps were many.
 *
 * Invariant: while is_limiting, LIMIT_CC_LEAST_RATE <= rate <= target <= line_rate.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_CC_DCQCN_H
#define LIB_NIC_ENGINE_RELIABILITY_CC_DCQCN_H

#include <stdbool.h>
#include <stdint.h>

/* Rates are in bytes a second, alpha in parts of CC_DCQCN_ONE. */
#define CC_DCQCN_ONE 65536

struct cc_dcqcn {
	uint64_t line_rate;
	uint64_t rate;
	uint64_t target;
	uint64_t alpha_due_ns;	  /* alpha decays unless notified before */
	uint64_t increase_due_ns; /* the next step by time */
	uint64_t step_bytes;	  /* sent since the last step by bytes */
	uint64_t free_ns;	  /* what was sent has left by then, at this rate */
	uint32_t alpha;
	uint32_t time_steps; /* since the last cut */
	uint32_t byte_steps;
	bool is_limiting; /* else everything may leave at once */
};

/* `line_rate` is at least LIMIT_CC_LEAST_RATE (asserted). */
void cc_dcqcn_init(struct cc_dcqcn *cc, uint64_t line_rate);

/*
 * A congestion notification came, which takes the rate to `least_rate` at most: LIMIT_CC_LEAST_RATE
 * or more. It neither takes a rate below that any further, nor keeps that from growing.
 */
void cc_dcqcn_notified(struct cc_dcqcn *cc, uint64_t least_rate, uint64_t now_ns);

/*
 * Whether a packet may leave now. When not, `*ready_ns` is the instant from which on half of
 * LIMIT_CC_BURST_NS of traffic may leave at once, so that the sender sleeps in between.
 */
bool cc_dcqcn_may_send(struct cc_dcqcn *cc, uint64_t now_ns, uint64_t *ready_ns);

/* `bytes` leave, as cc_dcqcn_may_send() said at the same instant. */
void cc_dcqcn_sent(struct cc_dcqcn *cc, uint32_t bytes, uint64_t now_ns);

#endif
