/* SPDX-License-Identifier: MIT */
/*
 * The end of a session. At once it can reach nothing and nobody can reach it: its connection is
 * shut down, its protection domains and XRC domains are closed, and whoever looks at a session
 * finds it broken. What it owned is freed a little in each turn, since there may be hundreds of
 * thousands of things, for which the other clients must not wait.
 */
#ifndef DAEMON_SESSION_TEARDOWN_H
#define DAEMON_SESSION_TEARDOWN_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Cuts a broken session off. */
void teardown_begin(struct session *session);

/*
 * Frees what a session that was cut off owns, at a cost of about `budget`, from which that is
 * taken: 1 for what is small, more for what is mapped. Returns whether that was all, and the
 * session is no more.
 */
bool teardown_run(struct session *session, uint32_t *budget);

/* Both, however long it takes. */
void teardown_at_once(struct session *session);

#endif
