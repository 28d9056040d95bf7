/* SPDX-License-Identifier: MIT */
/*
 * The work of a turn for all sessions: takes doorbells and WQEs, delivers completions and events,
 * announces sleep.
 */
#ifndef DAEMON_DEVICE_SESSION_TURN_H
#define DAEMON_DEVICE_SESSION_TURN_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

struct session_set;

/* Begins a turn: session_turn_deliver() ends the turn. */
void session_turn_begin(struct session_set *set, uint64_t now_ns);

/*
 * Takes doorbells and send WQEs of all sessions: a bounded number from each queue, and from all
 * queues together. Returns the number of WQEs taken, or 1 when it took only doorbells.
 */
uint32_t session_turn_take_work(struct session_set *set);

/*
 * Returns whether a turn would do anything: a queue holds WQEs that the engine has room for, or
 * completions or events wait for the end of a turn.
 */
bool session_turn_has_work(const struct session_set *set);

/*
 * Ends a turn. Tells clients what completed in this turn: wakes the clients that asked for it.
 * `is_busy` as for cqe_delivery_run().
 */
void session_turn_deliver(struct session_set *set, bool is_busy);

/*
 * Before sleeping: asks all awake clients to wake the daemon; the other clients are asked already.
 * The caller takes WQEs once more before it sleeps.
 */
void session_turn_announce_sleep(struct session_set *set);

/* Withdraws that request after sleeping, or when there was work after all. */
void session_turn_withdraw_sleep(struct session_set *set);

/* Looks at the doorbells of all sessions in the next turns. */
void session_turn_wake(struct session_set *set);

/* The GIDs from which queue pairs and address handles of clients send: a bit for each index. */
uint32_t session_turn_gids_used(const struct session_set *set);

/* Returns whether a queue pair or an address handle of any client has its peer at `dest`. */
bool session_turn_uses_dest(const struct session_set *set, const struct rnic_gid *dest);

#endif
