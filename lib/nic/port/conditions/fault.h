/* SPDX-License-Identifier: MIT */
/*
 * A port that treats datagrams as bad networks do, and gives them to the next port: it drops,
 * duplicates, delays, reorders, corrupts and marks by rules (fault_rule.h). Seeded and without a
 * clock, so that the same calls have the same effect, in a simulation and in a daemon with --fault.
 *
 * Held datagrams lie in a pool, which grows up to FAULT_HELD_MAX. A datagram that finds the pool
 * full, or no more memory, is lost, as in a network with a full queue, and counted. Due datagrams
 * go to the next port in batches. This port owns the next port: closing closes that too.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_FAULT_H
#define LIB_NIC_PORT_CONDITIONS_FAULT_H

#include "lib/nic/port/conditions/fault_rule.h"
#include "lib/nic/port/port.h"

/* The most datagrams that the port holds back at once: 100 ms of 10 Gb/s at a path MTU of 1024. */
#define FAULT_HELD_MAX 131072

/*
 * Puts the rules of `spec` in front of `next`. -EINVAL with a sentence in `message`, -ENOMEM;
 * `next` is then still the caller's.
 *
 * transmit() sends the due datagrams, and with a count of 0 does nothing else: call it at
 * next_deadline_ns(). A reordered datagram goes behind at least as many others as its rule says, or
 * after 1 ms when nothing follows. A datagram corrupted on its way in has `damage` set, for callers
 * that check whether the wrong ICRC was detected.
 */
int fault_open(struct port *next, const char *spec, struct port **port, char *message,
	       size_t message_bytes);

/*
 * Starts the random numbers again from the specification's seed plus `offset`, before the first
 * datagram: processes that share a specification then lose different datagrams.
 */
void fault_offset_seed(struct port *port, uint64_t offset);

/* The rules with their counts, for rnicctl. Valid until the port is closed. */
const struct fault_plan *fault_plan_of(const struct port *port);

/* The number of datagrams that were lost because the pool was full. */
uint64_t fault_lost_datagrams(const struct port *port);

#endif
