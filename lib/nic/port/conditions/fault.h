/* SPDX-License-Identifier: MIT */
/*
 * A port that does to datagrams what bad networks do, and hands them to the next port: it drops,
 * duplicates, delays, reorders, corrupts and marks by rules (fault_rule.h). Seeded and without a
 * clock, so that the same calls have the same effect, in a simulation and in a daemon with --fault.
 *
 * Datagrams held back lie in a pool of fixed size. One that finds the pool full is lost, as in a
 * network whose queue is full, and counted. The next port belongs to this one: closing closes it
 * too.
 */
#ifndef NIC_PORT_CONDITIONS_FAULT_H
#define NIC_PORT_CONDITIONS_FAULT_H

#include "port/conditions/fault_rule.h"
#include "port/port.h"

/* Datagrams that can be held back at once. */
#define FAULT_HELD_MAX 4096

/*
 * Puts the rules of `spec` in front of `next`. -EINVAL with a sentence in `message`, -ENOMEM;
 * `next` is then still the caller's.
 *
 * transmit() sends what has become due, and with a count of 0 does nothing else: call it at
 * next_deadline_ns(). A datagram that is to be reordered goes behind at least as many others as
 * its rule says, or after 1 ms when nothing follows. What is corrupted on its way in has `damage`
 * set, for those who want to know whether the ICRC was noticed to be wrong.
 */
int fault_open(struct port *next, const char *spec, struct port **port, char *message,
	       size_t message_bytes);

/* The rules with their counts, for rnicctl. Good until the port is closed. */
const struct fault_plan *fault_plan_of(const struct port *port);

/* Datagrams lost because too many were held back. */
uint64_t fault_lost_datagrams(const struct port *port);

#endif
