/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a datagram of the kernel about interfaces. Facts are of a known kind, and there are
 * no more of them than headers fit in. The bytes are copied to memory of exactly their size, so
 * that the sanitizer sees any read beyond them.
 */
#include "daemon/shared/network/netlink_message.h"

#include <assert.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct netlink_reader reader;
	struct netlink_fact fact;
	uint8_t *bytes = malloc(size > 0 ? size : 1);
	size_t facts = 0;

	assert(bytes != NULL);
	memcpy(bytes, data, size);
	netlink_reader_init(&reader, bytes, size);
	while (netlink_next(&reader, &fact)) {
		assert((unsigned)fact.kind <= NETLINK_DUMP_FAILED);
		facts++;
	}
	assert(facts <= size / sizeof(struct nlmsghdr));
	assert(!netlink_next(&reader, &fact));
	free(bytes);
	return 0;
}
