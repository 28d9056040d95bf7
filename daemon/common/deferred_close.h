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
 * with the process, or when it has closed all that was given away before deferred_close_close().
 */
#ifndef DAEMON_COMMON_DEFERRED_CLOSE_H
#define DAEMON_COMMON_DEFERRED_CLOSE_H

#include <stdint.h>

struct deferred_close_queue;

/* Zeroed: nothing was given away yet, and there is no thread. */
struct deferred_close {
	struct deferred_close_queue *queue;
};

/* It can be used again. */
void deferred_close_close(struct deferred_close *deferred_close);

/* Gives `fd` away; it is closed soon. Blocks only where there is no memory or no thread for it. */
void deferred_close_take(struct deferred_close *deferred_close, int fd);

/* The same for a mapping, which nothing refers to any more. */
void deferred_close_unmap(struct deferred_close *deferred_close, void *address, uint64_t bytes);

/* How many of the descriptors and mappings given away are still there. */
uint32_t deferred_close_pending(const struct deferred_close *deferred_close);

#endif
