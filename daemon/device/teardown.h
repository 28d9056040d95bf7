/* SPDX-License-Identifier: MIT */
/*
 * The end of a session. At once the session can reach nothing and nobody can reach it: protection
 * domains and XRC domains are closed, the doorbell is gone. What the session owned is freed a
 * little in each turn, since there may be hundreds of thousands of objects, for which the other
 * clients must not wait.
 */
#ifndef DAEMON_DEVICE_TEARDOWN_H
#define DAEMON_DEVICE_TEARDOWN_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Cuts a session off. */
void teardown_begin(struct session *session);

/*
 * Frees what a session that was cut off owns, at a cost of about `budget`, from which the cost is
 * taken: 1 for a small object, more for a mapped one. Returns whether all is freed, and the session
 * is no more.
 */
bool teardown_run(struct session *session, uint32_t *budget);

#endif
