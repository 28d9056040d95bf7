/* SPDX-License-Identifier: MIT */
/* Any bytes as the contents of lambda mode's regions: requests, and results. */
#include "tools/lab/lambda/lambda_message.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_request(const uint8_t *data, size_t size)
{
	uint8_t again[LAMBDA_REQUEST_BYTES];
	struct lambda_request request;

	if (lambda_request_decode(data, size, &request))
		return;
	assert((uint64_t)request.file_bytes + request.input_bytes + LAMBDA_REQUEST_BYTES == size);
	lambda_request_encode(&request, again);
	assert(memcmp(again, data, LAMBDA_REQUEST_SEAL) == 0);
}

static void try_result(const uint8_t *data, size_t size)
{
	uint8_t again[LAMBDA_RESULT_BYTES];
	struct lambda_result result;
	char text[64];

	if (lambda_result_decode(data, size, &result))
		return;
	assert((uint64_t)result.output_bytes + LAMBDA_RESULT_BYTES == size);
	lambda_result_describe(&result, text, sizeof(text));
	lambda_result_encode(&result, again);
	assert(memcmp(again, data, LAMBDA_RESULT_SEAL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_request(data, size);
	try_result(data, size);
	return 0;
}
