/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/xrcd.h"

#include "lib/nic/engine/verbs/srq.h"
#include "proto/wire/syndrome.h"
#include "tests/sim/recv_room_copy.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define MTU    1024
#define PSN    fixture_defaults.rq_psn
#define MANY   20
#define REFUSE rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_INVALID_REQUEST)

/*
 * A domain with two SRQs, each in a PD and with a CQ of its own, as those of two processes are, and
 * a target QP. The initiator is the fixture's QP.
 */
struct bench {
	struct engine_fixture *fixture;
	struct fixture_options options;
	struct engine_sink sink;
	struct xrcd xrcd;
	struct pd pds[2];
	struct cq cqs[2];
	struct mr mrs[2];
	struct srq *srqs[2];
	struct qp *target;
	uint64_t next_wr_id[2];
	uint8_t payload[MTU];
};

/* Entries of the SRQ number i are 100 * i and up, and never end. */
static uint32_t refill(void *context, const struct recv_queue *queue, const struct recv_room *room)
{
	struct engine_fixture *fixture = context;
	struct bench *bench = queue->user;
	uint32_t i = queue == &bench->srqs[1]->queue;
	struct recv_wqe wqe = {.sge_count = 1, .length = 2 * MTU};
	struct rnic_sge sge = fixture_sge(fixture, 0, 2 * MTU);

	sge.lkey = bench->mrs[i].key;
	wqe.wr_id = 100 * i + bench->next_wr_id[i]++;
	recv_room_copy(room, 0, &wqe, &sge);
	return 1;
}

static void create_srq(struct bench *bench, uint32_t i)
{
	struct srq_config config = {.pd = &bench->pds[i],
				    .xrcd = &bench->xrcd,
				    .cq = &bench->cqs[i],
				    .max_wr = 64,
				    .max_sge = 1};

	bench->mrs[i] = bench->fixture->mr;
	bench->mrs[i].pd = &bench->pds[i];
	assert_int_equal(mr_register(&bench->fixture->engine, &bench->mrs[i]), 0);
	assert_int_equal(srq_create(&bench->fixture->engine, &config, &bench->srqs[i]), 0);
	bench->srqs[i]->queue.user = bench;
	assert_int_equal(bench->cqs[i].references, 1);
}

static void bench_start(struct bench *bench)
{
	*bench = (struct bench){.options = fixture_defaults};
	bench->options.type = RNIC_QP_TYPE_XRC_INITIATOR;
	bench->fixture = fixture_create(&bench->options);
	bench->sink = *bench->fixture->engine.config.sink;
	bench->sink.refill = refill;
	bench->fixture->engine.config.sink = &bench->sink;
	xrcd_init(&bench->xrcd);
	create_srq(bench, 0);
	create_srq(bench, 1);
	bench->options.type = RNIC_QP_TYPE_XRC_TARGET;
	bench->options.xrcd = &bench->xrcd;
	bench->target = fixture_create_qp(bench->fixture, &bench->options);
}

static void bench_stop(struct bench *bench)
{
	qp_destroy(bench->target);
	for (uint32_t i = 0; i < 2; i++) {
		if (bench->srqs[i] != NULL)
			srq_destroy(bench->srqs[i]);
		mr_deregister(&bench->fixture->engine, &bench->mrs[i]);
		assert_int_equal(bench->pds[i].references, 0);
		assert_int_equal(bench->cqs[i].references, 0);
	}
	xrcd_fini(&bench->xrcd);
	fixture_destroy(bench->fixture);
}

static struct rnic_packet request(const struct bench *bench, enum rnic_operation operation,
				  enum rnic_position position, uint32_t psn, uint32_t srqn)
{
	struct rnic_packet packet = fixture_packet(bench->fixture, operation, position, psn);

	packet.dest_qpn = bench->target->qpn;
	packet.xrc_srqn = srqn;
	packet.ack_request = true;
	return packet;
}

static void send_part(struct bench *bench, const struct qp *qp, enum rnic_position position,
		      uint32_t psn, uint32_t srqn, uint32_t bytes)
{
	struct rnic_packet packet = request(bench, RNIC_OPERATION_SEND, position, psn, srqn);

	packet.dest_qpn = qp->qpn;
	packet.payload = bench->payload;
	packet.payload_bytes = bytes;
	fixture_receive(bench->fixture, &packet);
}

static void write_to(struct bench *bench, uint32_t psn, uint32_t srqn, uint32_t rkey)
{
	struct rnic_packet packet =
		request(bench, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, psn, srqn);

	packet.payload = bench->payload;
	packet.payload_bytes = 16;
	packet.reth = (struct rnic_reth){FIXTURE_IOVA, rkey, 16};
	fixture_receive(bench->fixture, &packet);
}

static void expect_answer(struct bench *bench, uint8_t syndrome)
{
	assert_true(fixture_transmit(bench->fixture));
	assert_string_equal(bench->fixture->sent.packet.row->name, "XRC ACKNOWLEDGE");
	assert_int_equal(bench->fixture->sent.packet.aeth.syndrome, syndrome);
	assert_ptr_equal(bench->fixture->sent.qp, bench->target);
}

static void expect_refusal(struct bench *bench)
{
	expect_answer(bench, REFUSE);
	assert_int_equal(bench->target->state, RNIC_QP_STATE_ERR);
	assert_int_equal(bench->target->last_error, VERDICT_BAD_SRQ);
}

static void each_message_names_its_srq(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench);
	send_part(&bench, bench.target, RNIC_POSITION_ONLY, PSN, bench.srqs[1]->number, 9);
	send_part(&bench, bench.target, RNIC_POSITION_ONLY, PSN + 1, bench.srqs[0]->number, 9);
	expect_answer(&bench, ACKNOWLEDGEMENT_SYNDROME);
	assert_int_equal(bench.fixture->completion_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct cqe *cqe = &bench.fixture->completions[i];

		assert_int_equal(cqe->status, RNIC_WC_SUCCESS);
		assert_int_equal(cqe->wr_id, i == 0 ? 100 : 0);
		assert_ptr_equal(cqe->srq, bench.srqs[1 - i]);
		assert_ptr_equal(cqe->qp, bench.target);
	}
	bench_stop(&bench);
}

static void a_stranger_is_refused(void **state)
{
	const struct srq_config plain = {.max_wr = 8, .max_sge = 1};
	struct srq_config config = plain;
	struct bench bench;
	struct srq *other;

	(void)state;
	bench_start(&bench);
	config.pd = &bench.pds[0];
	assert_int_equal(srq_create(&bench.fixture->engine, &config, &other), 0);
	send_part(&bench, bench.target, RNIC_POSITION_ONLY, PSN, other->number, 9);
	expect_refusal(&bench);
	assert_int_equal(bench.fixture->completion_count, 0);
	srq_destroy(other);
	bench_stop(&bench);

	bench_start(&bench);
	write_to(&bench, PSN, bench.srqs[0]->number ^ 1, bench.mrs[0].key);
	expect_refusal(&bench);
	bench_stop(&bench);
}

/* Its client has gone, and the SRQ waits to be freed: no process would get the messages. */
static void an_srq_of_a_closed_domain_is_gone(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench);
	pd_close(&bench.pds[1]);
	send_part(&bench, bench.target, RNIC_POSITION_ONLY, PSN, bench.srqs[0]->number, 9);
	assert_int_equal(bench.fixture->completion_count, 1);
	expect_answer(&bench, ACKNOWLEDGEMENT_SYNDROME);
	send_part(&bench, bench.target, RNIC_POSITION_ONLY, PSN + 1, bench.srqs[1]->number, 0);
	expect_refusal(&bench);
	assert_int_equal(bench.fixture->completion_count, 1);
	bench_stop(&bench);
}

static void a_message_cannot_change_its_srq(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench);
	send_part(&bench, bench.target, RNIC_POSITION_FIRST, PSN, bench.srqs[0]->number, MTU);
	send_part(&bench, bench.target, RNIC_POSITION_LAST, PSN + 1, bench.srqs[1]->number, 9);
	expect_refusal(&bench);
	assert_int_equal(bench.fixture->completion_count, 1);
	assert_int_equal(bench.fixture->completions[0].status, RNIC_WC_REM_INV_REQ_ERR);
	assert_ptr_equal(bench.fixture->completions[0].srq, bench.srqs[0]);
	bench_stop(&bench);
}

/* A target has no protection domain: the SRQ's domain counts. */
static void keys_are_of_the_srqs_domain(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench);
	write_to(&bench, PSN, bench.srqs[0]->number, bench.mrs[0].key);
	write_to(&bench, PSN + 1, bench.srqs[1]->number, bench.mrs[1].key);
	expect_answer(&bench, ACKNOWLEDGEMENT_SYNDROME);
	write_to(&bench, PSN + 2, bench.srqs[1]->number, bench.mrs[0].key);
	expect_answer(&bench, rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_REMOTE_ACCESS_ERROR));
	bench_stop(&bench);
}

static void a_read_ends_with_its_srq(void **state)
{
	struct rnic_packet packet;
	struct bench bench;

	(void)state;
	bench_start(&bench);
	packet = request(&bench, RNIC_OPERATION_READ_REQUEST, RNIC_POSITION_ONLY, PSN,
			 bench.srqs[0]->number);
	packet.reth = (struct rnic_reth){FIXTURE_IOVA, bench.mrs[0].key, 3 * MTU};
	fixture_receive(bench.fixture, &packet);
	assert_true(fixture_transmit(bench.fixture));
	assert_string_equal(bench.fixture->sent.packet.row->name, "XRC READ RESPONSE FIRST");
	srq_destroy(bench.srqs[0]);
	bench.srqs[0] = NULL;
	expect_answer(&bench, rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_REMOTE_ACCESS_ERROR));
	bench_stop(&bench);
}

static void an_srq_that_goes_ends_the_message(void **state)
{
	struct bench bench;

	(void)state;
	bench_start(&bench);
	send_part(&bench, bench.target, RNIC_POSITION_FIRST, PSN, bench.srqs[0]->number, MTU);
	srq_destroy(bench.srqs[1]);
	bench.srqs[1] = NULL;
	assert_int_equal(bench.target->state, RNIC_QP_STATE_RTS);
	srq_destroy(bench.srqs[0]);
	bench.srqs[0] = NULL;
	expect_refusal(&bench);
	assert_int_equal(bench.fixture->completion_count, 0);
	bench_stop(&bench);
}

static void an_error_completes_at_the_srq(void **state)
{
	const struct rnic_qp_attributes to_error = {.state = RNIC_QP_STATE_ERR};
	struct bench bench;

	(void)state;
	bench_start(&bench);
	send_part(&bench, bench.target, RNIC_POSITION_FIRST, PSN, bench.srqs[1]->number, MTU);
	assert_int_equal(qp_modify(bench.target, &to_error, RNIC_QP_ATTR_STATE), 0);
	assert_int_equal(bench.fixture->completion_count, 1);
	assert_int_equal(bench.fixture->completions[0].status, RNIC_WC_WR_FLUSH_ERR);
	assert_ptr_equal(bench.fixture->completions[0].srq, bench.srqs[1]);
	assert_int_equal(bench.fixture->events[bench.fixture->event_count - 1],
			 RNIC_EVENT_QP_LAST_WQE_REACHED);
	bench_stop(&bench);
}

static void a_full_cq_fails_its_srqs(void **state)
{
	struct bench bench;
	uint32_t srq_errors = 0;

	(void)state;
	bench_start(&bench);
	bench.fixture->completion_room = 1;
	for (uint32_t i = 0; i < 3; i++)
		send_part(&bench, bench.target, RNIC_POSITION_ONLY, PSN + i, bench.srqs[0]->number,
			  9);
	assert_int_equal(bench.target->state, RNIC_QP_STATE_ERR);
	assert_int_equal(bench.target->last_error, VERDICT_CQ_OVERRUN);
	for (uint32_t i = 0; i < bench.fixture->event_count; i++)
		srq_errors += bench.fixture->events[i] == RNIC_EVENT_SRQ_ERR;
	assert_int_equal(srq_errors, 1);
	assert_true(bench.srqs[0]->has_failed);
	assert_false(bench.srqs[1]->has_failed);
	bench_stop(&bench);
}

/* Room is there whichever came first, the targets or the SRQ. */
static void targets_give_entries_back(void **state)
{
	struct qp *targets[MANY];
	struct bench bench;

	(void)state;
	bench_start(&bench);
	for (uint32_t i = 0; i < MANY; i++) {
		if (i == MANY / 2) {
			srq_destroy(bench.srqs[1]);
			mr_deregister(&bench.fixture->engine, &bench.mrs[1]);
			create_srq(&bench, 1);
		}
		targets[i] = fixture_create_qp(bench.fixture, &bench.options);
	}
	for (uint32_t i = 0; i < 2 * MANY; i++)
		if (i < MANY)
			send_part(&bench, targets[i], RNIC_POSITION_FIRST, PSN,
				  bench.srqs[i % 2]->number, MTU);
		else
			qp_destroy(targets[i - MANY]);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(bench.srqs[i]->queue.pushed - bench.srqs[i]->queue.taken,
				 MANY / 2);
	bench_stop(&bench);
}

/* The room for entries that come back is bounded, whichever kind there are more of. */
static void pairs_are_bounded(void **state)
{
	struct srq_config srq_config = {.max_wr = 1, .max_sge = 1};
	struct qp_config qp_config = {.type = RNIC_QP_TYPE_XRC_TARGET};
	struct bench bench;
	struct srq *srq;
	struct qp *qp;

	(void)state;
	bench_start(&bench);
	srq_config.pd = &bench.pds[0];
	srq_config.cq = &bench.cqs[0];
	srq_config.xrcd = qp_config.xrcd = &bench.xrcd;
	/* As if there were so many others. */
	bench.xrcd.srq_count += LIMIT_XRCD_PAIRS - 2;
	assert_int_equal(srq_create(&bench.fixture->engine, &srq_config, &srq), -ENOSPC);
	assert_int_equal(qp_create(&bench.fixture->engine, &qp_config, &qp), -ENOSPC);
	bench.xrcd.srq_count -= LIMIT_XRCD_PAIRS / 2;
	assert_int_equal(qp_create(&bench.fixture->engine, &qp_config, &qp), 0);
	qp_destroy(qp);
	bench.xrcd.srq_count -= LIMIT_XRCD_PAIRS / 2 - 2;
	bench_stop(&bench);
}

static void requests_name_the_peers_srq(void **state)
{
	struct send_wqe wqe = fixture_work(RNIC_WR_SEND, 1, 8);
	struct bench bench;
	struct rnic_sge sge;

	(void)state;
	bench_start(&bench);
	sge = fixture_sge(bench.fixture, 0, 8);
	wqe.srqn = 0xabcdef;
	fixture_post(bench.fixture, &wqe, &sge);
	wqe.opcode = RNIC_WR_ATOMIC_FETCH_ADD;
	wqe.srqn = 0x123456;
	fixture_post(bench.fixture, &wqe, &sge);
	assert_true(fixture_transmit(bench.fixture));
	assert_string_equal(bench.fixture->sent.packet.row->name, "XRC SEND ONLY");
	assert_int_equal(bench.fixture->sent.packet.xrc_srqn, 0xabcdef);
	assert_true(fixture_transmit(bench.fixture));
	assert_string_equal(bench.fixture->sent.packet.row->name, "XRC FETCH ADD");
	assert_int_equal(bench.fixture->sent.packet.xrc_srqn, 0x123456);
	bench_stop(&bench);
}

/* Requests go to targets and responses to initiators. */
static void traffic_goes_one_way(void **state)
{
	struct rnic_packet packet;
	struct bench bench;

	(void)state;
	bench_start(&bench);
	send_part(&bench, bench.fixture->qp, RNIC_POSITION_ONLY, PSN, bench.srqs[0]->number, 9);
	packet = fixture_packet(bench.fixture, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, PSN);
	packet.dest_qpn = bench.target->qpn;
	fixture_receive(bench.fixture, &packet);
	assert_int_equal(bench.fixture->engine.counters[COUNTER_DROPPED_BAD_OPCODE], 2);
	assert_false(fixture_transmit(bench.fixture));
	bench_stop(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_names_its_srq),
		cmocka_unit_test(a_stranger_is_refused),
		cmocka_unit_test(an_srq_of_a_closed_domain_is_gone),
		cmocka_unit_test(a_message_cannot_change_its_srq),
		cmocka_unit_test(keys_are_of_the_srqs_domain),
		cmocka_unit_test(a_read_ends_with_its_srq),
		cmocka_unit_test(an_srq_that_goes_ends_the_message),
		cmocka_unit_test(an_error_completes_at_the_srq),
		cmocka_unit_test(a_full_cq_fails_its_srqs),
		cmocka_unit_test(targets_give_entries_back),
		cmocka_unit_test(pairs_are_bounded),
		cmocka_unit_test(requests_name_the_peers_srq),
		cmocka_unit_test(traffic_goes_one_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
