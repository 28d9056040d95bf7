/* SPDX-License-Identifier: MIT */
/*
 * One connection, or one listener: what was made for it, in the order in which it was made.
 *
 * rdma_cm_helpers make and end the channel and the identifier, rdma_builders the rest; members are
 * NULL until then, and NULL again after. A listener has a channel and an identifier only.
 */
#ifndef RDMA_CTX_H
#define RDMA_CTX_H

#include <stdbool.h>

#include <rdma/rdma_cma.h>

struct rdma_ctx {
	int stop;	/* readable once a signal wants the program to end */
	int timeout_ms; /* of every single wait; negative: none */
	bool dump;	/* builders show what they have made */

	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	bool is_disconnected; /* the peer has gone */
};

#endif
