/* SPDX-License-Identifier: MIT */
/*
 * The end of a session. At once it can reach nothing and nobody can reach it: its connection is
 * shut down, its protection domains and XRC domains are closed, and whoever looks at a session
 * finds it broken. What it owned is freed a little in each turn, since there may be hundreds of
 * thousands of things, for which the other clients must not wait. The connections of all sessions
 * go before anything else: peers wait to hear of their end, and whoever starts the program again
 * for its port.
 */
#ifndef DAEMON_DEVICE_SESSION_TEARDOWN_H
#define DAEMON_DEVICE_SESSION_TEARDOWN_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* Cuts a broken session off. */
void teardown_begin(struct session *session);

/*
 * Ends its connections and listeners, as far as `budget` goes, from which 1 is taken for each. When
 * that were all, the session goes from session_set.leaving to session_set.ending.
 */
void teardown_disconnect(struct session *session, uint32_t *budget);

/*
 * Frees what a session that was cut off owns, at a cost of about `budget`, from which that is
 * taken: 1 for what is small, more for what is mapped. Returns whether that was all, and the
 * session is no more.
 */
bool teardown_run(struct session *session, uint32_t *budget);

/* Both, however long it takes. */
void teardown_at_once(struct session *session);

#endif
