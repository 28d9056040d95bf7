/* SPDX-License-Identifier: MIT */
/*
 * Builds what a connection needs on the device that its identifier was given, and shows it.
 *
 * All take a context whose identifier has a device, return 0, or -1 after saying why, and leave
 * what was built before to build_release().
 */
#ifndef RDMA_BUILDERS_H
#define RDMA_BUILDERS_H

#include "rdma_ctx.h"

/* Work requests of a queue pair, and as many places in its completion queue as both need. */
#define SEND_DEPTH 8
#define RECV_DEPTH 8

int build_pd(struct rdma_ctx *ctx);
int build_cq(struct rdma_ctx *ctx);
int build_qp(struct rdma_ctx *ctx);

/* All three. */
int build_all(struct rdma_ctx *ctx);

/* Destroys whatever has been built. Regions of the protection domain must be gone. */
void build_release(struct rdma_ctx *ctx);

/* One line each about an object, for people. */
void dump_device(struct ibv_context *device, uint8_t port);
void dump_pd(const struct ibv_pd *pd);
void dump_cq(const struct ibv_cq *cq);
void dump_qp(struct ibv_qp *qp);
void dump_mr(const struct ibv_mr *mr);

#endif
