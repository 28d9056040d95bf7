/* SPDX-License-Identifier: MIT */
/* What the device does with all sessions in a turn: takes doorbells and work, delivers completions
 * and events, announces sleep. */
#ifndef DAEMON_DEVICE_SESSION_TURN_H
#define DAEMON_DEVICE_SESSION_TURN_H

#include "base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

struct session_set;

/*
 * Takes doorbells and send entries of all sessions, a bounded number of each queue and of all
 * queues. Returns how many entries were taken, or 1 when doorbells were.
 */
uint32_t session_turn_take_work(struct session_set *set);

/* Whether a queue still holds entries that could be taken at once. */
bool session_turn_has_work(const struct session_set *set);

/* Lets clients know what completed in this turn: wakes those that asked for it. `is_busy` as for
 * cqe_delivery_run(). */
void session_turn_deliver(struct session_set *set, bool is_busy);

/* Before sleeping: asks all clients that are awake to ring, as the others are already. The caller
 * takes work once more before it sleeps. */
void session_turn_announce_sleep(struct session_set *set);

/* After sleeping, or when there was work after all. */
void session_turn_withdraw_sleep(struct session_set *set);

/* Whether a queue pair or an address handle of any client sends from the GID at `index`. */
bool session_turn_uses_gid(const struct session_set *set, uint32_t index);

/* Whether a queue pair or an address handle of any client has its peer at `dest`. */
bool session_turn_uses_dest(const struct session_set *set, const struct rnic_gid *dest);

#endif
