/* SPDX-License-Identifier: MIT */
/*
 * Recognises that a sender keeps naming a queue pair which is not there: the sender has a wrong
 * number, or the queue pair has ended. When a queue pair ends, a few of its packets are still on
 * their way: they are no such sign.
 *
 * There is room for one sender and one number, so that such packets cost little. Anybody can forge
 * a sender.
 */
#ifndef LIB_NIC_BASE_UNKNOWN_QP_H
#define LIB_NIC_BASE_UNKNOWN_QP_H

#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

/* So many packets in a row tell. A requester of retry_cnt 2 sends as many. */
#define UNKNOWN_QP_PACKETS 3

/* All zero at first. */
struct unknown_qp {
	struct rnic_gid source;
	uint32_t qpn;
	uint32_t packets; /* in a row, that named `qpn` */
	bool is_due;	  /* waits for unknown_qp_take() */
};

/* A packet from `source` named the queue pair `qpn`, which is not there. */
void unknown_qp_note(struct unknown_qp *unknown, const struct rnic_gid *source, uint32_t qpn);

/* Fetches who sent UNKNOWN_QP_PACKETS of them, once for each run. False: nobody did since. */
bool unknown_qp_take(struct unknown_qp *unknown, struct unknown_qp *taken);

#endif
