/* SPDX-License-Identifier: MIT */
/*
 * Posts work requests, each signaled, and waits for their completions.
 *
 * `at` and `length` are a range of the local buffer. All functions return 0, or -1 after a line
 * with the reason.
 */
#ifndef RDMA_OPS_H
#define RDMA_OPS_H

#include "rdma_ctx.h"
#include "rdma_mem.h"

/* The target of one-sided operations. */
struct remote_range {
	uint64_t address;
	uint32_t key;
};

int post_write(const struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *from,
	       size_t at, uint32_t length, struct remote_range to);

/* As post_write(), and consumes a receive of the peer, whose completion has the number. */
int post_write_imm(const struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *from,
		   size_t at, uint32_t length, struct remote_range to, uint32_t number);

int post_read(const struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *into, size_t at,
	      uint32_t length, struct remote_range from);

int post_send(const struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *from, size_t at,
	      uint32_t length);

/* Without a buffer (NULL) the receive has no room: for the notification of a WRITE. */
int post_recv(const struct rdma_ctx *ctx, uint64_t wr_id, const struct rdma_buffer *into, size_t at,
	      uint32_t length);

/*
 * Waits for the next completion of any request. -1 also for an error status, for a peer that is
 * gone with no completion left, at the deadline, and on a signal.
 */
int wait_completion(struct rdma_ctx *ctx, struct ibv_wc *completion);

/* Waits likewise; the completion must be of this operation. */
int wait_completion_of(struct rdma_ctx *ctx, enum ibv_wc_opcode opcode, struct ibv_wc *completion);

#endif
