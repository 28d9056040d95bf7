/* SPDX-License-Identifier: MIT */
/* Any bytes as a message of rnic-lab: an accepted message encodes to the same bytes again. */
#include "tools/lab/exchange/exchange_message.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lab_message message;
	uint8_t again[LAB_MESSAGE_BYTES_MAX];
	int taken = lab_message_decode(data, size, &message);

	if (taken <= 0) {
		assert(taken == 0 || taken == -EBADMSG || taken == -EPROTONOSUPPORT);
		assert(taken != 0 || size < LAB_MESSAGE_BYTES_MAX);
		return 0;
	}
	assert((size_t)taken <= size);
	assert(lab_message_encode(&message, again) == (size_t)taken);
	assert(memcmp(again, data, (size_t)taken) == 0);
	return 0;
}
