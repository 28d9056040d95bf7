/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what a program sends to a socket of NETLINK_RDMA: the first byte is the number of
 * rows that the device has of each kind, and the second says how long they are, and fills them.
 * Answers must be whole messages of a bounded size. The bytes are copied to memory of exactly their
 * size, so that the sanitizer sees any read beyond it.
 */
#include "lib/dropin/view/netlink/nldev_answer.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t row_count, row_filler;

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* The rows are as long as the daemon likes. */
static int read_rows(void *context, uint32_t place, uint32_t kind, struct admin_page *page)
{
	(void)context;
	(void)kind;
	require(place < 2);
	page->row_bytes = ADMIN_ROW_BYTES_MIN + 8 * (uint32_t)row_filler;
	page->count = (uint32_t)sizeof(page->rows) / page->row_bytes;
	if (page->count > row_count)
		page->count = row_count;
	memset(page->rows, row_filler, (size_t)page->count * page->row_bytes);
	page->cursor = page->cursor < 3 && row_count > 0 ? page->cursor + 1 : 0;
	return 0;
}

static int send_message(void *context, const void *message, size_t bytes)
{
	struct nlmsghdr head;

	(void)context;
	require(bytes >= sizeof(head) && bytes <= NLDEV_MESSAGE_BYTES);
	memcpy(&head, message, sizeof(head));
	require(head.nlmsg_len == bytes && NLMSG_ALIGN(bytes) == bytes);
	return 0;
}

static void answer_all(const uint8_t *bytes, size_t size)
{
	static struct rnic_listed_device devices[2] = {{.index = 0}, {.index = 7}};
	static const struct rnic_device_list list = {.devices = devices, .count = 2};
	static const struct nldev_peer peer = {
		.read = read_rows,
		.send = send_message,
		.devices = &list,
	};
	struct nldev_request request;
	size_t taken;
	int error;

	while ((taken = nldev_read_request(bytes, size, &request, &error)) > 0) {
		int64_t result = nldev_answer(&peer, &request, bytes, error);

		for (unsigned i = 0; result > 0; i++) {
			require(i < ROUNDS_MAX);
			result = nldev_answer_rest(&peer, &request, (uint32_t)result);
		}
		require(result == 0);
		if (taken >= size)
			return;
		bytes += taken;
		size -= taken;
	}
}

/* The bytes behind the head of a request that is right: random bytes alone seldom make a head. */
static void answer_as_request(const uint8_t *bytes, size_t size, uint8_t command)
{
	uint8_t *message = malloc(NLMSG_HDRLEN + size);
	const struct nlmsghdr head = {
		.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size),
		.nlmsg_type = (uint16_t)(5 << 10 | command % 32),
		.nlmsg_flags = NLM_F_REQUEST | (command >= 128 ? NLM_F_DUMP : 0),
	};

	require(message != NULL);
	memcpy(message, &head, sizeof(head));
	memcpy(message + sizeof(head), bytes, size);
	answer_all(message, sizeof(head) + size);
	free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size < 3)
		return 0;
	row_count = data[0];
	row_filler = data[1];
	copy = malloc(size - 2);
	require(copy != NULL);
	memcpy(copy, data + 2, size - 2);
	answer_all(copy, size - 2);
	answer_as_request(copy + 1, size - 3, copy[0]);
	free(copy);
	return 0;
}
