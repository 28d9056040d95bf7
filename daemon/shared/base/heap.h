/* SPDX-License-Identifier: MIT */
/*
 * The mappings of a process's own heap, and its pages.
 */
#ifndef DAEMON_SHARED_BASE_HEAP_H
#define DAEMON_SHARED_BASE_HEAP_H

/*
 * Keeps the heap from taking the mappings that the limits count for clients: large pieces take at
 * most `mappings`, and threads share one heap. Otherwise a thread that
 * only closes descriptors would reserve 64 MiB of addresses for a heap of its own. Call this
 * function before the first thread starts.
 */
void heap_limit_mappings(int mappings);

/* A heap with no more free bytes than these keeps them. */
#define HEAP_KEPT_BYTES (4 << 20)

/*
 * Gives all pages that are free back to the kernel, where more than HEAP_KEPT_BYTES are free.
 * Otherwise a heap stays as large as it was with the most clients.
 */
void heap_give_back(void);

#endif
