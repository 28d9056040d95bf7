/* SPDX-License-Identifier: MIT */
/*
 * A lambda: one C function that a client carries to an rnic-lab server by RDMA, and that the server
 * runs.
 *
 *   #include <rnic/lambda.h>
 *
 *   int64_t rnic_lambda(const struct rnic_lambda_call *call)
 *   {
 *           return rnic_lambda_put_number(call, 0, call->input_bytes);
 *   }
 *
 *   rnic-lambda-cc count.c -o count.lambda
 *   rnic-lab lambda SERVER --code count.lambda --input FILE
 *
 * The function and the functions that it calls are one piece of position-independent machine code
 * without a C library, writable globals, or tables of pointers; memcpy, memmove, memset and memcmp
 * are there. It runs in a process that may do nothing but compute. A system call, an access outside
 * the memory that `call` names, too much time or too deep a stack ends it, and the server tells the
 * client the cause.
 */
#ifndef RNIC_LAMBDA_H
#define RNIC_LAMBDA_H

#include <stddef.h>
#include <stdint.h>

struct rnic_lambda_call {
	const void *input; /* the data from the client; read-only */
	uint64_t input_bytes;
	const void *table; /* a file in the server's memory, or NULL; read-only */
	uint64_t table_bytes;
	void *output; /* the data for the client, zero at first */
	uint64_t output_room;
};

/*
 * The entry, which a lambda defines. It returns the number of output bytes for the client, or a
 * negative number of its own to report a failure.
 */
int64_t rnic_lambda(const struct rnic_lambda_call *call);

/*
 * Writes text, or a number in decimal, at position `at` of the output. Writes as much as there is
 * room for, and returns the position behind it.
 */
static inline int64_t rnic_lambda_put_text(const struct rnic_lambda_call *call, int64_t at,
					   const char *text)
{
	char *output = (char *)call->output;

	while (*text && (uint64_t)at < call->output_room)
		output[at++] = *text++;
	return at;
}

static inline int64_t rnic_lambda_put_number(const struct rnic_lambda_call *call, int64_t at,
					     uint64_t number)
{
	char digits[21];
	char *first = digits + sizeof(digits) - 1;

	*first = '\0';
	do {
		*--first = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	return rnic_lambda_put_text(call, at, first);
}

#endif
