/* SPDX-License-Identifier: MIT */
/*
 * The round trip of a requester, measured by its own packets and smoothed as in RFC 6298: from a
 * packet that asks for an acknowledgement to the response that covers the packet. One packet is
 * timed at a time. A packet that was sent again is not (Karn's algorithm), as nobody knows which of
 * its copies the response is for.
 *
 * What follows from the round trip is how long a silence may last before a tail probe
 * (retry_timer.h): two round trips and four times their variation, which covers peers that sleep or
 * wait for a processor now and then. The wait doubles with each probe until a round trip was
 * measured again: so a peer that has become slow is measured after a few probes.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_ROUND_TRIP_H
#define LIB_NIC_ENGINE_RELIABILITY_ROUND_TRIP_H

#include "lib/nic/engine/reliability/reliability_state.h"
#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

/* The packet `psn` leaves at `now_ns` for the first time and asks for an acknowledgement. */
void round_trip_sent(struct round_trip *round_trip, struct rnic_psn psn, uint64_t now_ns);

/* Whether the packet that is timed is one of those before `end`. */
static inline bool round_trip_is_covered(const struct round_trip *round_trip, struct rnic_psn end)
{
	return round_trip->is_timing && rnic_psn_distance(end, round_trip->timed_psn) > 0;
}

/* At `now_ns` all packets before `end` are acknowledged. */
void round_trip_acknowledged(struct round_trip *round_trip, struct rnic_psn end, uint64_t now_ns);

/* What was sent may be sent again: nothing is timed any more. */
void round_trip_forget(struct round_trip *round_trip);

/*
 * A packet is sent again, and the answers to those behind it wait for it: they say nothing of the
 * round trip. The peer is there.
 */
void round_trip_wait_for_repair(struct round_trip *round_trip);

/* A tail probe is due: nothing is timed any more, and the next one has to wait for twice as long.
 */
void round_trip_probe(struct round_trip *round_trip);

/* An ACK timeout ended. Where no round trip is shorter than the timeout, none is ever measured. */
void round_trip_time_out(struct round_trip *round_trip);

/* How long an answer may take, by the measures; 0 when nothing was measured yet. */
static inline uint64_t round_trip_answer_ns(const struct round_trip *round_trip)
{
	return UINT64_C(2) * round_trip->smoothed_ns + UINT64_C(4) * round_trip->variation_ns;
}

/* How long a silence lasts before a tail probe; UINT64_MAX when nothing was measured yet. */
uint64_t round_trip_wait_ns(const struct round_trip *round_trip);

#endif
