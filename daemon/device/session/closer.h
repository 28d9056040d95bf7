/* SPDX-License-Identifier: MIT */
/*
 * Lets go of what takes time to let go of, in a thread of its own.
 *
 * Of descriptors that clients sent, and of the sockets in which more of them may lie: whoever
 * closes a file on a file system that a user serves waits for as long as that user likes. A
 * lingering socket would do the same to whoever closes its last descriptor, but for the signal that
 * ends that wait. And of large mappings, where the pages of each GiB take 0.2 s to be freed.
 *
 * The thread shares nothing with the device but the queue. Nobody waits for it: it ends
 * with the process, or when it has closed all that was given away before closer_close().
 */
#ifndef DAEMON_DEVICE_SESSION_CLOSER_H
#define DAEMON_DEVICE_SESSION_CLOSER_H

#include <stdint.h>

struct closer_queue;

/* Zeroed: nothing was given away yet, and there is no thread. */
struct closer {
	struct closer_queue *queue;
};

/* The closer can be used again. */
void closer_close(struct closer *closer);

/* Gives `fd` away; it is closed soon. Blocks only where there is no memory or no thread for it. */
void closer_take(struct closer *closer, int fd);

/* The same for a mapping, which nothing refers to any more. */
void closer_unmap(struct closer *closer, void *address, uint64_t bytes);

/* How many of the descriptors and mappings given away are still there. */
uint32_t closer_pending(const struct closer *closer);

#endif
