/* SPDX-License-Identifier: MIT */
/* Looks for conditions that a command does not survive: rnic-run --explore. */
#ifndef TOOLS_RNIC_RUN_EXPLORE_H
#define TOOLS_RNIC_RUN_EXPLORE_H

#include "lib/client/native/socket_list.h"

#include <stdbool.h>
#include <stdint.h>

struct explore_options {
	char **command;
	const struct rnic_socket_list *sockets;
	uint32_t runs;
	uint32_t classes;   /* bits of enum explore_class */
	uint64_t seed;	    /* the same seed draws the same scenarios */
	uint64_t budget_ns; /* for one run; 0: by a run without faults */
	const char *save;   /* the file for a scenario that fails */
	bool is_direct;	    /* no rules for packets */
};

/* Returns the exit status: 0 when no run failed. */
int explore(const struct explore_options *options);

#endif
