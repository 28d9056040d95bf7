/* SPDX-License-Identifier: MIT */
/*
 * Speaks the control protocol without a library, as a user's own program may. Connects to the
 * daemon whose socket RNIC_SOCKET names (rnic-run).
 */
#ifndef TESTS_HOSTILE_USERS_CONTROL_CALLER_H
#define TESTS_HOSTILE_USERS_CONTROL_CALLER_H

#include <stddef.h>
#include <stdint.h>

#define CONTROL_CALLER_NO_REPLY 1 /* in place of a status, which is 0 or a negative errno */

/*
 * Connects and says nothing. `type_flags`: 0 waits for a place in the daemon's line, SOCK_NONBLOCK
 * does not. -1 and errno: turned away, or of socket().
 */
int control_caller_connect(int type_flags);

/* Connects and says HELLO with `flags`. -1: turned away. */
int control_caller_open(int type_flags, uint32_t flags);

/* Sends a request. Nothing comes of it where the connection has ended. */
void control_caller_say(int fd, uint16_t operation, const void *payload, size_t bytes);

/*
 * Waits for the reply, and returns its status. CONTROL_CALLER_NO_REPLY: the connection has ended,
 * or nothing came for a long time. Descriptors that come along stay open: the end of the device
 * connection would be that of the client.
 */
int control_caller_hear(int fd);

/* The same, and copies `answer_bytes` of the reply where the status is 0. */
int control_caller_hear_answer(int fd, void *answer, size_t answer_bytes);

#endif
