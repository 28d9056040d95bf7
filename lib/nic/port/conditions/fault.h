/* SPDX-License-Identifier: MIT */
/*
 * A port that treats datagrams as bad networks do, and gives them to the next port: it drops,
 * duplicates, delays, reorders, corrupts and marks by rules (fault_plan.h). Seeded and without a
 * clock, so that the same calls have the same effect, in a simulation and in a daemon with --fault.
 *
 * Held datagrams lie in a pool, which grows up to HELD_MAX. A datagram that finds the pool
 * full, or no more memory, is lost, as in a network with a full queue, and counted. Due datagrams
 * go to the next port in batches. This port owns the next port: closing closes that too.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_FAULT_H
#define LIB_NIC_PORT_CONDITIONS_FAULT_H

#include "lib/nic/port/conditions/capture.h"
#include "lib/nic/port/conditions/fault_plan.h"
#include "lib/nic/port/port.h"

/*
 * Puts a port without rules in front of `next`, which stays the caller's when there is no memory:
 * NULL. `seed` decides which bit of a packet is corrupted.
 *
 * transmit() sends the due datagrams, and with a count of 0 does nothing else: call it at
 * next_deadline_ns(). A reordered datagram goes behind at least as many others as its rule says, or
 * after 1 ms when nothing follows. A datagram corrupted on its way in has `damage` set, for callers
 * that check whether the wrong ICRC was detected.
 */
struct port *fault_create(struct port *next, uint64_t seed);

/*
 * The same with the rules of `spec`. -EINVAL with a sentence in `message`, -ENOMEM; `next` is then
 * still the caller's.
 */
int fault_open(struct port *next, const char *spec, struct port **port, char *message,
	       size_t message_bytes);

/*
 * Takes the port away, and returns the next one. What it held back is sent at once, as far as the
 * next port takes it; of what has come, it is lost.
 */
struct port *fault_remove(struct port *port, uint64_t now_ns);

/*
 * The ports to receive from and to send to until the rules change: this one, or the next one where
 * neither a rule nor a held datagram concerns that direction.
 */
struct port *fault_receiver(struct port *port);
struct port *fault_sender(struct port *port);

/* fault_plan_set() of the port's rules, between its calls. */
void fault_set_rule(struct port *port, uint32_t slot, uint32_t id, const struct fault_rule *rule,
		    uint64_t now_ns);

/* The rules with their counts. */
const struct fault_plan *fault_plan_of(struct port *port);

/* From now on `capture`, which is below or NULL, hears what becomes of packets. */
void fault_tell_capture(struct port *port, struct capture *capture);

/* The number of datagrams that were lost because the pool was full. */
uint64_t fault_lost_datagrams(const struct port *port);

#endif
