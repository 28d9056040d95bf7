/* SPDX-License-Identifier: MIT */
/*
 * What people are told of a path: what limits the queue pairs of a program that send there, and a
 * timeout that the path's round trip does not fit. Nothing here changes anything.
 */
#ifndef LIB_NIC_ENGINE_RELIABILITY_PATH_REPORT_H
#define LIB_NIC_ENGINE_RELIABILITY_PATH_REPORT_H

#include "proto/base/path_limit.h"

#include <stdbool.h>
#include <stdint.h>

struct peer_window;
struct qp;

/* What queue pairs with one peer window do now; all false: nothing. */
struct path_use {
	bool has_work;	       /* something is posted and not complete */
	bool has_backlog;      /* of which not all has left, and the peer's receives allow more */
	bool waits_for_peer;   /* for a receive, or since a timeout for any answer */
	bool is_slowed;	       /* by notifications of congestion */
	bool has_reads_enough; /* as many READs and atomics are under way as may be */
};

/* Adds a queue pair whose program has more WQEs posted than the engine has taken, or not. */
void path_use_add(struct path_use *use, const struct qp *qp, bool has_more);

enum rnic_path_limit path_limit(const struct path_use *use, const struct peer_window *window);

/*
 * Writes that the ACK timeout of `qp` is shorter than the least round trip of its path, as a
 * sentence; "" when it is not, or nothing is known of the path.
 */
void path_timeout_text(const struct qp *qp, char *text, uint32_t text_bytes);

#endif
