/* SPDX-License-Identifier: MIT */
/*
 * The invariants of our own state between any two calls of the engine, asserted in one place. Cheap
 * enough for a simulator to check after every step, too dear for a data path. The responder asserts
 * its own part as it goes.
 */
#ifndef TESTS_SIM_INVARIANTS_H
#define TESTS_SIM_INVARIANTS_H

#include <stdint.h>

#define WATCHED_PATHS 16 /* of an engine; others are not watched */

struct engine;
struct qp;

/* The send side of one QP. */
void qp_check_invariants(const struct qp *qp);

/* All QPs, and the paths that they share. */
void engine_check_invariants(const struct engine *engine);

/* What a path may get, before packets leave. */
struct burst_watch_path {
	uint32_t in_flight_bytes;
	uint64_t window_bytes;
	uint64_t burst_bytes; /* that the pace of a long path lets leave at once */
};

struct burst_watch {
	uint32_t path_count;
	struct burst_watch_path paths[WATCHED_PATHS];
};

/*
 * Around engine_transmit(), at one instant: no path gets more than its window, nor, a long one,
 * more than a burst.
 */
void burst_watch_begin(struct burst_watch *watch, const struct engine *engine);
void burst_watch_end(const struct burst_watch *watch, const struct engine *engine);

#endif
