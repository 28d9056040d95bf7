/* SPDX-License-Identifier: MIT */
/*
 * Builds the objects of a connection on the device of its identifier, and shows them.
 *
 * All functions take a context whose identifier has a device. They return 0, or -1 after a line
 * with the reason; build_release() then destroys the objects that were built before.
 */
#ifndef RDMA_BUILDERS_H
#define RDMA_BUILDERS_H

#include "rdma_ctx.h"

/* Work requests of a queue pair. Its completion queue has as many entries as both need. */
#define SEND_DEPTH 8
#define RECV_DEPTH 8

int build_pd(struct rdma_ctx *ctx);
int build_cq(struct rdma_ctx *ctx);
int build_qp(struct rdma_ctx *ctx);

/* Builds all three. */
int build_all(struct rdma_ctx *ctx);

/* Destroys all objects that were built. Regions of the protection domain must be gone. */
void build_release(struct rdma_ctx *ctx);

/* One line each about an object, for people. */
void dump_device(struct ibv_context *device, uint8_t port);
void dump_pd(const struct ibv_pd *pd);
void dump_cq(const struct ibv_cq *cq);
void dump_qp(struct ibv_qp *qp);
void dump_mr(const struct ibv_mr *mr);

#endif
