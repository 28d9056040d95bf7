/* SPDX-License-Identifier: MIT */
#include "proto/base/operation.h"
#include "proto/wire/opcode.h"
#include "tests/unit/unit_test.h"

#define WORD RNIC_ATOMIC_WORD_BYTES

/* Every opcode, as the rows name them, in the order of the rows. */
static const struct {
	const char *name;
	uint8_t opcode;
} opcodes[] = {
#define RNIC_WR(opcode_, ...)	    {#opcode_, RNIC_WR_##opcode_},
#define RNIC_WR_LOCAL(opcode_, ...) {#opcode_, RNIC_WR_##opcode_},
#include "proto/base/operations.def"
};

static bool has_row(uint8_t opcode)
{
	unsigned rows = 0;

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
		rows += opcodes[i].opcode == opcode;
	assert_true(rows <= 1);
	return rows == 1;
}

/* The numbers 10 to 13 are libibverbs' names for operations that this device lacks. */
static void test_every_opcode_has_one_row(void **state)
{
	(void)state;
	for (unsigned opcode = 0; opcode <= UINT8_MAX; opcode++) {
		bool is_known = opcode < 10 || opcode == RNIC_WR_FLUSH ||
				(opcode > RNIC_WR_FLUSH && opcode < RNIC_WR_OPCODE_COUNT);
		const struct rnic_wr_operation *row = rnic_wr_operation((uint8_t)opcode);

		assert_int_equal(has_row((uint8_t)opcode), is_known);
		assert_int_equal(row->services != 0, is_known);
		if (!is_known)
			assert_true(row->request == RNIC_OPERATION_NONE && !row->is_local);
	}
}

static int wire_service(uint32_t qp_type)
{
	switch (qp_type) {
	case RNIC_QP_TYPE_RC:
		return RNIC_SERVICE_RC;
	case RNIC_QP_TYPE_UC:
		return RNIC_SERVICE_UC;
	case RNIC_QP_TYPE_UD:
		return RNIC_SERVICE_UD;
	case RNIC_QP_TYPE_XRC_INITIATOR:
		return RNIC_SERVICE_XRC;
	default:
		return -1;
	}
}

/*
 * Each operation that a queue pair may send has an opcode of its service, with the header of its
 * immediate.
 */
static void test_services_agree_with_the_wire(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		const struct rnic_wr_operation *row = rnic_wr_operation(opcodes[i].opcode);

		for (uint32_t type = 0; type < 16; type++) {
			int service = wire_service(type);

			if (!rnic_wr_is_of_type(row, type))
				continue;
			assert_int_not_equal(service, -1);
			if (row->is_local)
				continue;
			if (rnic_opcode_find((enum rnic_service)service,
					     (enum rnic_operation)row->request, RNIC_POSITION_ONLY,
					     rnic_immediate_header(row->immediate)) < 0)
				fail_msg("%s has no opcode for queue pairs of type %u",
					 opcodes[i].name, type);
		}
	}
}

static const struct rnic_opcode *wire_row(const struct rnic_wr_operation *row)
{
	int opcode = rnic_opcode_find(RNIC_SERVICE_RC, (enum rnic_operation)row->request,
				      RNIC_POSITION_ONLY, rnic_immediate_header(row->immediate));

	assert_true(opcode >= 0);
	return rnic_opcode_row((uint8_t)opcode);
}

/* Operands fill the headers, and payload is sent where the packet has some. */
static void test_rows_agree_with_their_packets(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		const struct rnic_wr_operation *row = rnic_wr_operation(opcodes[i].opcode);
		const struct rnic_opcode *wire;
		bool is_atomic = row->operands == RNIC_WR_OPERANDS_SWAP ||
				 row->operands == RNIC_WR_OPERANDS_ADD;
		bool has_remote = row->operands == RNIC_WR_OPERANDS_REMOTE ||
				  row->operands == RNIC_WR_OPERANDS_FLUSH;

		assert_int_equal(row->is_local, row->request == RNIC_OPERATION_NONE);
		if (row->is_local) {
			assert_int_equal(row->payload, RNIC_WR_PAYLOAD_NONE);
			continue;
		}
		wire = wire_row(row);
		assert_true(wire->is_request);
		assert_int_equal((wire->headers & RNIC_HEADER_ATOMIC) != 0, is_atomic);
		assert_int_equal((wire->headers & RNIC_HEADER_RETH) != 0, has_remote);
		assert_int_equal((wire->headers & RNIC_HEADER_FETH) != 0,
				 row->operands == RNIC_WR_OPERANDS_FLUSH);
		assert_int_equal(wire->payload != RNIC_PAYLOAD_NONE,
				 row->payload == RNIC_WR_PAYLOAD_OUT);
		assert_int_equal(wire->payload == RNIC_PAYLOAD_EIGHT,
				 row->payload == RNIC_WR_PAYLOAD_OUT && row->sge_bytes_max == WORD);
	}
}

/* No two requests of one packet have an opcode in common, nor with a row of opcode.c. */
static void test_opcodes_are_their_own(void **state)
{
	static const struct {
		uint8_t operation;
		uint8_t opcode;
	} requests[] = {
#define RNIC_REQUEST_OPCODE(operation_, opcode_, ...) {RNIC_OPERATION_##operation_, opcode_},
#include "proto/base/operations.def"
	};
	unsigned rows = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		for (unsigned base = 0; base <= 0xa0; base += 0xa0) {
			uint8_t opcode = (uint8_t)(base + requests[i].opcode);

			assert_int_equal(rnic_opcode_row(opcode)->operation, requests[i].operation);
		}
	}
	for (unsigned opcode = 0; opcode <= UINT8_MAX; opcode++)
		rows += rnic_opcode_row((uint8_t)opcode)->operation != RNIC_OPERATION_NONE;
	/* RC and XRC: 20 in opcode.c; then UC, UD, the congestion notification and HOLES. */
	assert_int_equal(rows, 2 * (20 + sizeof(requests) / sizeof(requests[0])) + 12 + 2 + 1 + 1);
}

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		const struct rnic_wr_operation *row = rnic_wr_operation(opcodes[i].opcode);
		uint8_t answer = rnic_request_operations[row->request].answer;

		assert_int_equal(answer == RNIC_ANSWER_NONE, row->is_local);
		assert_int_equal(row->has_response, answer > RNIC_ANSWER_ACKNOWLEDGE);
		assert_int_equal(row->has_result, answer == RNIC_ANSWER_READ_RESPONSE ||
							  answer == RNIC_ANSWER_ATOMIC_ACKNOWLEDGE);
		assert_int_equal(row->sge_access, row->has_result ? RNIC_ACCESS_LOCAL_WRITE : 0);
	}
	assert_int_equal(rnic_request_operations[RNIC_OPERATION_ACKNOWLEDGE].answer,
			 RNIC_ANSWER_NONE);
}

static void test_message_lengths(void **state)
{
	static const struct {
		uint8_t opcode;
		uint64_t sge_bytes;
		bool is_right;
	} cases[] = {
		{RNIC_WR_SEND, 0, true},
		{RNIC_WR_SEND, RNIC_MESSAGE_BYTES_MAX, true},
		{RNIC_WR_SEND, (uint64_t)RNIC_MESSAGE_BYTES_MAX + 1, false},
		{RNIC_WR_RDMA_READ, UINT64_MAX, false},
		{RNIC_WR_ATOMIC_FETCH_ADD, WORD - 1, false},
		{RNIC_WR_ATOMIC_FETCH_ADD, WORD, true},
		{RNIC_WR_ATOMIC_COMPARE_SWAP, WORD + 1, false},
		{RNIC_WR_ATOMIC_WRITE, WORD - 1, false},
		{RNIC_WR_ATOMIC_WRITE, WORD, true},
		{RNIC_WR_ATOMIC_WRITE, WORD + 1, false},
		{RNIC_WR_FLUSH, 0, true},
		{RNIC_WR_FLUSH, 1, false},
		{RNIC_WR_BIND_MW, 1, false},
		{RNIC_WR_OPCODE_COUNT, 1, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(rnic_wr_is_length_right(rnic_wr_operation(cases[i].opcode),
							 cases[i].sge_bytes),
				 cases[i].is_right);
}

static void test_sums_of_sges_saturate(void **state)
{
	struct rnic_sge sges[32] = {{.length = 0}};

	(void)state;
	assert_int_equal(rnic_sges_bytes_saturated(sges, 0), 0);
	for (unsigned i = 0; i < 32; i++)
		sges[i].length = UINT32_MAX;
	assert_int_equal(rnic_sges_bytes_saturated(sges, 1), UINT32_MAX);
	assert_int_equal(rnic_sges_bytes_saturated(sges, 32), UINT32_MAX);
	assert_true(rnic_sges_bytes(sges, 32) == UINT64_C(32) * UINT32_MAX);
	sges[0].length = 0x80000000;
	sges[1].length = 0x7fffffff;
	assert_int_equal(rnic_sges_bytes_saturated(sges, 2), UINT32_MAX);
	sges[1].length = 0x80000000;
	assert_int_equal(rnic_sges_bytes_saturated(sges, 2), UINT32_MAX);
	sges[1].length = 2;
	assert_int_equal(rnic_sges_bytes_saturated(sges, 2), 0x80000002);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_opcode_has_one_row),
		cmocka_unit_test(test_services_agree_with_the_wire),
		cmocka_unit_test(test_rows_agree_with_their_packets),
		cmocka_unit_test(test_opcodes_are_their_own),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_message_lengths),
		cmocka_unit_test(test_sums_of_sges_saturate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
