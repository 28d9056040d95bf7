/* SPDX-License-Identifier: MIT */
#include "lib/apis/rpc/wire/rpc_bulk.h"

#include "lib/apis/rpc/wire/rpc_bytes.h"
#include "tests/unit/unit_test.h"

struct two_ends {
	struct rpc_bulk_sender sender;
	struct rpc_bulk_receiver receiver;
	uint8_t grant[RPC_GRANT_BYTES];
	uint8_t chunk[RPC_CHUNK_HEAD_BYTES + 16];
};

static const struct rpc_grant in_frames = {.slots = 4, .slot_bytes = 16};
static const struct rpc_grant written = {
	.slots = 4, .slot_bytes = 16, .rkey = 7, .address = UINT64_C(0x100000000)};

static int grant(struct two_ends *ends)
{
	struct rpc_frame frame = {
		.kind = RPC_FRAME_GRANT, .payload = ends->grant, .payload_bytes = RPC_GRANT_BYTES};

	rpc_bulk_receiver_grant(&ends->receiver, ends->grant);
	return rpc_bulk_sender_grant(&ends->sender, &frame);
}

/* Sends a chunk of so many bytes, whose frame has so many beyond the head. */
static int carry(struct two_ends *ends, uint32_t bytes, uint32_t in_frame)
{
	struct rpc_chunk chunk;
	struct rpc_frame frame = {.kind = RPC_FRAME_CHUNK,
				  .payload = ends->chunk,
				  .payload_bytes = RPC_CHUNK_HEAD_BYTES + in_frame};
	uint32_t number = rpc_bulk_sender_chunk(&ends->sender, bytes, ends->chunk);
	int error = rpc_bulk_receiver_take(&ends->receiver, &frame, &chunk);

	if (error != 0)
		return error;
	assert_int_equal(chunk.number, number);
	assert_int_equal(chunk.bytes, bytes);
	assert_true(chunk.data == NULL || chunk.data == ends->chunk + RPC_CHUNK_HEAD_BYTES);
	return 0;
}

static void test_waits_for_grants(void **state)
{
	struct two_ends ends = {0};

	(void)state;
	rpc_bulk_receiver_init(&ends.receiver, &in_frames);
	assert_false(rpc_bulk_sender_may_send(&ends.sender));
	assert_int_equal(grant(&ends), 0);
	for (int i = 0; i < 4; i++) {
		assert_true(rpc_bulk_sender_may_send(&ends.sender));
		assert_int_equal(carry(&ends, 16, 16), 0);
	}
	assert_false(rpc_bulk_sender_may_send(&ends.sender));
	assert_int_equal(grant(&ends), 0);
	assert_true(rpc_bulk_sender_may_send(&ends.sender));
}

static void test_grants_when_half_was_taken(void **state)
{
	struct two_ends ends = {0};

	(void)state;
	rpc_bulk_receiver_init(&ends.receiver, &in_frames);
	grant(&ends);
	carry(&ends, 16, 16);
	assert_false(rpc_bulk_receiver_owes_grant(&ends.receiver, UINT64_MAX));
	carry(&ends, 16, 16);
	assert_true(rpc_bulk_receiver_owes_grant(&ends.receiver, UINT64_MAX));
	assert_true(rpc_bulk_receiver_owes_grant(&ends.receiver, 33));
	assert_false(rpc_bulk_receiver_owes_grant(&ends.receiver, 32)); /* two more are enough */
}

static void test_over_the_wrap(void **state)
{
	struct two_ends ends = {0};

	(void)state;
	rpc_bulk_receiver_init(&ends.receiver, &written);
	ends.receiver.next = ends.sender.next = UINT32_MAX - 1;
	for (int round = 0; round < 3; round++) {
		assert_int_equal(grant(&ends), 0);
		for (int i = 0; i < 4; i++)
			assert_int_equal(carry(&ends, 5, 0), 0);
		assert_false(rpc_bulk_sender_may_send(&ends.sender));
	}
}

static void test_grants_that_make_no_sense(void **state)
{
	static const struct {
		struct rpc_grant grant;
		uint32_t payload_bytes;
	} cases[] = {
		{{.limit = 4, .slots = 4, .slot_bytes = 16}, RPC_GRANT_BYTES - 1},
		{{.limit = 4, .slots = 4, .slot_bytes = 16}, RPC_GRANT_BYTES + 1},
		{{.limit = 0, .slots = 0, .slot_bytes = 16}, RPC_GRANT_BYTES},
		{{.limit = 4, .slots = 4, .slot_bytes = 0}, RPC_GRANT_BYTES},
		{{.limit = 5, .slots = 4, .slot_bytes = 16}, RPC_GRANT_BYTES},
		{{.limit = UINT32_MAX, .slots = 4, .slot_bytes = 16}, RPC_GRANT_BYTES},
		{{.limit = 1, .slots = RPC_SLOTS_MAX + 1, .slot_bytes = 16}, RPC_GRANT_BYTES},
		{{.limit = 1, .slots = 4, .slot_bytes = RPC_SLOT_MAX_BYTES + 1}, RPC_GRANT_BYTES},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rpc_bulk_sender sender = {0};
		uint8_t payload[RPC_GRANT_BYTES + 1] = {0};
		struct rpc_frame frame = {.payload = payload,
					  .payload_bytes = cases[i].payload_bytes};

		rpc_write32(payload, cases[i].grant.limit);
		rpc_write32(payload + 4, cases[i].grant.slots);
		rpc_write32(payload + 8, cases[i].grant.slot_bytes);
		assert_int_equal(rpc_bulk_sender_grant(&sender, &frame), -EPROTO);
		assert_false(rpc_bulk_sender_may_send(&sender));
	}
}

/* Memory does not change, and a grant is not taken back. */
static void test_grants_that_change(void **state)
{
	struct two_ends ends = {0};
	struct rpc_frame frame = {.payload = ends.grant, .payload_bytes = RPC_GRANT_BYTES};

	(void)state;
	rpc_bulk_receiver_init(&ends.receiver, &written);
	grant(&ends);
	ends.grant[23] ^= 1; /* the address */
	assert_int_equal(rpc_bulk_sender_grant(&ends.sender, &frame), -EPROTO);
	ends.grant[23] ^= 1;
	assert_int_equal(rpc_bulk_sender_grant(&ends.sender, &frame), 0);
	carry(&ends, 1, 0);
	rpc_write32(ends.grant, 0);
	assert_int_equal(rpc_bulk_sender_grant(&ends.sender, &frame), -EPROTO);
}

static void test_chunks_that_make_no_sense(void **state)
{
	static const struct {
		struct rpc_grant memory;
		uint32_t skip; /* chunks that were not sent */
		uint32_t bytes;
		uint32_t in_frame;
	} cases[] = {
		{{.slots = 4, .slot_bytes = 16}, 0, 17, 17}, /* longer than a slot */
		{{.slots = 4, .slot_bytes = 16}, 0, 0, 0},   /* empty */
		{{.slots = 4, .slot_bytes = 16}, 0, 16, 15}, /* not all there */
		{{.slots = 4, .slot_bytes = 16}, 0, 15, 16}, /* more than it says */
		{{.slots = 4, .slot_bytes = 16}, 1, 16, 16}, /* not the next */
		{{.slots = 4, .slot_bytes = 16, .rkey = 7, .address = 64},
		 0,
		 16,
		 16}, /* in the frame, although memory was offered */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct two_ends ends = {0};

		rpc_bulk_receiver_init(&ends.receiver, &cases[i].memory);
		grant(&ends);
		ends.sender.next += cases[i].skip;
		assert_int_equal(carry(&ends, cases[i].bytes, cases[i].in_frame), -EPROTO);
		assert_int_equal(ends.receiver.next, 0);
	}
}

static void test_chunks_that_were_not_granted(void **state)
{
	struct two_ends ends = {0};

	(void)state;
	rpc_bulk_receiver_init(&ends.receiver, &in_frames);
	assert_int_equal(carry(&ends, 16, 16), -EPROTO);
	ends.sender.next = 0;
	grant(&ends);
	for (int i = 0; i < 4; i++)
		assert_int_equal(carry(&ends, 16, 16), 0);
	assert_int_equal(carry(&ends, 16, 16), -EPROTO);
}

static void test_total(void **state)
{
	uint8_t payload[RPC_TOTAL_BYTES];
	struct rpc_frame frame = {.payload = payload, .payload_bytes = RPC_TOTAL_BYTES};

	(void)state;
	rpc_bulk_write_total(payload, UINT64_C(0x1234567890));
	assert_true(rpc_bulk_total(&frame) == UINT64_C(0x1234567890));
	frame.payload_bytes--;
	assert_true(rpc_bulk_total(&frame) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_grants),
		cmocka_unit_test(test_grants_when_half_was_taken),
		cmocka_unit_test(test_over_the_wrap),
		cmocka_unit_test(test_grants_that_make_no_sense),
		cmocka_unit_test(test_grants_that_change),
		cmocka_unit_test(test_chunks_that_make_no_sense),
		cmocka_unit_test(test_chunks_that_were_not_granted),
		cmocka_unit_test(test_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
