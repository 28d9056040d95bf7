/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verbs/srq.h"

#include "lib/nic/engine/reliability/acknowledgement.h"
#include "proto/wire/syndrome.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define MTU	 1024
#define MANY	 20
#define MAX_WR	 64
#define RQ_PSN	 fixture_defaults.rq_psn
#define RECEIVED 0x40 /* where received bytes go, in the memory */

/* Two QPs that share a receive queue; the fixture's ring feeds it. */
struct bench {
	struct engine_fixture *fixture;
	struct fixture_options options;
	struct engine_sink sink;
	struct srq *srq;
	struct pd srq_pd;
	struct qp *first;
	struct qp *second;
	uint8_t payload[MTU];
};

static uint32_t posted(void *context, const struct recv_queue *queue)
{
	const struct engine_fixture *fixture = context;

	(void)queue;
	return fixture->receives_posted - fixture->receives_taken;
}

static void bench_start(struct bench *bench, uint8_t type, bool is_batched, bool has_own_pd)
{
	struct srq_config config = {.max_wr = MAX_WR, .max_sge = 2};

	*bench = (struct bench){.options = fixture_defaults};
	bench->options.type = type;
	bench->options.is_batched = is_batched;
	bench->fixture = fixture_create(&bench->options);
	/* The sink of the fixture does not count entries, as its other users want no credits. */
	bench->sink = *bench->fixture->engine.config.sink;
	bench->sink.posted = posted;
	bench->fixture->engine.config.sink = &bench->sink;
	config.pd = has_own_pd ? &bench->srq_pd : &bench->fixture->pd;
	assert_int_equal(srq_create(&bench->fixture->engine, &config, &bench->srq), 0);
	bench->options.srq = bench->srq;
	bench->first = fixture_create_qp(bench->fixture, &bench->options);
	bench->second = fixture_create_qp(bench->fixture, &bench->options);
	assert_int_equal(bench->srq->references, 2);
}

static void bench_stop(struct bench *bench)
{
	if (bench->first != NULL)
		qp_destroy(bench->first);
	qp_destroy(bench->second);
	assert_int_equal(bench->srq->references, 0);
	srq_destroy(bench->srq);
	fixture_destroy(bench->fixture);
}

static void send_part(struct bench *bench, const struct qp *qp, enum rnic_position position,
		      uint32_t psn, uint32_t bytes)
{
	struct rnic_packet packet =
		fixture_packet(bench->fixture, RNIC_OPERATION_SEND, position, psn);

	packet.dest_qpn = qp->qpn;
	packet.payload = bench->payload;
	packet.payload_bytes = bytes;
	fixture_receive(bench->fixture, &packet);
}

static void send_to(struct bench *bench, const struct qp *qp, uint32_t psn)
{
	send_part(bench, qp, RNIC_POSITION_ONLY, psn, 16);
}

static void expect_completion(const struct bench *bench, uint32_t index, const struct qp *qp,
			      uint64_t wr_id, enum rnic_wc_status status)
{
	const struct cqe *cqe = &bench->fixture->completions[index];

	assert_true(index < bench->fixture->completion_count);
	assert_ptr_equal(cqe->qp, qp);
	assert_int_equal(cqe->wr_id, wr_id);
	assert_int_equal(cqe->status, status);
	assert_true(cqe->is_recv && cqe->srq == bench->srq);
	assert_int_equal(cqe->retired, 0);
}

static void modify_to(struct qp *qp, enum rnic_qp_state state)
{
	const struct rnic_qp_attributes attributes = {.state = state};

	assert_int_equal(qp_modify(qp, &attributes, RNIC_QP_ATTR_STATE), 0);
}

static uint32_t count_events(const struct bench *bench, enum rnic_async_event_type type)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < bench->fixture->event_count; i++)
		count += bench->fixture->events[i] == type;
	return count;
}

static void entries_go_to_whoever_comes_first(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, false, false);
	for (uint32_t i = 0; i < 3; i++)
		fixture_post_receive(bench.fixture, i, RECEIVED, 64);
	send_to(&bench, bench.second, RQ_PSN);
	send_to(&bench, bench.first, RQ_PSN);
	send_to(&bench, bench.second, RQ_PSN + 1);
	expect_completion(&bench, 0, bench.second, 0, RNIC_WC_SUCCESS);
	expect_completion(&bench, 1, bench.first, 1, RNIC_WC_SUCCESS);
	expect_completion(&bench, 2, bench.second, 2, RNIC_WC_SUCCESS);
	bench_stop(&bench);
}

/* IBTA 1.4, 9.7.7.2: the entries are promised to no QP, so the responder tells no credits. */
static void without_an_entry_the_sender_waits(void **state)
{
	const uint8_t not_carried = rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED);
	struct bench bench;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, false, false);
	send_to(&bench, bench.first, RQ_PSN);
	assert_true(fixture_transmit(bench.fixture));
	assert_int_equal(rnic_syndrome_kind(bench.fixture->sent.packet.aeth.syndrome),
			 RNIC_SYNDROME_RNR_NAK);
	fixture_post_receive(bench.fixture, 5, RECEIVED, 64);
	send_to(&bench, bench.first, RQ_PSN);
	expect_completion(&bench, 0, bench.first, 5, RNIC_WC_SUCCESS);
	acknowledgement_queue(bench.first, rnic_psn(RQ_PSN));
	assert_true(fixture_transmit(bench.fixture));
	assert_int_equal(bench.fixture->sent.packet.aeth.syndrome, not_carried);
	bench_stop(&bench);
}

/* IBTA 1.4, 11.2.3.3. */
static void it_shrinks_to_what_waits(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, false, false);
	for (uint32_t i = 0; i < 4; i++)
		fixture_post_receive(bench.fixture, i, RECEIVED, 64);
	assert_int_equal(srq_waiting(bench.srq), 4);
	send_to(&bench, bench.first, RQ_PSN);
	assert_int_equal(srq_waiting(bench.srq), 3);
	assert_int_equal(srq_check_size(bench.srq, 0, 0), -EINVAL);
	assert_int_equal(srq_check_size(bench.srq, LIMIT_WR_DEPTH + 1, 0), -EINVAL);
	assert_int_equal(srq_check_size(bench.srq, 2, 0), -EINVAL);
	assert_int_equal(srq_check_size(bench.srq, 3, 4), -EINVAL);
	assert_int_equal(srq_check_size(bench.srq, 3, 3), 0);
	srq_set_size(bench.srq, 3);
	assert_int_equal(srq_set_limit(bench.srq, 4), -EINVAL);
	assert_int_equal(srq_check_size(bench.srq, LIMIT_WR_DEPTH, 0), 0);
	bench_stop(&bench);
}

/* IBTA 1.4, 10.2.9.5. */
static void the_limit_is_told_once(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, false, false);
	for (uint32_t i = 0; i < 4; i++)
		fixture_post_receive(bench.fixture, i, RECEIVED, 64);
	assert_int_equal(srq_set_limit(bench.srq, MAX_WR + 1), -EINVAL);
	assert_int_equal(srq_set_limit(bench.srq, 3), 0);
	send_to(&bench, bench.first, RQ_PSN);
	assert_int_equal(count_events(&bench, RNIC_EVENT_SRQ_LIMIT_REACHED), 0);
	assert_int_equal(bench.srq->limit, 3);
	send_to(&bench, bench.second, RQ_PSN);
	assert_int_equal(count_events(&bench, RNIC_EVENT_SRQ_LIMIT_REACHED), 1);
	assert_int_equal(bench.srq->limit, 0);
	send_to(&bench, bench.second, RQ_PSN + 1);
	assert_int_equal(count_events(&bench, RNIC_EVENT_SRQ_LIMIT_REACHED), 1);
	bench_stop(&bench);
}

static void a_limit_that_is_reached_is_told_at_once(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, false, false);
	fixture_post_receive(bench.fixture, 0, RECEIVED, 64);
	assert_int_equal(srq_set_limit(bench.srq, 1), 0);
	assert_int_equal(count_events(&bench, RNIC_EVENT_SRQ_LIMIT_REACHED), 0);
	assert_int_equal(srq_set_limit(bench.srq, 2), 0);
	assert_int_equal(count_events(&bench, RNIC_EVENT_SRQ_LIMIT_REACHED), 1);
	assert_int_equal(srq_set_limit(bench.srq, 0), 0);
	assert_int_equal(count_events(&bench, RNIC_EVENT_SRQ_LIMIT_REACHED), 1);
	bench_stop(&bench);
}

/* A QP in error flushes the entries that it holds, and no others. */
static void an_error_flushes_only_what_is_taken(void **state)
{
	struct bench bench;

	(void)state;
	for (uint32_t batched = 0; batched < 2; batched++) {
		bench_start(&bench, RNIC_QP_TYPE_RC, batched == 1, false);
		fixture_post_receive(bench.fixture, 1, RECEIVED, 2 * MTU);
		fixture_post_receive(bench.fixture, 2, RECEIVED, 2 * MTU);
		send_part(&bench, bench.first, RNIC_POSITION_FIRST, RQ_PSN, MTU);
		modify_to(bench.first, RNIC_QP_STATE_ERR);
		expect_completion(&bench, 0, bench.first, 1, RNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(bench.fixture->completion_count, 1);
		assert_int_equal(count_events(&bench, RNIC_EVENT_QP_LAST_WQE_REACHED), 1);
		modify_to(bench.first, RNIC_QP_STATE_ERR);
		qp_flush_receives(bench.first);
		assert_int_equal(count_events(&bench, RNIC_EVENT_QP_LAST_WQE_REACHED), 1);
		send_to(&bench, bench.second, RQ_PSN);
		expect_completion(&bench, 1, bench.second, 2, RNIC_WC_SUCCESS);
		bench_stop(&bench);
	}
}

/* The event of an error that a peer brings about waits until the last receive has completed. */
static void the_last_receive_comes_before_its_event(void **state)
{
	struct bench bench;
	struct rnic_packet packet;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, true, false);
	fixture_post_receive(bench.fixture, 1, RECEIVED, 2 * MTU);
	packet = fixture_packet(bench.fixture, RNIC_OPERATION_SEND, RNIC_POSITION_FIRST, RQ_PSN);
	packet.dest_qpn = bench.first->qpn;
	packet.payload = bench.payload;
	packet.payload_bytes = MTU;
	engine_receive(&bench.fixture->engine, &packet, bench.fixture->now_ns);
	packet.psn = rnic_psn(RQ_PSN + 1); /* FIRST again: out of sequence */
	engine_receive(&bench.fixture->engine, &packet, bench.fixture->now_ns);
	assert_int_equal(bench.first->state, RNIC_QP_STATE_ERR);
	assert_int_equal(bench.fixture->completion_count, 0);
	assert_int_equal(count_events(&bench, RNIC_EVENT_QP_LAST_WQE_REACHED), 0);
	engine_flush(&bench.fixture->engine, bench.fixture->now_ns);
	expect_completion(&bench, 0, bench.first, 1, RNIC_WC_REM_INV_REQ_ERR);
	assert_int_equal(count_events(&bench, RNIC_EVENT_QP_LAST_WQE_REACHED), 1);
	bench_stop(&bench);
}

static void what_a_reset_interrupts_is_used_again(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, false, false);
	fixture_post_receive(bench.fixture, 1, RECEIVED, 2 * MTU);
	fixture_post_receive(bench.fixture, 2, RECEIVED, 2 * MTU);
	send_part(&bench, bench.first, RNIC_POSITION_FIRST, RQ_PSN, MTU);
	modify_to(bench.first, RNIC_QP_STATE_RESET);
	assert_int_equal(bench.fixture->completion_count, 0);
	assert_int_equal(count_events(&bench, RNIC_EVENT_QP_LAST_WQE_REACHED), 0);
	send_to(&bench, bench.second, RQ_PSN);
	expect_completion(&bench, 0, bench.second, 1, RNIC_WC_SUCCESS);
	bench_stop(&bench);
}

static void what_a_destruction_interrupts_is_used_again(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, true, false);
	fixture_post_receive(bench.fixture, 1, RECEIVED, 2 * MTU);
	send_part(&bench, bench.first, RNIC_POSITION_FIRST, RQ_PSN, MTU);
	qp_destroy(bench.first);
	bench.first = NULL;
	assert_int_equal(bench.fixture->completion_count, 0);
	send_to(&bench, bench.second, RQ_PSN);
	expect_completion(&bench, 0, bench.second, 1, RNIC_WC_SUCCESS);
	bench_stop(&bench);
}

/*
 * IBTA 1.4, 9.8.2: UC drops a message that misses a packet. Other QPs need not wait for its next
 * message.
 */
static void what_a_dropped_message_took_is_used_again(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_UC, false, false);
	fixture_post_receive(bench.fixture, 1, RECEIVED, 2 * MTU);
	send_part(&bench, bench.first, RNIC_POSITION_FIRST, RQ_PSN, MTU);
	send_part(&bench, bench.first, RNIC_POSITION_LAST, RQ_PSN + 2, 10);
	assert_int_equal(bench.fixture->completion_count, 0);
	send_to(&bench, bench.second, RQ_PSN);
	expect_completion(&bench, 0, bench.second, 1, RNIC_WC_SUCCESS);
	bench_stop(&bench);
}

/* More than are fetched at once come back, and the oldest of them is used first. */
static void all_that_is_given_back_has_room(void **state)
{
	struct qp *holders[MANY];
	struct bench bench;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, false, false);
	for (uint32_t i = 0; i < MANY; i++) {
		holders[i] = fixture_create_qp(bench.fixture, &bench.options);
		fixture_post_receive(bench.fixture, i, RECEIVED, 2 * MTU);
		send_part(&bench, holders[i], RNIC_POSITION_FIRST, RQ_PSN, MTU);
	}
	for (uint32_t i = 0; i < LIMIT_RECV_PREFETCH; i++)
		fixture_post_receive(bench.fixture, MANY + i, RECEIVED, 64);
	send_to(&bench, bench.second, RQ_PSN);
	for (uint32_t i = MANY; i-- > 0;)
		qp_destroy(holders[i]);
	for (uint32_t i = 0; i < MANY + LIMIT_RECV_PREFETCH - 1; i++) {
		send_to(&bench, bench.second, RQ_PSN + 1 + i);
		expect_completion(&bench, i + 1, bench.second, i < MANY ? i : i + 1,
				  RNIC_WC_SUCCESS);
	}
	bench_stop(&bench);
}

/* The SRQ's protection domain decides, not that of the QP. */
static void keys_are_those_of_its_domain(void **state)
{
	struct bench bench;
	struct mr own;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, false, true);
	own = bench.fixture->mr;
	own.pd = &bench.srq_pd;
	assert_int_equal(mr_register(&bench.fixture->engine, &own), 0);
	fixture_post_receive(bench.fixture, 1, RECEIVED, 64);
	bench.fixture->receives[0].sges[0].lkey = own.key;
	fixture_post_receive(bench.fixture, 2, RECEIVED, 64);
	send_to(&bench, bench.first, RQ_PSN);
	send_to(&bench, bench.first, RQ_PSN + 1);
	expect_completion(&bench, 0, bench.first, 1, RNIC_WC_SUCCESS);
	expect_completion(&bench, 1, bench.first, 2, RNIC_WC_LOC_PROT_ERR);
	mr_deregister(&bench.fixture->engine, &own);
	bench_stop(&bench);
}

static void sizes_are_bounded(void **state)
{
	static const struct srq_config cases[] = {
		{.max_wr = 0, .max_sge = 1},
		{.max_wr = LIMIT_WR_DEPTH + 1, .max_sge = 1},
		{.max_wr = 1, .max_sge = LIMIT_SGES + 1},
	};
	struct bench bench;
	struct srq *srq;

	(void)state;
	bench_start(&bench, RNIC_QP_TYPE_RC, false, false);
	for (uint32_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct srq_config config = cases[i];

		config.pd = &bench.fixture->pd;
		assert_int_equal(srq_create(&bench.fixture->engine, &config, &srq), -EINVAL);
	}
	bench_stop(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_go_to_whoever_comes_first),
		cmocka_unit_test(without_an_entry_the_sender_waits),
		cmocka_unit_test(it_shrinks_to_what_waits),
		cmocka_unit_test(the_limit_is_told_once),
		cmocka_unit_test(a_limit_that_is_reached_is_told_at_once),
		cmocka_unit_test(an_error_flushes_only_what_is_taken),
		cmocka_unit_test(the_last_receive_comes_before_its_event),
		cmocka_unit_test(what_a_reset_interrupts_is_used_again),
		cmocka_unit_test(what_a_destruction_interrupts_is_used_again),
		cmocka_unit_test(what_a_dropped_message_took_is_used_again),
		cmocka_unit_test(all_that_is_given_back_has_room),
		cmocka_unit_test(keys_are_those_of_its_domain),
		cmocka_unit_test(sizes_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
