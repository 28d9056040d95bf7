/* SPDX-License-Identifier: MIT */
/* The command lines of the samples, and the contexts made from them. */
#ifndef SAMPLE_OPTIONS_H
#define SAMPLE_OPTIONS_H

#include "rdma_ctx.h"

struct sample_options {
	const char *host; /* of a server: the address to listen on, NULL for all */
	const char *port;
	uint32_t bytes;	   /* of a client's message, of a server's buffer */
	uint32_t messages; /* the number that a client sends */
	uint32_t clients;  /* a server ends after so many; 0: never */
	int timeout_ms;
	bool dump;
};

/*
 * Reads the command line of a server or a client. On a wrong command line, or on -h, it prints the
 * usage and ends the program.
 */
void options_of_server(int argc, char **argv, const char *port, struct sample_options *options);
void options_of_client(int argc, char **argv, const char *port, struct sample_options *options);

/* A context without objects. `stop` is the result of stop_on_signals(). */
struct rdma_ctx options_context(const struct sample_options *options, int stop);

#endif
