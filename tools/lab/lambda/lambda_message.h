/* SPDX-License-Identifier: MIT */
/*
 * The content of the regions of lambda mode, in network byte order. The client writes a request's
 * header, the lambda file and the input into the server's region. The server writes a result's
 * header and the output into the client's region. Each header ends with room for a seal over all
 * bytes in the region (see lambda_seal.h), which is zero here. Decoded values are within the bounds
 * stated here. Pure.
 */
#ifndef TOOLS_LAB_LAMBDA_LAMBDA_MESSAGE_H
#define TOOLS_LAB_LAMBDA_LAMBDA_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

enum {
	LAMBDA_REQUEST_BYTES = 64,
	LAMBDA_RESULT_BYTES = 80,
	LAMBDA_SEAL_BYTES = 32,
	LAMBDA_REQUEST_SEAL =
		LAMBDA_REQUEST_BYTES - LAMBDA_SEAL_BYTES, /* the offsets of the seals */
	LAMBDA_RESULT_SEAL = LAMBDA_RESULT_BYTES - LAMBDA_SEAL_BYTES,
};

struct lambda_request {
	uint32_t number; /* 1, 2, 3, ... on this connection */
	uint32_t file_bytes;
	uint32_t input_bytes;
	uint32_t output_room;
};

/* The end of a function. */
enum lambda_verdict {
	LAMBDA_RETURNED,      /* value: the bytes of the output */
	LAMBDA_FAILED,	      /* value: the negative number that the function returned */
	LAMBDA_OVERFLOWED,    /* value: the bytes of output, more than there was room for */
	LAMBDA_LOOPED,	      /* the function used up its CPU time */
	LAMBDA_LATE,	      /* the function was not done in time */
	LAMBDA_CRASHED,	      /* detail: the signal; address: the place */
	LAMBDA_WROTE_CODE,    /* address: of the write */
	LAMBDA_WROTE_INPUT,   /* or the table */
	LAMBDA_WROTE_OUTSIDE, /* outside of all its memory */
	LAMBDA_CALLED_SYSTEM, /* detail: the number of the system call, -1 for unknown; value: the
				 machine whose number it is, as in a lambda file, or 0 */
	LAMBDA_OUT_OF_STACK,  /* the function used up its memory */
	LAMBDA_REFUSED,	      /* the function did not run; detail: an errno */
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

/* -EBADMSG: no request, or the parts together are not exactly `count` bytes, header included. */
int lambda_request_decode(const uint8_t *bytes, size_t count, struct lambda_request *request);

void lambda_result_encode(const struct lambda_result *result, uint8_t bytes[LAMBDA_RESULT_BYTES]);

/* -EBADMSG: no result, or its output does not exactly fill `count` bytes. */
int lambda_result_decode(const uint8_t *bytes, size_t count, struct lambda_result *result);

/* Describes the end of the function in a sentence. */
void lambda_result_describe(const struct lambda_result *result, char *text, size_t room);

#endif
