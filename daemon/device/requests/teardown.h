/* SPDX-License-Identifier: MIT */
/*
 * Ends a session. The first step cuts the session off at once: it closes protection domains, XRC
 * domains and the doorbell, so that the session can reach nothing and nothing can reach the
 * session. Each later turn frees a few of the session's objects: there may be hundreds of
 * thousands, and the other clients must not wait for them.
 */
#ifndef DAEMON_DEVICE_REQUESTS_TEARDOWN_H
#define DAEMON_DEVICE_REQUESTS_TEARDOWN_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Cuts a session off. */
void teardown_begin(struct session *session);

/*
 * Frees the objects of a session that was cut off, at a cost of about `budget`, and subtracts the
 * cost from the budget: 1 for a small object, more for a mapped one. Returns true when it has freed
 * everything, the session included.
 */
bool teardown_run(struct session *session, uint32_t *budget);

#endif
