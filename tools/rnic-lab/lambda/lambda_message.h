/* SPDX-License-Identifier: MIT */
/*
 * What lies in the regions of lambda mode, in network byte order. In the server's, written by the
 * client: a request's header, the lambda file, the input. In the client's, written by the server: a
 * result's header, the output. Each header ends with room for a seal over all that is in the region
 * (see lambda_seal.h), which is zero here. What was decoded is within the bounds stated here. Pure.
 */
#ifndef TOOLS_RNIC_LAB_LAMBDA_LAMBDA_MESSAGE_H
#define TOOLS_RNIC_LAB_LAMBDA_LAMBDA_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

enum {
	LAMBDA_REQUEST_BYTES = 64,
	LAMBDA_RESULT_BYTES = 80,
	LAMBDA_SEAL_BYTES = 32,
	LAMBDA_REQUEST_SEAL = LAMBDA_REQUEST_BYTES - LAMBDA_SEAL_BYTES, /* where they are */
	LAMBDA_RESULT_SEAL = LAMBDA_RESULT_BYTES - LAMBDA_SEAL_BYTES,
};

struct lambda_request {
	uint32_t number; /* 1, 2, 3, ... in this session */
	uint32_t file_bytes;
	uint32_t input_bytes;
	uint32_t output_room;
};

/* How a function ended. */
enum lambda_verdict {
	LAMBDA_RETURNED,      /* value: the bytes of its output */
	LAMBDA_FAILED,	      /* value: the negative number that it returned */
	LAMBDA_OVERFLOWED,    /* value: more bytes of output than there was room for */
	LAMBDA_LOOPED,	      /* it used up its CPU time */
	LAMBDA_LATE,	      /* it was not done in time */
	LAMBDA_CRASHED,	      /* detail: the signal; address: where */
	LAMBDA_WROTE_CODE,    /* address: what it wrote to */
	LAMBDA_WROTE_INPUT,   /* or the table */
	LAMBDA_WROTE_OUTSIDE, /* of all that is its own */
	LAMBDA_CALLED_SYSTEM, /* detail: the number of the system call, -1 for unknown */
	LAMBDA_OUT_OF_STACK,  /* it used up its memory */
	LAMBDA_REFUSED,	      /* it was not run; detail: an errno */
	LAMBDA_VERDICTS,
};

struct lambda_result {
	uint32_t number; /* of the request */
	uint32_t output_bytes;
	enum lambda_verdict verdict;
	int32_t detail;
	uint64_t address;
	int64_t value;
};

void lambda_request_encode(const struct lambda_request *request,
			   uint8_t bytes[LAMBDA_REQUEST_BYTES]);

/* -EBADMSG: no request, or its parts are not exactly what `count` bytes are, header included. */
int lambda_request_decode(const uint8_t *bytes, size_t count, struct lambda_request *request);

void lambda_result_encode(const struct lambda_result *result, uint8_t bytes[LAMBDA_RESULT_BYTES]);

/* -EBADMSG: no result, or there is output but not exactly what `count` bytes have room for. */
int lambda_result_decode(const uint8_t *bytes, size_t count, struct lambda_result *result);

/* Says in a sentence what became of the function. */
void lambda_result_describe(const struct lambda_result *result, char *text, size_t room);

#endif
