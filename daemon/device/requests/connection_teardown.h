/* SPDX-License-Identifier: MIT */
/*
 * Ends the clients of device connections. The first step cuts a client off at once: its connection
 * is shut down, and its session can reach nothing. Each later turn frees a few of the session's
 * objects: there may be hundreds of thousands, and the other clients must not wait for them.
 */
#ifndef DAEMON_DEVICE_REQUESTS_CONNECTION_TEARDOWN_H
#define DAEMON_DEVICE_REQUESTS_CONNECTION_TEARDOWN_H

#include <stdint.h>

struct connection_set;

/*
 * Ends the clients that were broken, and the clients that did not say OPEN_DEVICE in time, in as
 * many calls as it takes. Call it where no pointer to a connection or session is held.
 */
void connection_teardown_run(struct connection_set *set);

/* Ends all clients, however long it takes. */
void connection_teardown_all(struct connection_set *set);

/* Returns the earliest deadline for OPEN_DEVICE; UINT64_MAX: there is none. */
uint64_t connection_teardown_next_ns(const struct connection_set *set);

#endif
