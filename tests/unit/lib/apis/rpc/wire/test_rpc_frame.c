/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_frame.h"
#include "tests/unit/unit_test.h"

#define BYTES (RPC_FRAME_BYTES + 4 + 3)

static const struct rpc_frame request = {
	.kind = RPC_FRAME_REQUEST,
	.flags = RPC_FRAME_IDEMPOTENT,
	.service = "echo",
	.service_bytes = 4,
	.method = 2,
	.call = UINT64_C(0x100000009),
	.settled = 8,
	.timeout_ms = 1500,
	.payload = (const uint8_t *)"xyz",
	.payload_bytes = 3,
};

static void test_round_trip(void **state)
{
	uint8_t bytes[BYTES];
	struct rpc_frame found;

	(void)state;
	assert_int_equal(rpc_frame_bytes(&request), BYTES);
	rpc_frame_encode(&request, bytes);
	assert_int_equal(rpc_frame_decode(&found, bytes, BYTES), 0);
	assert_int_equal(found.kind, RPC_FRAME_REQUEST);
	assert_int_equal(found.flags, RPC_FRAME_IDEMPOTENT);
	assert_int_equal(found.service_bytes, 4);
	assert_memory_equal(found.service, "echo", 4);
	assert_int_equal(found.method, 2);
	assert_true(found.call == request.call && found.settled == request.settled);
	assert_int_equal(found.timeout_ms, 1500);
	assert_int_equal(found.payload_bytes, 3);
	assert_memory_equal(found.payload, "xyz", 3);
}

static void test_damaged(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t value;
	} cases[] = {
		{0, 0},
		{0, RPC_FRAME_KINDS},
		{0, RPC_FRAME_ANSWER}, /* that names no service */
		{0, RPC_FRAME_CANCEL},
		{1, 0x80}, /* a flag of another version */
		{2, 1},	   /* a name beyond the message */
		{3, 0},	   /* no name */
		{3, 8},	   /* beyond the message by one */
		{16, 1},   /* settled beyond itself */
		{31, 1},   /* the status of a request */
	};
	uint8_t bytes[BYTES];
	struct rpc_frame found;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rpc_frame_encode(&request, bytes);
		bytes[cases[i].at] = cases[i].value;
		assert_int_equal(rpc_frame_decode(&found, bytes, BYTES), -EBADMSG);
	}
	rpc_frame_encode(&request, bytes);
	for (size_t length = 0; length < RPC_FRAME_BYTES + 4; length++)
		assert_int_equal(rpc_frame_decode(&found, bytes, length), -EBADMSG);
}

static void test_status_text(void **state)
{
	(void)state;
	for (uint32_t status = 0; status < RNIC_RPC_STATUS_COUNT; status++)
		assert_true(strlen(rnic_rpc_status_text(status)) > 0);
	assert_string_equal(rnic_rpc_status_text(RNIC_RPC_STATUS_COUNT), "an unknown error");
	assert_string_equal(rnic_rpc_status_text(UINT32_MAX), "an unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_status_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
