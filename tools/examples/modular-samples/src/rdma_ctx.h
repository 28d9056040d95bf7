/* SPDX-License-Identifier: MIT */
/*
 * One connection, or one listener: its objects, in the order in which they are made.
 *
 * rdma_cm_helpers make and end the channel and the identifier, rdma_builders the rest; members are
 * NULL before and after. A listener has a channel and an identifier only.
 */
#ifndef RDMA_CTX_H
#define RDMA_CTX_H

#include <stdbool.h>

#include <rdma/rdma_cma.h>

struct rdma_ctx {
	int stop;	/* readable once a signal has asked the program to end */
	int timeout_ms; /* of every single wait; negative: none */
	bool dump;	/* builders show the objects that they make */

	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	bool is_disconnected; /* the peer has gone */
};

#endif
