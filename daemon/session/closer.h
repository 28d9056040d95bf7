/* SPDX-License-Identifier: MIT */
/*
 * Closes descriptors that clients sent, and the sockets in which more of them may lie, in a thread
 * of its own: whoever closes the last descriptor of a lingering socket, or of a file on a file
 * system that a user serves, waits for as long as that user likes.
 *
 * The thread shares nothing with the device but the numbers that travel in a pipe. Nobody waits
 * for it: it ends with the process, or when it has closed all that was given away before
 * closer_close().
 */
#ifndef DAEMON_SESSION_CLOSER_H
#define DAEMON_SESSION_CLOSER_H

struct closer {
	int write_fd;
};

/* Starts the thread. Negative errno of pipe2(2) or pthread_create(3). */
int closer_open(struct closer *closer);
void closer_close(struct closer *closer);

/* Gives `fd` away; it is closed soon. Does not block, unless thousands wait already. */
void closer_take(const struct closer *closer, int fd);

#endif
