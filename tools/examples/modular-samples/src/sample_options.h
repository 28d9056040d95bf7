/* SPDX-License-Identifier: MIT */
/* The command lines of the samples, and the contexts that follow from them. */
#ifndef SAMPLE_OPTIONS_H
#define SAMPLE_OPTIONS_H

#include "rdma_ctx.h"

struct sample_options {
	const char *host; /* of a server: where it listens, NULL for everywhere */
	const char *port;
	uint32_t bytes;	   /* of a client's message, of a server's buffer */
	uint32_t messages; /* that a client sends */
	uint32_t clients;  /* after which a server ends; 0: none */
	int timeout_ms;
	bool dump;
};

/*
 * Reads the command line of a server or a client. On a wrong one, or on -h, it shows how the
 * program is used, and ends it.
 */
void options_of_server(int argc, char **argv, const char *port, struct sample_options *options);
void options_of_client(int argc, char **argv, const char *port, struct sample_options *options);

/* A context without anything. `stop` is what stop_on_signals() gave. */
struct rdma_ctx options_context(const struct sample_options *options, int stop);

#endif
