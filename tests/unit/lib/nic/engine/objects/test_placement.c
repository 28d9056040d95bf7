/* SPDX-License-Identifier: MIT */
#include "proto/base/causes.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/lib/nic/engine/responder_bench.h"
#include "tests/unit/unit_test.h"

#include <errno.h>

#define PSN	   100
#define GOOD_AT	   0
#define GONE_AT	   16384
#define ACK	   0x1f
#define NAK_KEY	   0x62
#define NAK_OP	   0x63
#define SEND_BYTES 32

static struct responder_bench bench;

static int set_up(void **state)
{
	(void)state;
	bench_start(&bench, PSN, false);
	bench.model.gone_from = GONE_AT;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	bench_stop(&bench);
	return 0;
}

/* --- what is received ------------------------------------------------------------------------ */

/* A batch of requests in which payload fails, and the completions it ends with. */
struct batch {
	const char *name;
	struct {
		bool is_write;
		uint64_t offset;
	} requests[4];
	uint32_t count;
	enum rnic_wc_status statuses[5]; /* of the receive entries, of which five are posted */
	uint8_t syndrome;
	uint32_t answer; /* the request that the acknowledgement or NAK is about */
};

#define SUCCESS RNIC_WC_SUCCESS
#define GONE	RNIC_WC_LOC_PROT_ERR
#define FLUSHED RNIC_WC_WR_FLUSH_ERR
#define SEND_TO(offset_)                                                                           \
	{                                                                                          \
		false, offset_                                                                     \
	}
#define WRITE_TO(offset_)                                                                          \
	{                                                                                          \
		true, offset_                                                                      \
	}

static const struct batch batches[] = {
	{"the first of three SENDs",
	 {SEND_TO(GONE_AT), SEND_TO(GOOD_AT), SEND_TO(GOOD_AT)},
	 3,
	 {GONE, FLUSHED, FLUSHED, FLUSHED, FLUSHED},
	 NAK_OP,
	 0},
	{"the second of three SENDs",
	 {SEND_TO(GOOD_AT), SEND_TO(GONE_AT), SEND_TO(GOOD_AT)},
	 3,
	 {SUCCESS, GONE, FLUSHED, FLUSHED, FLUSHED},
	 NAK_OP,
	 1},
	{"two SENDs of three",
	 {SEND_TO(GONE_AT), SEND_TO(GONE_AT), SEND_TO(GOOD_AT)},
	 3,
	 {GONE, FLUSHED, FLUSHED, FLUSHED, FLUSHED},
	 NAK_OP,
	 0},
	{"a WRITE between SENDs",
	 {SEND_TO(GOOD_AT), WRITE_TO(GONE_AT), SEND_TO(GOOD_AT)},
	 3,
	 {SUCCESS, FLUSHED, FLUSHED, FLUSHED, FLUSHED},
	 NAK_OP,
	 1},
};

static void receive_batch(const struct batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		uint64_t offset = batch->requests[i].offset;

		if (batch->requests[i].is_write) {
			bench_receive(&bench, bench_write(&bench, PSN + i, offset, SEND_BYTES));
			continue;
		}
		bench_post(&bench, bench.receives_posted, offset, SEND_BYTES);
		bench_receive(&bench, bench_send(&bench, PSN + i, SEND_BYTES));
	}
	while (bench.receives_posted < 5)
		bench_post(&bench, bench.receives_posted, GOOD_AT, SEND_BYTES);
}

static void completions_tell_of_payload_that_failed(void **state)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(batches); i++) {
		const struct batch *batch = &batches[i];

		print_message("%s\n", batch->name);
		receive_batch(batch);
		expect_no_completion(&bench);
		bench_flush(&bench);
		for (uint32_t j = 0; j < 5; j++)
			expect_completion(&bench, j, batch->statuses[j]);
		expect_no_completion(&bench);
		assert_int_equal(bench.qp->state, RNIC_QP_STATE_ERR);
		assert_int_equal(bench.engine.counters[COUNTER_MEMORY_ERRORS], 1);
		tear_down(state);
		set_up(state);
	}
}

static void the_peer_is_told_of_the_packet_that_failed(void **state)
{
	struct packet_builder out;

	for (size_t i = 0; i < RNIC_COUNT_OF(batches); i++) {
		receive_batch(&batches[i]);
		assert_true(engine_transmit(&bench.engine, &out, 2000));
		assert_int_equal(out.packet.aeth.syndrome, batches[i].syndrome);
		assert_int_equal(out.packet.psn.value, PSN + batches[i].answer);
		assert_int_equal(out.packet.aeth.msn, batches[i].answer);
		expect_silence(&bench);
		tear_down(state);
		set_up(state);
	}
}

/* A SEND of two packets whose first fails while the second has not come. */
static void an_entry_under_way_fails_itself(void **state)
{
	struct rnic_packet first =
		bench_packet(&bench, RNIC_OPERATION_SEND, RNIC_POSITION_FIRST, 0, PSN, BENCH_MTU);

	(void)state;
	bench_post(&bench, 0, GONE_AT, 2 * BENCH_MTU);
	bench_post(&bench, 1, GOOD_AT, 2 * BENCH_MTU);
	bench_receive(&bench, first);
	bench_flush(&bench);
	expect_completion(&bench, 0, GONE);
	expect_completion(&bench, 1, FLUSHED);
	expect_acknowledge(&bench, NAK_OP, PSN, 0);
}

/* The entry that failed is named as such, and not the one that follows it. */
static void an_entry_under_way_is_flushed_for_an_earlier_one(void **state)
{
	struct rnic_packet first = bench_packet(&bench, RNIC_OPERATION_SEND, RNIC_POSITION_FIRST, 0,
						PSN + 1, BENCH_MTU);

	(void)state;
	bench_post(&bench, 0, GONE_AT, SEND_BYTES);
	bench_post(&bench, 1, GOOD_AT, 2 * BENCH_MTU);
	bench_receive(&bench, bench_send(&bench, PSN, SEND_BYTES));
	bench_receive(&bench, first);
	bench_flush(&bench);
	expect_completion(&bench, 0, GONE);
	expect_completion(&bench, 1, FLUSHED);
	expect_no_completion(&bench);
}

static void a_deregistration_places_payload_first(void **state)
{
	struct mr other = bench.mr;

	(void)state;
	assert_int_equal(mr_register(&bench.engine, &other), 0);
	bench_post(&bench, 0, GOOD_AT, SEND_BYTES);
	bench_receive(&bench, bench_send(&bench, PSN, SEND_BYTES));
	expect_no_completion(&bench);
	mr_deregister(&bench.engine, &other);
	assert_memory_equal(bench.memory + GOOD_AT, bench.payload, SEND_BYTES);
	expect_completion(&bench, 0, SUCCESS);
}

/* --- what is answered ------------------------------------------------------------------------ */

static void receive_answer(struct engine_fixture *fixture, uint32_t psn, const uint8_t *bytes,
			   uint32_t length)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_READ_RESPONSE, RNIC_POSITION_ONLY, psn);

	packet.aeth.syndrome = ACK;
	packet.payload = bytes;
	packet.payload_bytes = length;
	engine_receive(&fixture->engine, &packet, fixture->now_ns);
}

/* Posts four READs of one packet each, of which only the last is signaled, and answers them. */
static struct engine_fixture *read_unsignaled(const uint8_t *bytes, uint32_t length)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;

	options.is_batched = true;
	fixture = fixture_create(&options);
	for (uint32_t i = 0; i < 4; i++) {
		struct rnic_sge sge = fixture_sge(fixture, 4096 * i, length);
		struct send_wqe wqe = fixture_work(RNIC_WR_RDMA_READ, i, length);

		wqe.flags = i == 3 ? RNIC_SEND_SIGNALED : 0;
		wqe.sge_count = 1;
		fixture_post(fixture, &wqe, &sge);
	}
	fixture_transmit_all(fixture);
	for (uint32_t i = 0; i < 4; i++)
		receive_answer(fixture, PSN + i, bytes, length);
	assert_int_equal(fixture->completion_count, 0);
	return fixture;
}

static void an_unsignaled_read_stays_silent(void **state)
{
	static const uint8_t bytes[64] = {1, 2, 3};
	struct engine_fixture *fixture = read_unsignaled(bytes, sizeof(bytes));

	(void)state;
	engine_flush(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].wr_id, 3);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
	assert_memory_equal(fixture->memory.bytes + 3 * 4096, bytes, sizeof(bytes));
	fixture_destroy(fixture);
}

static void expect_unsignaled_read_that_failed(int error, uint8_t cause)
{
	static const uint8_t bytes[64] = {1, 2, 3};
	struct engine_fixture *fixture = read_unsignaled(bytes, sizeof(bytes));

	fixture->memory.error = error;
	engine_flush(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(fixture->completions[i].wr_id, i);
		assert_int_equal(fixture->completions[i].status,
				 i == 0 ? RNIC_WC_LOC_PROT_ERR : RNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(fixture->completions[i].byte_count, 0);
	}
	assert_int_equal(fixture->completions[0].vendor_error, cause);
	assert_int_equal(verdict_row(fixture->qp->last_error)->cause, cause);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
	fixture_destroy(fixture);
}

static void an_unsignaled_read_that_failed_is_told(void **state)
{
	(void)state;
	expect_unsignaled_read_that_failed(-EFAULT, RNIC_CAUSE_LOCAL_MEMORY_GONE);
	expect_unsignaled_read_that_failed(-ESRCH, RNIC_CAUSE_PROGRAM_GONE);
}

/* Takes over the fixture's QP; fills it and all others with READs, numbered throughout. */
static uint32_t fill_queues(struct engine_fixture *fixture, struct qp **qps, uint32_t qp_count)
{
	struct qp *first = fixture->qp;
	uint32_t posted = 0;

	qps[0] = first;
	for (uint32_t i = 0; i < qp_count; i++) {
		if (i > 0)
			qps[i] = fixture_create_qp(fixture, &fixture_defaults);
		fixture->qp = qps[i];
		while (send_queue_space(&qps[i]->send_queue) > 0)
			fixture_post_simple(fixture, RNIC_WR_RDMA_READ, posted++, 8);
	}
	fixture->qp = first;
	return posted;
}

/* A good completion waits, and behind it flushed ones, more than can wait. */
static void a_long_flush_keeps_the_order(void **state)
{
	const struct rnic_qp_attributes error = {.state = RNIC_QP_STATE_ERR};
	struct fixture_options options = fixture_defaults;
	static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct engine_fixture *fixture;
	struct qp *qps[6];
	uint32_t posted;

	(void)state;
	options.is_batched = true;
	fixture = fixture_create(&options);
	posted = fill_queues(fixture, qps, RNIC_COUNT_OF(qps));
	assert_true(posted > PLACEMENT_COMPLETIONS_MAX);
	fixture_transmit_all(fixture);
	receive_answer(fixture, PSN, bytes, sizeof(bytes));
	for (uint32_t i = 0; i < RNIC_COUNT_OF(qps); i++)
		assert_int_equal(qp_modify(qps[i], &error, RNIC_QP_ATTR_STATE), 0);
	engine_flush(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, posted);
	for (uint32_t i = 0; i < posted; i++) {
		assert_int_equal(fixture->completions[i].wr_id, i);
		assert_int_equal(fixture->completions[i].status,
				 i == 0 ? RNIC_WC_SUCCESS : RNIC_WC_WR_FLUSH_ERR);
	}
	assert_memory_equal(fixture->memory.bytes, bytes, sizeof(bytes));
	for (uint32_t i = 1; i < RNIC_COUNT_OF(qps); i++)
		qp_destroy(qps[i]);
	fixture_destroy(fixture);
}

/* Memory that is written at once does not overtake memory that is written with the batch. */
static void bytes_are_seen_in_order(void **state)
{
	const uint8_t untouched[SEND_BYTES] = {0};

	(void)state;
	bench_receive(&bench, bench_write(&bench, PSN, GOOD_AT, SEND_BYTES));
	assert_memory_equal(bench.memory + GOOD_AT, untouched, SEND_BYTES);
	bench.model.region.direct = true;
	bench_receive(&bench, bench_write(&bench, PSN + 1, GOOD_AT + SEND_BYTES, SEND_BYTES));
	assert_memory_equal(bench.memory + GOOD_AT, bench.payload, SEND_BYTES);
	assert_memory_equal(bench.memory + GOOD_AT + SEND_BYTES, bench.payload, SEND_BYTES);
}

/* Nor is it written when the payload before it could not be written. */
static void bytes_behind_a_failure_are_not_seen(void **state)
{
	const uint8_t untouched[SEND_BYTES] = {0};

	(void)state;
	bench_receive(&bench, bench_write(&bench, PSN, GONE_AT, SEND_BYTES));
	bench.model.region.direct = true;
	bench_receive(&bench, bench_write(&bench, PSN + 1, GOOD_AT, SEND_BYTES));
	bench_flush(&bench);
	assert_memory_equal(bench.memory + GOOD_AT, untouched, SEND_BYTES);
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_ERR);
}

/* The client has ended: its peer hears nothing, or that its key is void. */
static struct rnic_packet write_one(void)
{
	return bench_write(&bench, PSN, 0, 1);
}

static struct rnic_packet add_one(void)
{
	return bench_atomic(&bench, RNIC_OPERATION_FETCH_ADD, PSN, 0, 1, 0);
}

static struct rnic_packet send_ten(void)
{
	return bench_send(&bench, PSN, 10);
}

static void receive_for_ended_client(struct rnic_packet (*make)(void), bool is_direct, bool refuses)
{
	bench_start(&bench, PSN, is_direct);
	bench.model.error = -ESRCH;
	bench.refuses_when_gone = refuses;
	bench_post(&bench, 1, 0, 100);
	bench_receive(&bench, make());
	bench_flush(&bench);
	assert_int_equal(bench.qp->state, RNIC_QP_STATE_ERR);
}

static void peers_of_an_ended_client_hear_nothing_or_a_nak(void **state)
{
	struct rnic_packet (*const makers[])(void) = {write_one, add_one, send_ten};

	(void)state;
	for (size_t i = 0; i < 2 * RNIC_COUNT_OF(makers); i++) {
		const bool is_send = makers[i / 2] == send_ten;

		receive_for_ended_client(makers[i / 2], i % 2 == 0, false);
		expect_silence(&bench);
		bench_stop(&bench);
		receive_for_ended_client(makers[i / 2], i % 2 == 0, true);
		expect_acknowledge(&bench, is_send ? NAK_OP : NAK_KEY, PSN, 0);
		expect_silence(&bench);
		bench_stop(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest received[] = {
		cmocka_unit_test_setup_teardown(completions_tell_of_payload_that_failed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_peer_is_told_of_the_packet_that_failed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_entry_under_way_fails_itself, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_entry_under_way_is_flushed_for_an_earlier_one,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_deregistration_places_payload_first, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(bytes_are_seen_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bytes_behind_a_failure_are_not_seen, set_up,
						tear_down),
	};
	const struct CMUnitTest answered[] = {
		cmocka_unit_test(peers_of_an_ended_client_hear_nothing_or_a_nak),
		cmocka_unit_test(an_unsignaled_read_stays_silent),
		cmocka_unit_test(an_unsignaled_read_that_failed_is_told),
		cmocka_unit_test(a_long_flush_keeps_the_order),
	};

	return cmocka_run_group_tests(received, NULL, NULL) +
	       cmocka_run_group_tests(answered, NULL, NULL);
}
