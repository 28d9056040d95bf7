/* SPDX-License-Identifier: MIT */
#include "proto/ctl/process_message.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

struct message {
	struct rnic_process_header header;
	_Alignas(8) uint8_t payload[RNIC_PROCESS_MESSAGE_BYTES];
};

static const struct {
	uint16_t operation;
	uint32_t bytes;
} operations[] = {
	{RNIC_PROCESS_START, 256},     {RNIC_PROCESS_READY, 280},	{RNIC_PROCESS_GID, 24},
	{RNIC_PROCESS_FACTS, 816},     {RNIC_PROCESS_CLIENT, 32},	{RNIC_PROCESS_ROWS, 16},
	{RNIC_PROCESS_ROWS_REPLY, 24}, {RNIC_PROCESS_PACKET, 40},	{RNIC_PROCESS_JOIN, 24},
	{RNIC_PROCESS_JOINED, 24},     {RNIC_PROCESS_LEAVE, 24},	{RNIC_PROCESS_TROUBLE, 272},
	{RNIC_PROCESS_CLIENT_GONE, 8}, {RNIC_PROCESS_PROBE, 24},	{RNIC_PROCESS_PROBED, 24},
	{RNIC_PROCESS_ORDER, 16},      {RNIC_PROCESS_ORDER_REPLY, 168}, {RNIC_PROCESS_RULES, 8192},
};

_Static_assert(RNIC_COUNT_OF(operations) + 1 == RNIC_PROCESS_OPERATION_COUNT,
	       "every operation once");

/* The plainest message of an operation, followed by `tail` bytes. */
static struct message message_of(uint16_t operation, uint32_t tail)
{
	struct message message = {.header = {
					  .magic = RNIC_PROCESS_MAGIC,
					  .version = RNIC_PROCESS_VERSION,
					  .operation = operation,
				  }};

	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++)
		if (operations[i].operation == operation)
			message.header.bytes = 16 + operations[i].bytes + tail;
	return message;
}

static int check(const struct message *message)
{
	return rnic_process_check(message, message->header.bytes);
}

static void test_lengths(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(operations); i++) {
		const uint32_t full = 16 + operations[i].bytes;

		for (uint32_t bytes = 0; bytes < full + 64; bytes++) {
			struct message message = message_of(operations[i].operation, 0);

			message.header.bytes = bytes;
			assert_int_equal(rnic_process_check(&message, bytes),
					 bytes == full ? 0 : -EPROTO);
			assert_int_equal(rnic_process_check(&message, full),
					 bytes == full ? 0 : -EPROTO);
		}
	}
}

static void test_headers(void **state)
{
	struct message message;

	(void)state;
	message = message_of(RNIC_PROCESS_ROWS, 0);
	message.header.magic++;
	assert_int_equal(check(&message), -EPROTO);
	message = message_of(RNIC_PROCESS_ROWS, 0);
	message.header.version++;
	assert_int_equal(check(&message), -EPROTO);
	message = message_of(RNIC_PROCESS_ROWS, 0);
	message.header.reserved = 1;
	assert_int_equal(check(&message), -EPROTO);
	message = message_of(RNIC_PROCESS_ROWS, 0);
	message.header.operation = 0;
	assert_int_equal(check(&message), -EPROTO);
	message.header.operation = RNIC_PROCESS_OPERATION_COUNT;
	assert_int_equal(check(&message), -EPROTO);
	message.header.operation = UINT16_MAX;
	assert_int_equal(check(&message), -EPROTO);
}

static void test_rows(void **state)
{
	static const struct {
		uint32_t row_count, row_bytes, follow;
		int result;
	} cases[] = {
		{0, 56, 0, 0},
		{3, 56, 168, 0},
		{3, 56, 167, -EPROTO},
		{3, 56, 169, -EPROTO},
		{1, 0, 56, -EPROTO},
		{0x80000000, 2, 0, -EPROTO},
		{0x10000, 0x10000, 0, -EPROTO},
		{UINT32_MAX, UINT32_MAX, 1, -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct rnic_process_rows_reply rows = {.row_count = cases[i].row_count,
							     .row_bytes = cases[i].row_bytes};
		struct message message = message_of(RNIC_PROCESS_ROWS_REPLY, cases[i].follow);

		memcpy(message.payload, &rows, sizeof(rows));
		assert_int_equal(check(&message), cases[i].result);
	}
}

static void test_packets(void **state)
{
	struct rnic_process_packet packet = {.datagram_bytes = 4136};
	struct message message = message_of(RNIC_PROCESS_PACKET, 4136);

	(void)state;
	memcpy(message.payload, &packet, sizeof(packet));
	assert_int_equal(check(&message), 0);
	packet.datagram_bytes++;
	memcpy(message.payload, &packet, sizeof(packet));
	assert_int_equal(check(&message), -EPROTO);
	packet.datagram_bytes = UINT32_MAX;
	memcpy(message.payload, &packet, sizeof(packet));
	assert_int_equal(check(&message), -EPROTO);

	/* The length fits, but the message is longer than any. */
	message = message_of(RNIC_PROCESS_PACKET, RNIC_PROCESS_MESSAGE_BYTES);
	packet.datagram_bytes = RNIC_PROCESS_MESSAGE_BYTES;
	memcpy(message.payload, &packet, sizeof(packet));
	assert_int_equal(check(&message), -EPROTO);
}

/* A text without its final zero would be read beyond its end. */
static void test_texts(void **state)
{
	static const struct {
		uint16_t operation;
		size_t offset, bytes;
	} texts[] = {
		{RNIC_PROCESS_ORDER_REPLY, 8, 160}, {RNIC_PROCESS_READY, 8, 16},
		{RNIC_PROCESS_READY, 24, 256},	    {RNIC_PROCESS_CLIENT, 16, 16},
		{RNIC_PROCESS_TROUBLE, 16, 96},	    {RNIC_PROCESS_TROUBLE, 112, 160},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(texts); i++) {
		struct message message = message_of(texts[i].operation, 0);

		memset(message.payload + texts[i].offset, 'x', texts[i].bytes);
		assert_int_equal(check(&message), -EPROTO);
		message.payload[texts[i].offset + texts[i].bytes - 1] = 0;
		assert_int_equal(check(&message), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_headers),
		cmocka_unit_test(test_rows),	cmocka_unit_test(test_packets),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
