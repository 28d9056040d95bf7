/* SPDX-License-Identifier: MIT */
/*
 * A context, a completion queue and a queue pair in plain memory, without a daemon: the test plays
 * the daemon's part by reading and writing the regions.
 */
#ifndef TESTS_UNIT_LIB_CLIENT_NATIVE_FAKE_SESSION_H
#define TESTS_UNIT_LIB_CLIENT_NATIVE_FAKE_SESSION_H

#include "lib/client/native/rnic_objects.h"

#define FAKE_QP_SLOT 3
#define FAKE_QPN     0x123456

struct fake_session {
	struct rnic_context context;
	struct rnic_session_region session;
	struct rnic_status_region status;
	struct rnic_cq cq;
	struct rnic_cq_region *cq_region;
	struct rnic_cqe *completions;
	uint64_t *times_ns;
	struct rnic_cq second_cq;
	struct rnic_cq_region second_region;
	struct rnic_qp qp;
	struct rnic_queues_plan plan;
	uint8_t *entries, *spill;
};

/* The queue pair is in RTS. Ends the test when there is no memory. */
struct fake_session *fake_session_create(const struct rnic_qp_capacities *capacities,
					 uint32_t cq_entries);
void fake_session_destroy(struct fake_session *fake);

/* Another completion queue of the context, to which nothing comes. */
struct rnic_cq *fake_session_second_cq(struct fake_session *fake);

/* Writes a completion of the queue pair and publishes it, as the daemon does. */
void fake_session_complete(struct fake_session *fake, const struct rnic_cqe *entry,
			   uint64_t time_ns);

/* The doorbells rung since the last call; *value is the last of them. */
uint32_t fake_session_doorbells(struct fake_session *fake, uint32_t *value);

/* Whether the daemon was woken since the last call. */
bool fake_session_was_woken(struct fake_session *fake);

#endif
