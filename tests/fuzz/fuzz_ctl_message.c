/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a control message, from a client and from a daemon: the first byte is the number of
 * descriptors, the second the operation whose reply is expected. An accepted message must have the
 * length that it claims and an operation with a name. The message is copied to memory of exactly
 * its size, so that the sanitizer sees any read beyond it.
 */
#include "proto/ctl/ctl_check.h"
#include "proto/ctl/ctl_message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_accepted(const uint8_t *message, size_t size)
{
	struct rnic_ctl_header header;

	require(size >= sizeof(header) && size <= RNIC_CTL_MESSAGE_BYTES);
	memcpy(&header, message, sizeof(header));
	require(header.bytes == size);
	require(strcmp(rnic_ctl_operation_name(header.operation), "unknown") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rnic_ctl_header header = {0};
	unsigned fd_count, operation;
	uint8_t *message;

	if (size < 2)
		return 0;
	fd_count = data[0] % (RNIC_CTL_FDS_MAX + 2);
	operation = data[1];
	size -= 2;
	message = malloc(size > 0 ? size : 1);
	require(message != NULL);
	memcpy(message, data + 2, size);
	if (size >= sizeof(header))
		memcpy(&header, message, sizeof(header));

	if (rnic_ctl_check_request(message, size, fd_count) == 0) {
		check_accepted(message, size);
		require(fd_count <= 1 && header.status == 0);
	}
	if (rnic_ctl_check_reply(message, size, fd_count, operation, header.request_id) == 0) {
		check_accepted(message, size);
		require(header.operation == operation && header.status <= 0);
	}
	free(message);
	return 0;
}
