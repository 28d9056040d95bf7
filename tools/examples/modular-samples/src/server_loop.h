/* SPDX-License-Identifier: MIT */
/* The common part of both servers: clients one after the other, until a signal or the last one. */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H

#include "rdma_cm_helpers.h"
#include "sample_options.h"

/*
 * Serves one client to its end. The context has the request's identifier and its device; the
 * function accepts, disconnects, and releases its buffers. Returns 0 when it verified everything
 * that the client sent, or -1 after a line with the reason.
 */
typedef int serve_client(struct rdma_ctx *ctx, const struct cm_notice *request,
			 const struct private_data *hello, const struct sample_options *options);

/*
 * Listens, and serves. The server refuses a client of another sample, or one that asks for more
 * than the buffer has. A client that comes while another is served waits.
 *
 * Returns the program's exit status: 0 when serving each client succeeded, 1 when one failed, or
 * when listening failed.
 */
int server_run(const struct sample_options *options, enum sample sample, serve_client *serve);

#endif
