/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/engine/engine_fixture.h"

#include "proto/base/causes.h"
#include "proto/wire/syndrome.h"
#include "tests/unit/unit_test.h"

#include <errno.h>

#define ACK_SYNDROME rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED)

/* Takes all packets of one message out and compares them with the expected segmentation. */
static void expect_message(struct engine_fixture *fixture, enum rnic_operation operation,
			   uint32_t psn, const uint8_t *bytes, uint32_t length, uint32_t mtu)
{
	uint32_t offset = 0;
	bool is_last;

	do {
		const struct rnic_packet *packet = &fixture->sent.packet;
		uint32_t expected = length - offset < mtu ? length - offset : mtu;
		bool is_first = offset == 0;

		assert_true(fixture_transmit(fixture));
		is_last = offset + expected == length;
		assert_int_equal(packet->row->operation, operation);
		assert_int_equal(packet->row->position, is_first && is_last ? RNIC_POSITION_ONLY
							: is_first	    ? RNIC_POSITION_FIRST
							: is_last	    ? RNIC_POSITION_LAST
									    : RNIC_POSITION_MIDDLE);
		assert_int_equal(packet->psn.value, psn);
		assert_int_equal(packet->payload_bytes, expected);
		assert_memory_equal(fixture->payload, bytes + offset, expected);
		assert_int_equal(packet->dest_qpn, FIXTURE_DEST_QPN);
		assert_true(packet->migrated);
		if (is_last)
			assert_true(packet->ack_request);
		if (packet->row->headers & RNIC_HEADER_RETH) {
			assert_int_equal(packet->reth.address, UINT64_C(0x7000000000));
			assert_int_equal(packet->reth.length, length);
			assert_int_equal(packet->reth.rkey, 0xabcdef01);
		}
		offset += expected;
		psn = (psn + 1) & RNIC_PSN_MASK;
	} while (!is_last);
}

static void test_sizes_around_the_mtu(void **state)
{
	static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_SEND, RNIC_WR_RDMA_WRITE};

	(void)state;
	for (uint8_t code = 1; code <= 5; code++) {
		uint32_t mtu = UINT32_C(128) << code;
		uint32_t sizes[] = {0,	     1,		  mtu - 1,     mtu,    mtu + 1,
				    2 * mtu, 3 * mtu - 1, 3 * mtu + 1, 5 * mtu};
		struct fixture_options options = fixture_defaults;
		struct engine_fixture *fixture;
		uint32_t psn = 0xfffffe; /* wraps on the way */

		options.path_mtu = code;
		options.sq_psn = psn;
		fixture = fixture_create(&options);
		for (size_t i = 0; i < RNIC_COUNT_OF(sizes) * 2; i++) {
			uint32_t size = sizes[i / 2];
			uint32_t packets = size == 0 ? 1 : (size + mtu - 1) / mtu;

			fixture_post_simple(fixture, opcodes[i % 2], i, size);
			expect_message(fixture, i % 2 ? RNIC_OPERATION_WRITE : RNIC_OPERATION_SEND,
				       psn, fixture->memory.bytes, size, mtu);
			assert_false(fixture_transmit(fixture));
			psn = (psn + packets) & RNIC_PSN_MASK;
			fixture_receive_acknowledge(fixture, psn - 1, ACK_SYNDROME);
			assert_int_equal(fixture->completion_count, i + 1);
			assert_int_equal(fixture->completions[i].status, RNIC_WC_SUCCESS);
		}
		fixture_destroy(fixture);
	}
}

static void test_packets_span_sges(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct send_wqe wqe = fixture_work(RNIC_WR_SEND, 1, 0);
	struct rnic_sge sges[LIMIT_SGES];
	uint8_t expected[LIMIT_SGES * 100];
	uint32_t length = 0;

	(void)state;
	/* 32 pieces of 0 to 93 bytes, from all over the memory. */
	for (uint32_t i = 0; i < LIMIT_SGES; i++) {
		uint32_t offset = (LIMIT_SGES - i) * 1000;

		sges[i] = fixture_sge(fixture, offset, i * 3);
		memcpy(expected + length, fixture->memory.bytes + offset, i * 3);
		length += i * 3;
	}
	sges[0].lkey = 0; /* an empty piece needs no key */
	wqe.sge_count = LIMIT_SGES;
	wqe.length = length;
	fixture_post(fixture, &wqe, sges);
	expect_message(fixture, RNIC_OPERATION_SEND, 100, expected, length, 1024);
	fixture_destroy(fixture);
}

static void test_inline(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct send_wqe wqe = fixture_work(RNIC_WR_SEND, 1, 200);
	uint8_t bytes[200];

	(void)state;
	memset(bytes, 0x5a, sizeof(bytes));
	wqe.flags |= RNIC_SEND_INLINE;
	wqe.sge_count = 0;
	qp_post_send(fixture->qp, &wqe, NULL, bytes);
	expect_message(fixture, RNIC_OPERATION_SEND, 100, bytes, sizeof(bytes), 1024);
	fixture_destroy(fixture);
}

static void test_immediate_invalidate_solicited(void **state)
{
	static const struct {
		enum rnic_wr_opcode opcode;
		uint16_t header;
		bool may_solicit;
	} rows[] = {
		{RNIC_WR_SEND, 0, true},
		{RNIC_WR_SEND_WITH_IMM, RNIC_HEADER_IMMEDIATE, true},
		{RNIC_WR_SEND_WITH_INVALIDATE, RNIC_HEADER_INVALIDATE, true},
		{RNIC_WR_RDMA_WRITE, 0, false},
		{RNIC_WR_RDMA_WRITE_WITH_IMM, RNIC_HEADER_IMMEDIATE, true},
	};
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	const struct rnic_packet *packet = &fixture->sent.packet;

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct send_wqe wqe = fixture_work(rows[i].opcode, i, 2000);
		struct rnic_sge sge = fixture_sge(fixture, 0, 2000);

		wqe.immediate = 0x11223344;
		wqe.flags |= RNIC_SEND_SOLICITED;
		fixture_post(fixture, &wqe, &sge);
		assert_true(fixture_transmit(fixture));
		assert_false(packet->solicited);
		assert_false(packet->row->headers &
			     (RNIC_HEADER_IMMEDIATE | RNIC_HEADER_INVALIDATE));
		assert_true(fixture_transmit(fixture));
		assert_int_equal(packet->solicited, rows[i].may_solicit);
		assert_int_equal(packet->row->headers, rows[i].header);
		assert_int_equal(packet->immediate,
				 rows[i].header == RNIC_HEADER_IMMEDIATE ? 0x11223344 : 0);
		assert_int_equal(packet->invalidate_rkey,
				 rows[i].header == RNIC_HEADER_INVALIDATE ? 0x11223344 : 0);
	}
	fixture_destroy(fixture);
}

static void test_atomics(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct send_wqe wqe = fixture_work(RNIC_WR_ATOMIC_COMPARE_SWAP, 1, 8);
	struct rnic_sge sge = fixture_sge(fixture, 0, 8);
	const struct rnic_packet *packet = &fixture->sent.packet;

	(void)state;
	wqe.atomic.compare = 11;
	wqe.atomic.swap_or_add = 22;
	fixture_post(fixture, &wqe, &sge);
	wqe.opcode = RNIC_WR_ATOMIC_FETCH_ADD;
	fixture_post(fixture, &wqe, &sge);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(packet->row->operation, RNIC_OPERATION_COMPARE_SWAP);
	assert_int_equal(packet->atomic.compare, 11);
	assert_int_equal(packet->atomic.swap_or_add, 22);
	assert_int_equal(packet->atomic.address, UINT64_C(0x7000000000));
	assert_int_equal(packet->payload_bytes, 0);
	assert_true(fixture_transmit(fixture));
	assert_int_equal(packet->row->operation, RNIC_OPERATION_FETCH_ADD);
	assert_int_equal(packet->psn.value, 101);
	assert_int_equal(fixture->qp->requester.reads_outstanding, 2);
	fixture_destroy(fixture);
}

/* A READ longer than a chunk is several requests with PSNs of their own. */
static void test_long_read(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	const struct rnic_packet *packet = &fixture->sent.packet;
	uint32_t length = 2 * LIMIT_READ_CHUNK_BYTES + 1500;
	static const uint32_t lengths[] = {LIMIT_READ_CHUNK_BYTES, LIMIT_READ_CHUNK_BYTES, 1500};
	uint32_t psn = 100;
	uint64_t address = UINT64_C(0x7000000000);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 1, length);
	for (size_t i = 0; i < RNIC_COUNT_OF(lengths); i++) {
		assert_true(fixture_transmit(fixture));
		assert_int_equal(packet->row->operation, RNIC_OPERATION_READ_REQUEST);
		assert_int_equal(packet->psn.value, psn);
		assert_int_equal(packet->reth.address, address);
		assert_int_equal(packet->reth.length, lengths[i]);
		assert_true(packet->ack_request);
		psn += (lengths[i] + 1023) / 1024;
		address += lengths[i];
	}
	assert_false(fixture_transmit(fixture));
	assert_int_equal(fixture->qp->requester.psn.value, psn);
	fixture_destroy(fixture);
}

static void test_read_limit_and_fence(void **state)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;
	struct send_wqe wqe;
	struct rnic_sge sge;

	(void)state;
	options.max_rd_atomic = 2;
	fixture = fixture_create(&options);
	sge = fixture_sge(fixture, 0, 8);
	for (uint64_t i = 0; i < 3; i++)
		fixture_post_simple(fixture, RNIC_WR_RDMA_READ, i, 8);
	wqe = fixture_work(RNIC_WR_SEND, 3, 8);
	wqe.flags |= RNIC_SEND_FENCE;
	fixture_post(fixture, &wqe, &sge);
	assert_int_equal(fixture_transmit_all(fixture), 2);
	fixture_receive_read(fixture, RNIC_POSITION_ONLY, 100, fixture->memory.bytes, 8);
	assert_int_equal(fixture_transmit_all(fixture), 1); /* the third READ */
	fixture_receive_read(fixture, RNIC_POSITION_ONLY, 101, fixture->memory.bytes, 8);
	assert_int_equal(fixture_transmit_all(fixture), 0); /* the fence holds */
	fixture_receive_read(fixture, RNIC_POSITION_ONLY, 102, fixture->memory.bytes, 8);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.row->operation, RNIC_OPERATION_SEND);
	fixture_destroy(fixture);
}

static void test_ack_requests_within_a_message(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	uint32_t since = 0;

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 1, 200 * 1024);
	for (uint32_t i = 0; i < 200; i++) {
		assert_true(fixture_transmit(fixture));
		since = fixture->sent.packet.ack_request ? 0 : since + 1;
		assert_in_range(since, 0, LIMIT_PACKETS_PER_ACK_REQUEST - 1);
	}
	fixture_destroy(fixture);
}

/* Each quarter of a small window is answered by itself. */
static void test_ack_requests_follow_the_window(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	const uint32_t packet_bytes = 1024 + LIMIT_PACKET_OVERHEAD_BYTES;
	uint32_t asked = 0;

	(void)state;
	fixture->qp->peer_window->queue_bytes = 16 * packet_bytes;
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 1, 200 * 1024);
	for (uint32_t i = 1; fixture_transmit(fixture); i++) {
		assert_int_equal(fixture->sent.packet.ack_request, i % 4 == 0);
		asked += fixture->sent.packet.ack_request;
	}
	assert_int_equal(asked, 4);
	fixture_destroy(fixture);
}

/* Sends the packets from `psn` on; the packets in `asking` (bits, the first the lowest) ask. */
static void expect_asking(struct engine_fixture *fixture, uint32_t psn, uint32_t count,
			  uint32_t asking)
{
	for (uint32_t i = 0; i < count; i++) {
		assert_true(fixture_transmit(fixture));
		assert_int_equal(fixture->sent.packet.psn.value, psn + i);
		assert_int_equal(fixture->sent.packet.ack_request, asking >> i & 1);
	}
}

/* The last of a run of long WRITEs asks for all; each other request asks for itself. */
static void test_a_run_of_writes_asks_once(void **state)
{
	static const struct {
		enum rnic_wr_opcode second;
		uint8_t flags;
		uint32_t lkey_flip;
		uint32_t asking; /* of 6 packets, or of 3 where the second cannot go */
		uint32_t count;
	} cases[] = {
		{RNIC_WR_RDMA_WRITE, 0, 0, 0x20, 6},
		{RNIC_WR_RDMA_WRITE, RNIC_SEND_FENCE, 0, 0x24, 6},
		{RNIC_WR_RDMA_WRITE, 0, 1, 0x04, 3},
		{RNIC_WR_SEND, 0, 0, 0x24, 6},
		{RNIC_WR_RDMA_READ, 0, 0, 0x0c, 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct engine_fixture *fixture = fixture_create(&fixture_defaults);
		struct send_wqe wqe = fixture_work(cases[i].second, 2, 3000);
		struct rnic_sge sge = fixture_sge(fixture, 0, 3000);

		fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 1, 3000);
		wqe.flags |= cases[i].flags;
		sge.lkey ^= cases[i].lkey_flip;
		fixture_post(fixture, &wqe, &sge);
		expect_asking(fixture, 100, cases[i].count, cases[i].asking);
		assert_false(fixture_transmit(fixture));
		fixture_receive_acknowledge(fixture, 100 + cases[i].count - 1, ACK_SYNDROME);
		assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
		fixture_destroy(fixture);
	}
}

/* The first WRITE left the asking to one that then may not go: it goes again, and asks. */
static void test_a_run_of_writes_is_cut(void **state)
{
	struct rnic_qp_attributes drain = {.state = RNIC_QP_STATE_SQD};
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 1, 3000);
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 2, 3000);
	expect_asking(fixture, 100, 3, 0);
	assert_int_equal(qp_modify(fixture->qp, &drain, RNIC_QP_ATTR_STATE), 0);
	expect_asking(fixture, 100, 3, 0x04);
	assert_false(fixture_transmit(fixture));
	fixture_receive_acknowledge(fixture, 102, ACK_SYNDROME);
	assert_int_equal(fixture->completion_count, 1);
	assert_false(fixture_transmit(fixture));
	fixture_destroy(fixture);
}

/* The window closes, and the last packet before it asks for the acknowledgement that reopens it. */
static void test_window_closes_with_an_ack_request(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	uint32_t sent;

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 1, FIXTURE_MEMORY_BYTES);
	sent = fixture_transmit_all(fixture);
	assert_int_equal(sent, LIMIT_PATH_WINDOW_BYTES / (1024 + LIMIT_PACKET_OVERHEAD_BYTES));
	assert_true(fixture->sent.packet.ack_request);
	fixture_receive_acknowledge(fixture, 100 + sent / 2, ACK_SYNDROME);
	assert_int_equal(fixture_transmit_all(fixture), sent / 2 + 1);
	fixture_destroy(fixture);
}

enum spoiled {
	BAD_LKEY,
	OTHER_PD,
	TOO_LONG,
	PAST_END,
	BAD_OPCODE,
	SHORT_ATOMIC,
	INLINE_READ,
	ROWS
};

/* Turns a good entry of one SGE into one that fails. */
static void spoil(enum spoiled row, struct send_wqe *wqe, struct rnic_sge *sges, uint32_t huge_key,
		  uint32_t other_key)
{
	switch (row) {
	case BAD_LKEY:
		sges[0].lkey ^= 1;
		break;
	case OTHER_PD:
		sges[0].lkey = other_key;
		break;
	case TOO_LONG: /* three times 2^31 - 1 overflows 32 bits */
		for (int i = 0; i < 3; i++)
			sges[i] = (struct rnic_sge){0, INT32_MAX, huge_key};
		wqe->sge_count = 3;
		break;
	case PAST_END:
		sges[0].address = FIXTURE_IOVA + FIXTURE_MEMORY_BYTES - 7;
		break;
	case BAD_OPCODE:
		wqe->opcode = RNIC_WR_OPCODE_COUNT;
		break;
	case SHORT_ATOMIC:
		wqe->opcode = RNIC_WR_ATOMIC_FETCH_ADD;
		sges[0].length = 7;
		break;
	default:
		wqe->opcode = RNIC_WR_RDMA_READ;
		wqe->flags |= RNIC_SEND_INLINE;
		break;
	}
}

/* The second of three entries is spoiled: the first completes, then it fails, the third is flushed.
 */
static void expect_local_error(enum spoiled row, enum rnic_wc_status status)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct send_wqe wqe = fixture_work(RNIC_WR_SEND, 2, 8);
	struct rnic_sge sges[3] = {fixture_sge(fixture, 0, 8)};
	struct mr huge = fixture->mr, other = fixture->mr;
	struct pd other_pd = {0};

	huge.iova = 0;
	huge.length = UINT64_C(1) << 40;
	other.pd = &other_pd;
	assert_int_equal(mr_register(&fixture->engine, &huge), 0);
	assert_int_equal(mr_register(&fixture->engine, &other), 0);
	spoil(row, &wqe, sges, huge.key, other.key);

	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	qp_post_send(fixture->qp, &wqe, sges, fixture->memory.bytes);
	fixture_post_simple(fixture, RNIC_WR_SEND, 3, 8);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->completion_count, 0);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_int_equal(fixture->completion_count, 3);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
	assert_int_equal(fixture->completions[1].status, status);
	assert_int_equal(fixture->completions[1].wr_id, 2);
	assert_int_equal(fixture->completions[1].retired, 2);
	assert_int_equal(fixture->completions[2].status, RNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);

	mr_deregister(&fixture->engine, &huge);
	mr_deregister(&fixture->engine, &other);
	fixture_destroy(fixture);
}

static void test_local_errors_in_their_turn(void **state)
{
	static const enum rnic_wc_status statuses[ROWS] = {
		[BAD_LKEY] = RNIC_WC_LOC_PROT_ERR,     [OTHER_PD] = RNIC_WC_LOC_PROT_ERR,
		[TOO_LONG] = RNIC_WC_LOC_LEN_ERR,      [PAST_END] = RNIC_WC_LOC_PROT_ERR,
		[BAD_OPCODE] = RNIC_WC_LOC_QP_OP_ERR,  [SHORT_ATOMIC] = RNIC_WC_LOC_LEN_ERR,
		[INLINE_READ] = RNIC_WC_LOC_QP_OP_ERR,
	};

	(void)state;
	for (int row = 0; row < ROWS; row++)
		expect_local_error((enum spoiled)row, statuses[row]);
}

/* The region goes away in the middle of a message. */
static void test_region_vanishes(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 4096);
	assert_true(fixture_transmit(fixture));
	mr_deregister(&fixture->engine, &fixture->mr);
	assert_false(fixture_transmit(fixture));
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_LOC_PROT_ERR);
	fixture_destroy(fixture);
}

/* The second of two messages cannot be read: the first is finished before it fails. */
static void expect_failed_payload(int error, uint8_t cause)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 2048);
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 2048);
	assert_int_equal(fixture_transmit_all(fixture), 4);
	engine_payload_failed(&fixture->engine, fixture->qp, rnic_psn(103), false, error,
			      fixture->now_ns);
	assert_int_equal(fixture_transmit_all(fixture), 2); /* the first message again */
	assert_int_equal(fixture->completion_count, 0);
	fixture_receive_acknowledge(fixture, 101, ACK_SYNDROME);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	assert_int_equal(fixture->completion_count, 2);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
	assert_int_equal(fixture->completions[1].status, RNIC_WC_LOC_PROT_ERR);
	assert_int_equal(fixture->completions[1].vendor_error, cause);
	fixture_destroy(fixture);
}

static void test_payload_failed(void **state)
{
	(void)state;
	expect_failed_payload(-EFAULT, RNIC_CAUSE_LOCAL_MEMORY_GONE);
	expect_failed_payload(-ESRCH, RNIC_CAUSE_PROGRAM_GONE);
}

/* 32 packets of one QP, then the next QP's. */
static void test_quantum(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct qp *other = fixture_create_qp(fixture, &fixture_defaults);
	struct send_wqe wqe = fixture_work(RNIC_WR_RDMA_WRITE, 1, 64 * 1024);
	struct rnic_sge sge = fixture_sge(fixture, 0, 64 * 1024);

	(void)state;
	assert_int_equal(fixture_transmit_all(fixture), 0);
	qp_post_send(fixture->qp, &wqe, &sge, NULL);
	qp_post_send(other, &wqe, &sge, NULL);
	for (uint32_t i = 0; i < 128; i++) {
		assert_true(fixture_transmit(fixture));
		assert_ptr_equal(fixture->sent.qp,
				 i / LIMIT_QP_QUANTUM % 2 == 0 ? fixture->qp : other);
	}
	qp_destroy(other);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_around_the_mtu),
		cmocka_unit_test(test_packets_span_sges),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_immediate_invalidate_solicited),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_long_read),
		cmocka_unit_test(test_read_limit_and_fence),
		cmocka_unit_test(test_ack_requests_within_a_message),
		cmocka_unit_test(test_ack_requests_follow_the_window),
		cmocka_unit_test(test_a_run_of_writes_asks_once),
		cmocka_unit_test(test_a_run_of_writes_is_cut),
		cmocka_unit_test(test_window_closes_with_an_ack_request),
		cmocka_unit_test(test_local_errors_in_their_turn),
		cmocka_unit_test(test_region_vanishes),
		cmocka_unit_test(test_payload_failed),
		cmocka_unit_test(test_quantum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
