/* SPDX-License-Identifier: MIT */
/* Threads of the project's own in a process whose signals are for other threads. */
#ifndef LIB_WAIT_QUIET_THREAD_H
#define LIB_WAIT_QUIET_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Starts a thread with all signals blocked from its first instruction on: handlers run on the
 * threads of the program, whose calls they interrupt, and a loop that waits for signals gets them.
 *
 * A stack of `stack_bytes`, or of PTHREAD_STACK_MIN if that is more; 0: the default, which is the
 * limit (ulimit -s) of whoever started the process. `*thread` is for pthread_join(3), and set only
 * on success; NULL: the thread is detached. Negative errno: -EAGAIN, a limit of threads, or no
 * memory for the stack.
 */
int quiet_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *context);

#endif
