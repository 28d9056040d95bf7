/* SPDX-License-Identifier: MIT */
/* What the processes of the sandbox tell each other. They were built as one: nothing is checked. */
#ifndef TOOLS_RNIC_LAB_LAMBDA_SANDBOX_PARTS_H
#define TOOLS_RNIC_LAB_LAMBDA_SANDBOX_PARTS_H

#include "lambda_message.h"
#include "sandbox_limits.h"

#include <stdbool.h>
#include <stdint.h>

/* Where something lies in a file in memory that is `file_bytes` long, a number of pages. */
struct sandbox_file {
	uint64_t file_bytes;
	uint64_t offset;
	uint64_t bytes;
};

enum sandbox_descriptor { SANDBOX_CODE, SANDBOX_INPUT, SANDBOX_OUTPUT, SANDBOX_DESCRIPTORS };

/* Asks the helper, with a descriptor for each file. */
struct sandbox_order {
	struct sandbox_file files[SANDBOX_DESCRIPTORS];
	uint64_t entry;
	struct sandbox_limits limits;
};

/*
 * What a child says of itself in memory that it shares with the helper; all zero when it could not
 * say anything. Written by a process that runs a stranger's code.
 */
struct sandbox_report {
	uint32_t is_complete;
	uint32_t verdict;
	int32_t detail;
	uint64_t address;
	int64_t value;
};

/* The life of the helper, and of a child. `descriptors` are those of the order. */
_Noreturn void sandbox_helper_run(int fd, int table_fd);
_Noreturn void sandbox_child_run(const struct sandbox_order *order,
				 const int descriptors[SANDBOX_DESCRIPTORS], int table_fd,
				 struct sandbox_report *report);

/*
 * In the child, at last: no system call but exit and exit_group; others raise SIGSYS. -ENOSYS, or
 * what the kernel has against it.
 */
int sandbox_forbid_calls(void);

#endif
