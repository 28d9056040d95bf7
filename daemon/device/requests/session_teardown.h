/* SPDX-License-Identifier: MIT */
/*
 * The end of a session, as steps in the end of its peer (peer_teardown.h): cut off at once, freed
 * by and by.
 */
#ifndef DAEMON_DEVICE_REQUESTS_SESSION_TEARDOWN_H
#define DAEMON_DEVICE_REQUESTS_SESSION_TEARDOWN_H

#include "daemon/shared/served_peer/peer_teardown.h"

struct session;

/* The stages that free all objects of a session, and leave the session itself. */
extern const struct teardown_stage session_teardown_stages[];

/*
 * Cuts a session off: closes protection domains, XRC domains and the doorbell, so that the session
 * can reach nothing and nothing can reach the session.
 */
void session_teardown_cut(struct session *session);

/*
 * The same in two steps. Between them the session reaches nothing, and what reaches its queue pairs
 * is refused: the memory has gone.
 */
void session_teardown_cut_memory(struct session *session);
void session_teardown_cut_queue_pairs(struct session *session);

#endif
