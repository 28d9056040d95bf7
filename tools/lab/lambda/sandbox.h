/* SPDX-License-Identifier: MIT */
/*
 * Runs a stranger's machine code. Three processes:
 *
 *   server     makes files in memory of code, input and output, and asks the helper by a socket
 *   helper     a program of its own, with nothing of the server's in its memory; has no
 *              descriptor but its socket and the table, and no environment; forks a child for each
 *              run, ends a late child, and reports the end of each
 *   child      maps the files (code: readable and executable, sealed against writing; input and
 *              table: readable; output: writable; no other mapping next to any of them), closes
 *              every descriptor, limits its memory, files, processes and CPU time, forbids every
 *              system call but exit, and only then calls the function on a stack of its own
 *
 * A function can still read the helper's program and libraries, which are public. It can learn
 * their addresses and stack guard, which only the helper and its children share. And it can lie
 * about its own end.
 */
#ifndef TOOLS_LAB_LAMBDA_SANDBOX_H
#define TOOLS_LAB_LAMBDA_SANDBOX_H

#include "tools/lab/exchange/lab_watch.h"
#include "tools/lab/lambda/lambda_message.h"
#include "tools/lab/lambda/sandbox_limits.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sandbox {
	int fd; /* to the helper */
	pid_t helper;
	struct sandbox_limits limits;
};

/* A function to run. The pointers are the caller's. */
struct sandbox_job {
	const uint8_t *code;
	uint32_t code_bytes;
	uint32_t entry;
	const uint8_t *input;
	uint32_t input_bytes;
	uint8_t *output; /* gets the function's output */
	uint32_t output_room;
};

/*
 * Starts the helper, libexec/rnic/rnic-lab-sandbox beside the directory of this program, with the
 * table that `table_fd` is open for, -1 for none. Negative errno, -ENOENT when the helper is
 * missing.
 */
int sandbox_start(struct sandbox *sandbox, const struct sandbox_limits *limits, int table_fd);

/* Ends the helper and its children. */
void sandbox_stop(struct sandbox *sandbox);

/*
 * Runs a function and waits for its end. *result has the end, LAMBDA_REFUSED when this machine
 * cannot confine the function. -EINTR, -ECONNRESET: the wait ended first (see lab_wait()); stop the
 * sandbox then. -EIO: the helper is gone. -EMFILE, -ENOMEM, ...: there are no files in memory.
 */
int sandbox_run(struct sandbox *sandbox, struct lab_watch *watch, const struct sandbox_job *job,
		struct lambda_result *result);

#endif
