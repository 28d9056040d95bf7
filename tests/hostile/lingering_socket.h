/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOSTILE_LINGERING_SOCKET_H
#define TESTS_HOSTILE_LINGERING_SOCKET_H

/*
 * A socket with unread bytes from the other end at `*peer_fd`: the process that closes it last
 * waits for an hour, or until the other end is closed. Both are the caller's.
 */
int make_lingering_socket(int *peer_fd);

#endif
