/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOSTILE_LINGERING_SOCKET_H
#define TESTS_HOSTILE_LINGERING_SOCKET_H

/*
 * A socket with bytes that nobody reads, from the other end at `*peer_fd`: whoever closes it last
 * waits for an hour, or until that end is closed. Both are the caller's.
 */
int make_lingering_socket(int *peer_fd);

#endif
