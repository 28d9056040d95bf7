/* SPDX-License-Identifier: MIT */
/*
 * The messages between the processes of the sandbox, which were built together: nobody checks them.
 */
#ifndef TOOLS_LAB_LAMBDA_SANDBOX_PARTS_H
#define TOOLS_LAB_LAMBDA_SANDBOX_PARTS_H

#include "tools/lab/lambda/lambda_message.h"
#include "tools/lab/lambda/sandbox_limits.h"

#include <stdbool.h>
#include <stdint.h>

/* A place in a file in memory of `file_bytes` bytes, a number of pages. */
struct sandbox_file {
	uint64_t file_bytes;
	uint64_t offset;
	uint64_t bytes;
};

enum sandbox_descriptor { SANDBOX_CODE, SANDBOX_INPUT, SANDBOX_OUTPUT, SANDBOX_DESCRIPTORS };

/* An order to the helper, with a descriptor for each file. */
struct sandbox_order {
	struct sandbox_file files[SANDBOX_DESCRIPTORS];
	uint64_t entry;
	struct sandbox_limits limits;
};

/*
 * A child's report, in memory that it shares with the helper; all zero when the child could not
 * report. A process that runs a stranger's code writes it.
 */
struct sandbox_report {
	uint32_t is_complete;
	uint32_t verdict;
	int32_t detail;
	uint64_t address;
	int64_t value;
};

/* The main functions of the helper, and of a child. `descriptors` are those of the order. */
_Noreturn void sandbox_helper_run(int fd, int table_fd);
_Noreturn void sandbox_child_run(const struct sandbox_order *order,
				 const int descriptors[SANDBOX_DESCRIPTORS], int table_fd,
				 struct sandbox_report *report);

/*
 * The child's last step: forbids all system calls but exit_group, by which the child ends after its
 * report; others raise SIGSYS.
 * -ENOSYS, or the kernel's error.
 */
int sandbox_forbid_calls(void);

#endif
