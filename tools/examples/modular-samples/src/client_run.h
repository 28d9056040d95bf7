/* SPDX-License-Identifier: MIT */
/* The common part of both clients: connect, use the connection, end it. */
#ifndef CLIENT_RUN_H
#define CLIENT_RUN_H

#include "rdma_cm_helpers.h"
#include "sample_options.h"

/*
 * Uses a connection to a server that runs the same sample and has room for a message. The function
 * disconnects, and releases its buffers. Returns 0 when it verified everything, or -1 after a line
 * with the reason.
 */
typedef int use_connection(struct rdma_ctx *ctx, const struct private_data *hello,
			   const struct private_data *offer);

/* Returns the program's exit status: 0 when everything was verified, else 1. */
int client_run(const struct sample_options *options, enum sample sample, use_connection *use);

#endif
