/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/round_trip.h"

#include "lib/nic/engine/engine_limits.h"

/* RFC 6298: the weight of a new value is 1/8 in the mean and 1/4 in its variation. */
#define SMOOTHED_PARTS	8
#define VARIATION_PARTS 4

/* Waits of a minute come after every ACK timeout that a program would choose. */
#define DOUBLINGS_MAX 16

#define LONGEST_NS UINT64_C(1000000000)

static void take_measure(struct round_trip *round_trip, uint32_t ns)
{
	uint32_t smoothed_ns = round_trip->smoothed_ns;
	uint32_t off_ns = ns < smoothed_ns ? smoothed_ns - ns : ns - smoothed_ns;

	round_trip->doublings = 0;
	round_trip->timeouts = 0;
	if (smoothed_ns == 0) {
		round_trip->smoothed_ns = ns;
		round_trip->variation_ns = ns / 2;
		return;
	}
	round_trip->variation_ns -= round_trip->variation_ns / VARIATION_PARTS;
	round_trip->variation_ns += off_ns / VARIATION_PARTS;
	round_trip->smoothed_ns -= smoothed_ns / SMOOTHED_PARTS;
	round_trip->smoothed_ns += ns / SMOOTHED_PARTS;
}

void round_trip_sent(struct round_trip *round_trip, struct rnic_psn psn, uint64_t now_ns)
{
	if (round_trip->is_timing)
		return;
	round_trip->is_timing = true;
	round_trip->timed_psn = psn;
	round_trip->departure.sent_ns = now_ns;
}

void round_trip_acknowledged(struct round_trip *round_trip, struct rnic_psn end, uint64_t now_ns)
{
	uint64_t ns = now_ns - round_trip->departure.sent_ns;

	if (!round_trip_is_covered(round_trip, end))
		return;
	round_trip->is_timing = false;
	if (round_trip->departure.waits_for_repair)
		return;
	/* 0 stands for no measure. */
	if (ns == 0)
		ns = 1;
	take_measure(round_trip, (uint32_t)(ns < LONGEST_NS ? ns : LONGEST_NS));
}

void round_trip_wait_for_repair(struct round_trip *round_trip)
{
	round_trip->departure.waits_for_repair = true;
	round_trip->doublings = 0;
}

void round_trip_forget(struct round_trip *round_trip)
{
	round_trip->is_timing = false;
}

void round_trip_probe(struct round_trip *round_trip)
{
	round_trip_forget(round_trip);
	if (round_trip->doublings < DOUBLINGS_MAX)
		round_trip->doublings++;
}

void round_trip_time_out(struct round_trip *round_trip)
{
	if (round_trip->timeouts < DOUBLINGS_MAX)
		round_trip->timeouts++;
}

uint64_t round_trip_wait_ns(const struct round_trip *round_trip)
{
	const uint64_t ns = round_trip_answer_ns(round_trip);

	if (round_trip->smoothed_ns == 0)
		return UINT64_MAX;
	return (ns > LIMIT_TAIL_PROBE_NS ? ns : LIMIT_TAIL_PROBE_NS) << round_trip->doublings;
}
