/* SPDX-License-Identifier: MIT */
/*
 * Runs a command as a child, where rnic-run has something to do behind the command's end. The child
 * gets the signals that rnic-run gets.
 */
#ifndef TOOLS_RNIC_RUN_SUPERVISED_H
#define TOOLS_RNIC_RUN_SUPERVISED_H

#include <stdbool.h>
#include <stdint.h>

struct supervised_options {
	char **command;
	uint64_t limit_ns; /* the command and its process group are killed then; 0: never */
	int output_fd;	   /* -1: that of rnic-run */
};

struct supervised_end {
	int status;	      /* as of waitpid(2) */
	uint64_t duration_ns; /* how long the command ran */
	bool was_late;	      /* killed at its limit */
	int signal;	      /* rnic-run got this signal that ends programs; 0: none */
};

/* Blocks the signals that rnic-run passes on: before the first child. */
void supervised_prepare(void);

/* Returns when the command has ended. Negative errno after a complaint: there was none. */
int supervised_run(const struct supervised_options *options, struct supervised_end *end);

/* Ends rnic-run as the command ended. */
_Noreturn void supervised_exit(int status);

#endif
