/* SPDX-License-Identifier: MIT */
/* Clients for the tests of a session set, which play their part themselves. */
#ifndef TESTS_UNIT_SESSION_CLIENT_FIXTURE_H
#define TESTS_UNIT_SESSION_CLIENT_FIXTURE_H

#include "device/session/session.h"

#include <sys/types.h>

/*
 * A client of `uid` that has connected and sent nothing yet. Its end of the connection, which does
 * not block, is at `*peer_fd` for the test to close; NULL: closed at once.
 */
struct session *client_fixture_connect(struct session_set *set, uid_t uid, int *peer_fd);

/* Gives the client its regions. The descriptors are for the test to close; NULL: closed at once. */
void client_fixture_open_regions(struct session *session, int *doorbell_fd, int *async_fd);

/* The client counts as one whose HELLO was accepted. */
void client_fixture_greet(struct session *session);

#endif
