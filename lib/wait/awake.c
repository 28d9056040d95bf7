/* SPDX-License-Identifier: MIT */
#include "lib/wait/awake.h"

#include "proto/base/time_units.h"

#define ANY_NS	  UINT64_MAX
#define ANY_COUNT UINT32_MAX

const struct awake_rule awake_rules[AWAKE_WHO_COUNT] = {
	[AWAKE_DEVICE_PROCESS] = {.awake_ns = 200 * RNIC_NS_PER_US,
				  .short_ns = ANY_NS,
				  .near_ns = 20 * RNIC_NS_PER_US,
				  .looks = ANY_COUNT},
	/* A program that asks a sleeping loop waits longer for the wake-up than for the answer. */
	[AWAKE_CONTROL_PLANE] = {.awake_ns = 100 * RNIC_NS_PER_US,
				 .short_ns = ANY_NS,
				 .looks = ANY_COUNT},
	[AWAKE_DEVICE_THREAD] = {.awake_ns = 50 * RNIC_NS_PER_US,
				 .short_ns = ANY_NS,
				 .near_ns = 20 * RNIC_NS_PER_US,
				 .looks = ANY_COUNT,
				 .yields_near = true},
	/*
	 * A wait of up to 500 us may become short once both sides stay awake: in a virtual machine
	 * two wake-ups may take that long.
	 */
	[AWAKE_DEVICE_WAITER] = {.awake_ns = 200 * RNIC_NS_PER_US,
				 .short_ns = 500 * RNIC_NS_PER_US,
				 .near_ns = 20 * RNIC_NS_PER_US,
				 .looks = ANY_COUNT,
				 .yields_near = true,
				 .yields = YIELD_UNLESS_ALONE},
	/* A poller may hold the core that the daemon or the peer needs. */
	[AWAKE_POLLER] = {.awake_ns = ANY_NS, .short_ns = ANY_NS, .turns = 4, .looks = 4096},
	/* Each poll there looks for arrivals, and a yield would delay the look. */
	[AWAKE_POLLER_IN_DEVICE] = {.awake_ns = ANY_NS,
				    .short_ns = ANY_NS,
				    .turns = 4,
				    .looks = 4096,
				    .yields = YIELD_UNLESS_ALONE},
	/* Most answers come before that; the others need a wake-up. */
	[AWAKE_CALLER] = {.awake_ns = 50 * RNIC_NS_PER_US, .short_ns = ANY_NS, .looks = ANY_COUNT},
	[AWAKE_EXPECTANT_CALLER] = {.awake_ns = 50 * RNIC_NS_PER_US,
				    .short_ns = 500 * RNIC_NS_PER_US,
				    .looks = ANY_COUNT},
	/* awake_ns is polling_time of rdma-core's configuration, 10 us without one. */
	[AWAKE_RSOCKET] = {.awake_ns = 10 * RNIC_NS_PER_US,
			   .short_ns = ANY_NS,
			   .looks = ANY_COUNT,
			   .yields = YIELD_NEVER},
	[AWAKE_RSOCKET_WRITER] = {.awake_ns = 400 * RNIC_NS_PER_US,
				  .short_ns = ANY_NS,
				  .looks = ANY_COUNT,
				  .yields = YIELD_NEVER},
};

struct awake_rule awake_rule_of(enum awake_who who, enum poll_mode mode)
{
	struct awake_rule rule = awake_rules[who];

	if (mode == POLL_BUSY)
		rule.turns = ANY_COUNT;
	if (mode == POLL_SLEEP)
		rule.awake_ns = 0;
	return rule;
}

void awake_note_yield(struct awake *awake, uint64_t began_ns, uint64_t ended_ns)
{
	const uint64_t lost_ns = ended_ns - began_ns;

	if (lost_ns >= AWAKE_LONG_YIELD_NS)
		awake->sleep_until_ns = ended_ns + lost_ns * AWAKE_SHARE;
	if (lost_ns < AWAKE_QUICK_YIELD_NS)
		awake->alone_until_ns = ended_ns + AWAKE_ALONE_NS;
}

void awake_note_sleep(struct awake *awake, uint64_t wanted_ns, uint64_t took_ns)
{
	const uint64_t late_ns = took_ns > wanted_ns ? took_ns - wanted_ns : 0;

	if (late_ns < AWAKE_LONG_YIELD_NS)
		awake->late_ns = 0;
	else
		awake->late_ns = late_ns < AWAKE_SLEEP_MOST_NS ? late_ns : AWAKE_SLEEP_MOST_NS;
}

static bool awake_stays(const struct awake *awake, const struct awake_rule *rule, uint64_t now_ns)
{
	return awake->looks < rule->looks && now_ns - awake->since_ns < rule->awake_ns &&
	       awake->last_wait_ns <= rule->short_ns && now_ns >= awake->sleep_until_ns;
}

static bool awake_yields(const struct awake *awake, const struct awake_rule *rule, uint64_t now_ns)
{
	return rule->yields == YIELD_ALWAYS ||
	       (rule->yields == YIELD_UNLESS_ALONE && now_ns >= awake->alone_until_ns);
}

enum awake_step awake_next(const struct awake *awake, const struct awake_rule *rule,
			   uint64_t now_ns)
{
	if (awake_turns_at_once(awake, rule))
		return AWAKE_TURN;
	if (!awake_stays(awake, rule, now_ns))
		return AWAKE_SLEEP;
	return awake_yields(awake, rule, now_ns) ? AWAKE_YIELD : AWAKE_TURN;
}

enum awake_step awake_before_sleep(const struct awake_rule *rule, uint64_t now_ns,
				   uint64_t deadline_ns)
{
	if (deadline_ns > now_ns && deadline_ns - now_ns >= rule->near_ns)
		return AWAKE_SLEEP;
	return rule->yields_near ? AWAKE_YIELD : AWAKE_TURN;
}
