/* SPDX-License-Identifier: MIT */
/*
 * The mappings of a process's own heap.
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

#endif
