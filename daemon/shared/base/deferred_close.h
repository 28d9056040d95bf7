/* SPDX-License-Identifier: MIT */
/*
 * Closes descriptors and unmaps memory in a thread of its own, where that takes time.
 *
 * A client's descriptor, or a socket with such descriptors in it, may belong to a file system that
 * a user serves: close() waits for as long as that user likes. The last close() of a lingering
 * socket waits too, but a signal ends that wait. An unmap of a large mapping takes 0.2 s for the
 * pages of each GiB.
 *
 * The thread shares only the queue with the device. Nobody waits for the thread: the thread ends
 * with the process, or after deferred_close_close() when the queue is empty.
 */
#ifndef DAEMON_SHARED_BASE_DEFERRED_CLOSE_H
#define DAEMON_SHARED_BASE_DEFERRED_CLOSE_H

#include <stdbool.h>
#include <stdint.h>

struct deferred_close_queue;

/* Zeroed: the queue is empty, and there is no thread. */
struct deferred_close {
	struct deferred_close_queue *queue;
	/*
	 * The caller closes and unmaps by itself, and there never is a thread: what clients sent is
	 * the process's own, and SIGALRM, which ends the thread's waits, belongs to the program.
	 */
	bool is_immediate;
};

/* Ends the thread once its queue is empty. The object can be used again. */
void deferred_close_close(struct deferred_close *deferred_close);

/*
 * Gives `fd` to the thread, which closes it soon. Blocks only without memory or without a thread,
 * and where `is_immediate`.
 */
void deferred_close_take(struct deferred_close *deferred_close, int fd);

/* Gives a mapping to the thread. Nothing may refer to the mapping any more. */
void deferred_close_unmap(struct deferred_close *deferred_close, void *address, uint64_t bytes);

/* The number of descriptors and mappings that the thread has not released yet. */
uint32_t deferred_close_pending(const struct deferred_close *deferred_close);

#endif
