/* SPDX-License-Identifier: MIT */
/*
 * Waiting: for events and completions together, no longer than a deadline, and not past a signal.
 *
 * Both channels are nonblocking, so that what is readable but already taken costs another turn
 * and not a hang.
 */
#ifndef SAMPLE_WAIT_H
#define SAMPLE_WAIT_H

#include <stdint.h>

#include "rdma_ctx.h"

enum ready {
	READY_EVENT = 1 << 0,
	READY_COMPLETION = 1 << 1,
};

/*
 * Has SIGINT and SIGTERM arrive at a descriptor instead of ending the program. To be called before
 * the first thread starts. Returns the descriptor, or -1 after saying why.
 */
int stop_on_signals(void);

/* The time, in milliseconds, at which a wait of the context's timeout that begins now is over. */
int64_t deadline_from_now(const struct rdma_ctx *ctx);

/*
 * Waits until one of the channels has something; `wanted` is a set of enum ready.
 *
 * Returns the set of what is ready, or -1 after saying why: the deadline has passed, or a signal
 * wants the program to end.
 */
int wait_ready(const struct rdma_ctx *ctx, int wanted, int64_t deadline_ms);

/* Whether a signal wants the program to end; it stays so. */
bool is_stopping(const struct rdma_ctx *ctx);

/* Makes a descriptor nonblocking. Returns 0, or -1 after saying why. */
int make_nonblocking(int fd);

#endif
