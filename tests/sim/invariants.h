/* SPDX-License-Identifier: MIT */
/*
 * The invariants of our own state between any two calls of the engine, asserted in one place. Cheap
 * enough for a simulator to check after every step, too dear for a data path. The responder asserts
 * its own part as it goes.
 */
#ifndef TESTS_SIM_INVARIANTS_H
#define TESTS_SIM_INVARIANTS_H

struct engine;
struct qp;

/* The send side of one QP. */
void qp_check_invariants(const struct qp *qp);

/* All QPs, and the paths that they share. */
void engine_check_invariants(const struct engine *engine);

#endif
