/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_packet.h"
#include "tests/unit/unit_test.h"

static const struct rpc_packet data = {
	.kind = RPC_PACKET_DATA,
	.to = 0x01020304,
	.from = 0x05060708,
	.sequence = 0xfffffffe,
	.cumulative = 0x11121314,
	.selective = UINT64_C(0x8000000000000001),
	.credit = 0x21222324,
	.message = 7,
	.offset = 4,
	.total = 10,
	.payload_bytes = 6,
	.payload = (const uint8_t *)"abcdef",
};

static void test_round_trip(void **state)
{
	uint8_t bytes[RPC_HEADER_BYTES + 6];
	struct rpc_packet found;

	(void)state;
	assert_int_equal(rpc_packet_encode(&data, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(rpc_packet_decode(&found, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(found.kind, data.kind);
	assert_int_equal(found.to, data.to);
	assert_int_equal(found.from, data.from);
	assert_int_equal(found.sequence, data.sequence);
	assert_int_equal(found.cumulative, data.cumulative);
	assert_true(found.selective == data.selective);
	assert_int_equal(found.credit, data.credit);
	assert_int_equal(found.message, data.message);
	assert_int_equal(found.offset, data.offset);
	assert_int_equal(found.total, data.total);
	assert_int_equal(found.payload_bytes, data.payload_bytes);
	assert_memory_equal(found.payload, "abcdef", 6);
	assert_int_equal(rpc_packet_encode(&data, bytes, sizeof(bytes) - 1), -EMSGSIZE);
}

/* The bytes of the layout, so that two versions of this library understand each other. */
static void test_layout(void **state)
{
	static const uint8_t expected[RPC_HEADER_BYTES + 6] = {
		0x52, 0x50, 1,	  3,	1,    2,    3,	  4,   5,   6,	 7,   8,   0xff, 0xff,
		0xff, 0xfe, 0x11, 0x12, 0x13, 0x14, 0x80, 0,   0,   0,	 0,   0,   0,	 1,
		0x21, 0x22, 0x23, 0x24, 0,    0,    0,	  7,   0,   0,	 0,   4,   0,	 0,
		0,    10,   0,	  6,	0,    0,    'a',  'b', 'c', 'd', 'e', 'f',
	};
	uint8_t bytes[sizeof(expected)];

	(void)state;
	rpc_packet_encode(&data, bytes, sizeof(bytes));
	assert_memory_equal(bytes, expected, sizeof(expected));
}

static void test_damaged(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t value;
		int error;
	} cases[] = {
		{0, 0x53, -EBADMSG},		 /* magic */
		{2, 2, -EPROTONOSUPPORT},	 /* version */
		{3, 0, -EBADMSG},		 /* no such kind */
		{3, RPC_PACKET_KINDS, -EBADMSG}, /* likewise */
		{3, RPC_PACKET_ACK, -EBADMSG},	 /* an ACK has no payload */
		{3, RPC_PACKET_OPEN, -EBADMSG},	 /* OPEN knows no receiver */
		{39, 5, -EBADMSG},		 /* beyond the message */
		{36, 0xff, -EBADMSG},		 /* far beyond */
		{40, 0xff, -EBADMSG},		 /* a message beyond all limits */
		{45, 0, -EBADMSG},		 /* no payload */
		{45, 7, -EBADMSG},		 /* payload that is not there */
		{47, 2, -EBADMSG},		 /* only CLOSE has such a code */
	};
	uint8_t bytes[RPC_HEADER_BYTES + 6];
	struct rpc_packet found;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rpc_packet_encode(&data, bytes, sizeof(bytes));
		bytes[cases[i].at] = cases[i].value;
		assert_int_equal(rpc_packet_decode(&found, bytes, sizeof(bytes)), cases[i].error);
	}
	rpc_packet_encode(&data, bytes, sizeof(bytes));
	for (size_t length = 0; length < sizeof(bytes); length++)
		assert_int_equal(rpc_packet_decode(&found, bytes, length), -EBADMSG);
}

/* DATA may have more behind it, which the decoder leaves alone; no other kind may. */
static void test_several(void **state)
{
	struct rpc_packet packet = {
		.kind = RPC_PACKET_DATA,
		.to = 2,
		.from = 3,
		.total = 5,
		.payload_bytes = 5,
		.payload = (const uint8_t *)"first",
	};
	uint8_t bytes[2 * RPC_HEADER_BYTES + 5] = {0};
	struct rpc_packet found;

	(void)state;
	rpc_packet_encode(&packet, bytes, sizeof(bytes));
	assert_int_equal(rpc_packet_decode(&found, bytes, sizeof(bytes)), RPC_HEADER_BYTES + 5);
	assert_int_equal(found.payload_bytes, 5);
	packet.kind = RPC_PACKET_PING;
	packet.total = packet.payload_bytes = 0;
	rpc_packet_encode(&packet, bytes, sizeof(bytes));
	assert_int_equal(rpc_packet_decode(&found, bytes, RPC_HEADER_BYTES + 1), -EBADMSG);
	assert_int_equal(rpc_packet_decode(&found, bytes, RPC_HEADER_BYTES), RPC_HEADER_BYTES);
}

/* Nothing is read behind the last packet, nor behind bytes that are no packet. */
static void test_next(void **state)
{
	const struct rpc_packet first = {
		.kind = RPC_PACKET_DATA,
		.to = 2,
		.from = 3,
		.total = 5,
		.payload_bytes = 5,
		.payload = (const uint8_t *)"first",
	};
	const struct rpc_packet second = {.kind = RPC_PACKET_PING, .to = 2, .from = 3};
	uint8_t bytes[2 * RPC_HEADER_BYTES + 5];
	struct rpc_packet found;
	size_t at = 0;

	(void)state;
	rpc_packet_encode(&first, bytes, sizeof(bytes));
	rpc_packet_encode(&second, bytes + RPC_HEADER_BYTES + 5, RPC_HEADER_BYTES);
	assert_true(rpc_packet_next(&found, bytes, sizeof(bytes), &at));
	assert_int_equal(found.kind, RPC_PACKET_DATA);
	assert_true(rpc_packet_next(&found, bytes, sizeof(bytes), &at));
	assert_int_equal(found.kind, RPC_PACKET_PING);
	assert_false(rpc_packet_next(&found, bytes, sizeof(bytes), &at));
	assert_int_equal(at, sizeof(bytes));
	bytes[RPC_HEADER_BYTES + 5] = 0; /* of the magic of the second */
	at = RPC_HEADER_BYTES + 5;
	assert_false(rpc_packet_next(&found, bytes, sizeof(bytes), &at));
	assert_int_equal(at, RPC_HEADER_BYTES + 5);
}

/* A size of datagrams: in OPEN where older versions do not look, in OPENED where they say 0. */
static void test_sizes(void **state)
{
	struct rpc_packet packet = {
		.kind = RPC_PACKET_OPEN,
		.from = 1,
		.credit = 4096,
		.payload = (const uint8_t *)"identity of them",
		.payload_bytes = RPC_IDENTITY_BYTES,
	};
	uint8_t bytes[RPC_HEADER_BYTES + RPC_IDENTITY_BYTES];
	struct rpc_packet found;

	(void)state;
	rpc_packet_encode(&packet, bytes, sizeof(bytes));
	assert_int_equal(rpc_packet_decode(&found, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(found.credit, 4096);
	bytes[42] = 1; /* total */
	assert_int_equal(rpc_packet_decode(&found, bytes, sizeof(bytes)), -EBADMSG);
	packet.kind = RPC_PACKET_OPENED;
	packet.to = 2;
	packet.total = 4096;
	rpc_packet_encode(&packet, bytes, sizeof(bytes));
	assert_int_equal(rpc_packet_decode(&found, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(found.total, 4096);
}

static void test_before(void **state)
{
	(void)state;
	assert_true(rpc_before(1, 2));
	assert_false(rpc_before(2, 2));
	assert_true(rpc_before(0xffffffff, 0));
	assert_false(rpc_before(0, 0xffffffff));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_layout),
		cmocka_unit_test(test_damaged),	   cmocka_unit_test(test_several),
		cmocka_unit_test(test_next),	   cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
