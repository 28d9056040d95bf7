/* SPDX-License-Identifier: MIT */
/* Any bytes as a lambda file: an accepted file has its code and entry within, and encodes again. */
#include "tools/lab/lambda/lambda_file.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t header[LAMBDA_HEADER_BYTES];
	struct lambda_file file;
	int error = lambda_file_decode(data, size, &file);

	if (error) {
		assert(error == -EBADMSG || error == -EPROTONOSUPPORT || error == -ENOEXEC);
		return 0;
	}
	assert(file.code >= data && file.code + file.code_bytes == data + size);
	assert(file.entry < file.code_bytes);
	assert(lambda_machine_name(file.machine));
	lambda_file_encode(&file, header);
	assert(memcmp(header, data, sizeof(header)) == 0);
	return 0;
}
