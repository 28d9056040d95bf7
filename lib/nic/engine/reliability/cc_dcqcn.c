/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/cc_dcqcn.h"

#include "lib/nic/engine/engine_limits.h"
#include "proto/base/time_units.h"

#include <assert.h>

/* Steps of each kind that go half way back before the target grows. */
#define FAST_STEPS 5

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t cc_dcqcn_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void cc_dcqcn_init(struct cc_dcqcn *cc, uint64_t line_rate)
{
	assert(line_rate >= LIMIT_CC_LEAST_RATE);
	*cc = (struct cc_dcqcn){.line_rate = line_rate, .alpha = CC_DCQCN_ONE};
}

static void restart(struct cc_dcqcn *cc, uint64_t now_ns)
{
	cc->alpha_due_ns = now_ns + LIMIT_CC_ALPHA_NS;
	cc->increase_due_ns = now_ns + LIMIT_CC_INCREASE_NS;
	cc->step_bytes = 0;
	cc->time_steps = 0;
	cc->byte_steps = 0;
}

static void step(struct cc_dcqcn *cc)
{
	uint64_t growth = 0;

	if (cc->time_steps > FAST_STEPS && cc->byte_steps > FAST_STEPS)
		growth = LIMIT_CC_HYPER_INCREASE;
	else if (cc->time_steps > FAST_STEPS || cc->byte_steps > FAST_STEPS)
		growth = LIMIT_CC_ADDITIVE_INCREASE;
	cc->target = cc_dcqcn_least(cc->target + growth, cc->line_rate);
	/* Rounded up, so that it arrives. */
	cc->rate += (cc->target - cc->rate + 1) / 2;
	if (cc->rate == cc->line_rate)
		cc_dcqcn_init(cc, cc->line_rate);
}

/* Works off the timers that have expired. */
static void cc_dcqcn_advance(struct cc_dcqcn *cc, uint64_t now_ns)
{
	if (cc->is_limiting && now_ns >= cc->increase_due_ns + LIMIT_CC_FORGET_NS)
		cc_dcqcn_init(cc, cc->line_rate);
	while (cc->is_limiting && cc->increase_due_ns <= now_ns) {
		cc->increase_due_ns += LIMIT_CC_INCREASE_NS;
		cc->time_steps++;
		step(cc);
	}
	while (cc->is_limiting && cc->alpha_due_ns <= now_ns) {
		cc->alpha_due_ns += LIMIT_CC_ALPHA_NS;
		cc->alpha -= cc->alpha / LIMIT_CC_ALPHA_DIVISOR;
	}
}

void cc_dcqcn_notified(struct cc_dcqcn *cc, uint64_t least_rate, uint64_t now_ns)
{
	cc_dcqcn_advance(cc, now_ns);
	if (cc->is_limiting && cc->rate < least_rate)
		return;
	if (!cc->is_limiting) {
		cc->is_limiting = true;
		cc->rate = cc->line_rate;
		cc->free_ns = now_ns;
	}
	cc->target = cc->rate;
	cc->rate = most(cc->rate - cc->rate * cc->alpha / (2 * CC_DCQCN_ONE), least_rate);
	cc->alpha += (CC_DCQCN_ONE - cc->alpha) / LIMIT_CC_ALPHA_DIVISOR;
	restart(cc, now_ns);
}

bool cc_dcqcn_may_send(struct cc_dcqcn *cc, uint64_t now_ns, uint64_t *ready_ns)
{
	cc_dcqcn_advance(cc, now_ns);
	if (!cc->is_limiting || cc->free_ns <= now_ns)
		return true;
	*ready_ns = cc->free_ns + LIMIT_CC_BURST_NS / 2;
	return false;
}

void cc_dcqcn_sent(struct cc_dcqcn *cc, uint32_t bytes, uint64_t now_ns)
{
	if (!cc->is_limiting)
		return;
	/* Time that was not used is good for a burst, and no more. */
	if (cc->free_ns + LIMIT_CC_BURST_NS < now_ns)
		cc->free_ns = now_ns - LIMIT_CC_BURST_NS;
	cc->free_ns += bytes * RNIC_NS_PER_SECOND / cc->rate;
	cc->step_bytes += bytes;
	while (cc->is_limiting && cc->step_bytes >= LIMIT_CC_INCREASE_BYTES) {
		cc->step_bytes -= LIMIT_CC_INCREASE_BYTES;
		cc->byte_steps++;
		step(cc);
	}
}
