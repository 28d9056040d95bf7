/* SPDX-License-Identifier: MIT */
/* The command line of rnic-lab. */
#ifndef TOOLS_LAB_LAB_OPTIONS_H
#define TOOLS_LAB_LAB_OPTIONS_H

#include "tools/lab/exchange/exchange_message.h"
#include "tools/lab/trace/trace_operation.h"

#include <stdbool.h>

enum { LAB_DEFAULT_PORT = 7471, LAB_GID_BY_ADDRESS = -1 };

struct lab_options {
	enum lab_mode_id mode;
	const char *server; /* NULL: this process is the server */

	const char *bind_address; /* NULL: all */
	uint16_t port;		  /* TCP */
	uint32_t timeout_s;	  /* the longest time for an answer of the peer */
	uint32_t tries;		  /* to connect to the server */
	bool is_once;		  /* the server ends with the first client that it serves */

	const char *device;  /* NULL: the first */
	int gid_index;	     /* LAB_GID_BY_ADDRESS: the best match */
	uint32_t mtu_bytes;  /* 0: the port's */
	uint8_t ack_timeout; /* 4.096 us * 2^this */
	uint8_t retry_count;

	uint32_t buffer_bytes;
	uint32_t segments;

	bool is_lambda_allowed;
	const char *secret; /* files; NULL for none */
	const char *table;
	const char *code;
	const char *input;
	uint32_t cpu_limit_s;
	uint32_t wall_limit_s;
	uint32_t memory_limit_bytes;

	const struct trace_operation *operation; /* of trace; NULL otherwise */
	uint32_t bytes;				 /* of each message */
	uint32_t count;				 /* work requests */
	uint32_t receive_after_ms;		 /* how late the receives are; 0: before the rest */
	const char *fault;			 /* rules as of rnicd(8); NULL: none */
	const char *captures;			 /* the directory for captures; NULL: none */
	bool is_json;
	int inside_fd;	  /* the steps of the lesson; -1: this process starts the hosts */
	char **arguments; /* the command line */
};

/* Reads the arguments; prints the usage and exits when they are wrong. Pointers into argv. */
void lab_options_read(struct lab_options *options, int argc, char **argv);

#endif
