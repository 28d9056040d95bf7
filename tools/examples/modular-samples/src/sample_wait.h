/* SPDX-License-Identifier: MIT */
/*
 * Waiting: for events and completions together, until a deadline or a signal at the latest.
 *
 * Both channels are nonblocking: a readable channel whose event is already taken costs another turn
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
 * Directs SIGINT and SIGTERM to a descriptor instead of ending the program. Call it before the
 * first thread starts. Returns the descriptor, or -1 after a line with the reason.
 */
int stop_on_signals(void);

/* The time, in milliseconds, at which a wait that begins now reaches the context's timeout. */
int64_t deadline_from_now(const struct rdma_ctx *ctx);

/*
 * Waits until one of the channels is ready; `wanted` is a set of enum ready.
 *
 * Returns the set of ready channels, or -1 after a line with the reason: the deadline has passed,
 * or a signal asks the program to end.
 */
int wait_ready(const struct rdma_ctx *ctx, int wanted, int64_t deadline_ms);

/* Whether a signal has asked the program to end; this stays true. */
bool is_stopping(const struct rdma_ctx *ctx);

/* Makes a descriptor nonblocking. Returns 0, or -1 after a line with the reason. */
int make_nonblocking(int fd);

#endif
