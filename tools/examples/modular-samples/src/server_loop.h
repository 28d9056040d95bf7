/* SPDX-License-Identifier: MIT */
/* What both servers do: clients one after the other, until a signal or the last one. */
#ifndef SERVER_LOOP_H
#define SERVER_LOOP_H

#include "rdma_cm_helpers.h"
#include "sample_options.h"

/*
 * Serves one client to its end. The context has the request's identifier and its device; the
 * function accepts, disconnects, and releases its buffers. Returns 0 when everything that the
 * client sent was verified, or -1 after saying what was wrong.
 */
typedef int serve_client(struct rdma_ctx *ctx, const struct cm_notice *request,
			 const struct private_data *hello, const struct sample_options *options);

/*
 * Listens, and serves. Who asks for another sample or for more than the buffer has is refused;
 * who comes while another one is served waits.
 *
 * Returns the program's exit status: 0 when each client was served well, 1 when one was not, or
 * when listening failed.
 */
int server_run(const struct sample_options *options, enum sample sample, serve_client *serve);

#endif
