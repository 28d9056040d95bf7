/* SPDX-License-Identifier: MIT */
#include "proto/wire/packet.h"

#include "tests/unit/proto/wire/packet_maker.h"
#include "tests/unit/unit_test.h"

#define ROUNDS 200

static void assert_packets_equal(const struct rnic_packet *a, const struct rnic_packet *b)
{
	assert_memory_equal(&a->addresses, &b->addresses, sizeof(a->addresses));
	assert_ptr_equal(a->row, b->row);
	assert_int_equal(a->opcode, b->opcode);
	assert_int_equal(a->solicited, b->solicited);
	assert_int_equal(a->migrated, b->migrated);
	assert_int_equal(a->ack_request, b->ack_request);
	assert_int_equal(a->fecn, b->fecn);
	assert_int_equal(a->becn, b->becn);
	assert_int_equal(a->pkey, b->pkey);
	assert_int_equal(a->dest_qpn, b->dest_qpn);
	assert_int_equal(a->psn.value, b->psn.value);
	assert_int_equal(a->reth.address, b->reth.address);
	assert_int_equal(a->reth.rkey, b->reth.rkey);
	assert_int_equal(a->reth.length, b->reth.length);
	assert_int_equal(a->atomic.address, b->atomic.address);
	assert_int_equal(a->atomic.rkey, b->atomic.rkey);
	assert_int_equal(a->atomic.swap_or_add, b->atomic.swap_or_add);
	assert_int_equal(a->atomic.compare, b->atomic.compare);
	assert_int_equal(a->aeth.syndrome, b->aeth.syndrome);
	assert_int_equal(a->aeth.msn, b->aeth.msn);
	assert_int_equal(a->atomic_original, b->atomic_original);
	assert_int_equal(a->immediate, b->immediate);
	assert_int_equal(a->invalidate_rkey, b->invalidate_rkey);
	assert_int_equal(a->qkey, b->qkey);
	assert_int_equal(a->source_qpn, b->source_qpn);
	assert_int_equal(a->xrc_srqn, b->xrc_srqn);
	assert_int_equal(a->flush_type, b->flush_type);
	assert_int_equal(a->payload_bytes, b->payload_bytes);
	assert_memory_equal(a->payload, b->payload, a->payload_bytes);
}

static void test_decode_undoes_encode(void **state)
{
	uint8_t payload[RNIC_PAYLOAD_BYTES_MAX];
	uint8_t bytes[RNIC_PACKET_BYTES_MAX], again[RNIC_PACKET_BYTES_MAX];
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < ROUNDS * 256; i++) {
		uint8_t opcode = (uint8_t)i;
		struct rnic_packet packet, decoded;
		size_t length;

		if (rnic_opcode_row(opcode)->operation == RNIC_OPERATION_NONE)
			continue;
		packet = maker_packet(&random, opcode, i & 256, payload);
		length = maker_write(&packet, bytes);
		assert_int_equal(length, rnic_packet_bytes(&packet) + RNIC_ICRC_BYTES);
		assert_int_equal(rnic_packet_decode(&decoded, &packet.addresses, bytes, length), 0);
		assert_packets_equal(&decoded, &packet);
		assert_int_equal(maker_write(&decoded, again), length);
		assert_memory_equal(again, bytes, length);
	}
}

/*
 * Every truncation lies at the end of an allocation of its own, so that a sanitizer sees a read
 * beyond it. A truncation may still be a valid packet, with a shorter payload; then it says so.
 */
static void test_truncation(void **state)
{
	uint8_t payload[RNIC_PAYLOAD_BYTES_MAX];
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	uint64_t random = 2;

	(void)state;
	for (int opcode = 0; opcode < 256; opcode++) {
		const struct rnic_opcode *row = rnic_opcode_row((uint8_t)opcode);
		struct rnic_packet packet;
		size_t length;

		if (row->operation == RNIC_OPERATION_NONE)
			continue;
		packet = maker_packet(&random, (uint8_t)opcode, true, payload);
		length = maker_write(&packet, bytes);
		for (size_t cut = 0; cut < length; cut++) {
			uint8_t *copy = malloc(cut == 0 ? 1 : cut);
			struct rnic_packet decoded;
			int error;

			assert_non_null(copy);
			memcpy(copy, bytes, cut);
			error = rnic_packet_decode(&decoded, &packet.addresses, copy, cut);
			if (error == 0) {
				assert_true(cut >= (size_t)row->header_bytes + RNIC_ICRC_BYTES);
				assert_ptr_equal(decoded.payload, copy + row->header_bytes);
				assert_int_equal(decoded.payload_bytes,
						 packet.payload_bytes - (length - cut));
			} else {
				assert_int_equal(error, -EBADMSG);
			}
			free(copy);
		}
	}
}

static void test_refusals(void **state)
{
	static const struct {
		uint8_t opcode, flags;
		size_t length;
		int error;
	} cases[] = {
		{0x04, 0x00, 16, 0},
		{0x04, 0x00, 15, -EBADMSG},
		{0x04, 0x00, 0, -EBADMSG},
		{0x04, 0x01, 16, -EPROTO},
		{0x04, 0x0f, 16, -EPROTO},
		{0x15, 0x00, 64, -EOPNOTSUPP},
		{0x7f, 0x00, 64, -EOPNOTSUPP},
		{0xff, 0x00, 64, -EOPNOTSUPP},
		{0x04, 0x10, 16, -EBADMSG},
		{0x04, 0x30, 20, 0},
		{0x04, 0x00, 17, -EBADMSG},
		{0x04, 0x00, 18, -EBADMSG},
		{0x04, 0x00, 16 + 4096, 0},
		{0x04, 0x00, 16 + 4100, -EBADMSG},
		{0x04, 0x10, 16 + 4100, -EBADMSG},
		{0x11, 0x00, 20, 0},
		{0x11, 0x00, 24, -EBADMSG},
		{0x0c, 0x00, 32, 0},
		{0x0c, 0x00, 36, -EBADMSG},
		{0x1d, 0x00, 40, 0},
		{0x1d, 0x00, 36, -EBADMSG},
		{0x1d, 0x10, 40, -EBADMSG},
		{0x81, 0x00, 32, 0},
		{0x81, 0x00, 16, -EBADMSG},
	};
	static uint8_t bytes[RNIC_PACKET_BYTES_MAX + 64];
	static const struct rnic_addresses addresses;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rnic_packet packet, untouched;

		memset(&packet, 0xa5, sizeof(packet));
		untouched = packet;
		bytes[0] = cases[i].opcode;
		bytes[1] = cases[i].flags;
		assert_int_equal(rnic_packet_decode(&packet, &addresses, bytes, cases[i].length),
				 cases[i].error);
		if (cases[i].error != 0)
			assert_memory_equal(&packet, &untouched, sizeof(packet));
	}
}

static void test_pad(void **state)
{
	static const uint32_t pads[] = {0, 3, 2, 1, 0, 3};

	(void)state;
	for (uint32_t i = 0; i < sizeof(pads) / sizeof(pads[0]); i++)
		assert_int_equal(rnic_pad_bytes(i), pads[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode_undoes_encode),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_pad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
