/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/mw.h"

#include "lib/nic/engine/requester/local_operation.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define WINDOW_ADDRESS (FIXTURE_IOVA + 256)
#define WINDOW_BYTES   128
#define TAG	       0x5a

struct bench {
	struct engine_fixture *fixture;
	struct mw one;
	struct mw two;
	struct pd other_pd;
	struct mr other_mr; /* of other_pd */
	struct pd_share share;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct engine *engine;

	assert_non_null(bench);
	bench->fixture = fixture_create(&fixture_defaults);
	engine = &bench->fixture->engine;
	bench->fixture->mr.access |= RNIC_ACCESS_MW_BIND;
	assert_int_equal(mw_alloc(engine, &bench->one, &bench->fixture->pd, RNIC_MW_TYPE_1), 0);
	assert_int_equal(mw_alloc(engine, &bench->two, &bench->fixture->pd, RNIC_MW_TYPE_2), 0);
	bench->other_mr = bench->fixture->mr;
	bench->other_mr.pd = &bench->other_pd;
	assert_int_equal(mr_register(engine, &bench->other_mr), 0);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;
	struct engine *engine = &bench->fixture->engine;

	mw_dealloc(engine, &bench->one);
	mw_dealloc(engine, &bench->two);
	assert_int_equal(bench->fixture->mr.bound_windows, 0);
	mr_deregister(engine, &bench->other_mr);
	assert_int_equal(bench->other_pd.references, 0);
	fixture_destroy(bench->fixture);
	free(bench);
	return 0;
}

static uint32_t key_of(const struct mw *mw, uint32_t tag)
{
	return (mw->range.key & ~UINT32_C(0xff)) | tag;
}

static struct send_wqe bind_of(const struct bench *bench, const struct mw *mw)
{
	return (struct send_wqe){
		.wr_id = 7,
		.opcode = RNIC_WR_BIND_MW,
		.flags = RNIC_SEND_SIGNALED,
		.remote_address = WINDOW_ADDRESS,
		.rkey = key_of(mw, TAG),
		.immediate = bench->fixture->mr.key,
		.bind = {.length = WINDOW_BYTES,
			 .access = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ},
	};
}

static struct send_wqe invalidate_of(uint32_t key)
{
	return (struct send_wqe){
		.wr_id = 8,
		.opcode = RNIC_WR_LOCAL_INVALIDATE,
		.flags = RNIC_SEND_SIGNALED,
		.immediate = key,
	};
}

/* Posts and carries out; the status of the completion that comes. */
static uint8_t run(struct bench *bench, const struct send_wqe *wqe)
{
	struct engine_fixture *fixture = bench->fixture;
	uint32_t count = fixture->completion_count;

	fixture_post(fixture, wqe, NULL);
	assert_false(fixture_transmit(fixture));
	engine_packets_read(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, count + 1);
	assert_int_equal(fixture->completions[count].wr_id, wqe->wr_id);
	assert_int_equal(fixture->completions[count].opcode, wqe->opcode == RNIC_WR_BIND_MW
								     ? RNIC_WC_BIND_MW
								     : RNIC_WC_LOCAL_INVALIDATE);
	return fixture->completions[count].status;
}

static bool may_write(const struct bench *bench, uint32_t key, uint64_t address, uint64_t bytes)
{
	struct engine_fixture *fixture = bench->fixture;
	uint64_t offset;

	return mr_find_remote(&fixture->engine, key, fixture->qp, &fixture->pd,
			      RNIC_ACCESS_REMOTE_WRITE, address, bytes, &offset) != NULL;
}

/* --- what a bind grants ---------------------------------------------------------------------- */

static void test_bound_window_grants_its_range(void **state)
{
	struct bench *bench = *state;
	struct send_wqe wqe = bind_of(bench, &bench->one);
	uint64_t offset = 0;

	assert_false(may_write(bench, bench->one.range.key, WINDOW_ADDRESS, 1));
	assert_int_equal(run(bench, &wqe), RNIC_WC_SUCCESS);
	assert_int_equal(bench->fixture->mr.bound_windows, 1);
	assert_true(may_write(bench, wqe.rkey, WINDOW_ADDRESS, WINDOW_BYTES));
	assert_false(may_write(bench, wqe.rkey, WINDOW_ADDRESS, WINDOW_BYTES + 1));
	assert_false(may_write(bench, wqe.rkey, WINDOW_ADDRESS - 1, 2));
	assert_false(may_write(bench, wqe.rkey ^ 1, WINDOW_ADDRESS, 1));
	assert_non_null(mr_find_remote(&bench->fixture->engine, wqe.rkey, bench->fixture->qp,
				       &bench->fixture->pd, RNIC_ACCESS_REMOTE_READ,
				       WINDOW_ADDRESS + 4, 4, &offset));
	assert_int_equal(offset, WINDOW_ADDRESS + 4 - FIXTURE_IOVA);
	/* The region has this right and the window does not. */
	assert_null(mr_find_remote(&bench->fixture->engine, wqe.rkey, bench->fixture->qp,
				   &bench->fixture->pd, RNIC_ACCESS_REMOTE_ATOMIC, WINDOW_ADDRESS,
				   8, &offset));
	/* A window's key is for peers only. */
	assert_null(mr_find(&bench->fixture->engine, wqe.rkey, &bench->fixture->pd, 0,
			    WINDOW_ADDRESS, 1, &offset));
}

static void test_zero_based(void **state)
{
	struct bench *bench = *state;
	struct send_wqe wqe = bind_of(bench, &bench->two);
	uint64_t offset = 0;

	wqe.bind.access |= RNIC_ACCESS_ZERO_BASED;
	assert_int_equal(run(bench, &wqe), RNIC_WC_SUCCESS);
	assert_non_null(mr_find_remote(&bench->fixture->engine, wqe.rkey, bench->fixture->qp,
				       &bench->fixture->pd, RNIC_ACCESS_REMOTE_READ, 0,
				       WINDOW_BYTES, &offset));
	assert_int_equal(offset, WINDOW_ADDRESS - FIXTURE_IOVA);
	assert_false(may_write(bench, wqe.rkey, WINDOW_ADDRESS, 1));
}

/* --- what may be bound ----------------------------------------------------------------------- */

static void no_bind_right(struct bench *bench, struct send_wqe *wqe)
{
	(void)wqe;
	bench->fixture->mr.access &= ~(uint32_t)RNIC_ACCESS_MW_BIND;
}

static void no_local_write(struct bench *bench, struct send_wqe *wqe)
{
	(void)wqe;
	bench->fixture->mr.access &= ~(uint32_t)RNIC_ACCESS_LOCAL_WRITE;
}

static void read_without_local_write(struct bench *bench, struct send_wqe *wqe)
{
	no_local_write(bench, wqe);
	wqe->bind.access = RNIC_ACCESS_REMOTE_READ;
}

static void atomic_without_local_write(struct bench *bench, struct send_wqe *wqe)
{
	no_local_write(bench, wqe);
	wqe->bind.access = RNIC_ACCESS_REMOTE_ATOMIC;
}

static void right_of_its_own(struct bench *bench, struct send_wqe *wqe)
{
	bench->fixture->mr.access = RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_MW_BIND;
	wqe->bind.access = RNIC_ACCESS_REMOTE_WRITE;
}

static void beyond_the_end(struct bench *bench, struct send_wqe *wqe)
{
	(void)bench;
	wqe->bind.length = FIXTURE_MEMORY_BYTES - 256 + 1;
}

static void up_to_the_end(struct bench *bench, struct send_wqe *wqe)
{
	(void)bench;
	wqe->bind.length = FIXTURE_MEMORY_BYTES - 256;
}

static void wrapping(struct bench *bench, struct send_wqe *wqe)
{
	(void)bench;
	wqe->bind.length = UINT64_MAX;
}

static void before_the_start(struct bench *bench, struct send_wqe *wqe)
{
	(void)bench;
	wqe->remote_address = FIXTURE_IOVA - 1;
}

static void of_no_bytes(struct bench *bench, struct send_wqe *wqe)
{
	(void)bench;
	wqe->bind.length = 0;
}

static void zero_based(struct bench *bench, struct send_wqe *wqe)
{
	(void)bench;
	wqe->bind.access |= RNIC_ACCESS_ZERO_BASED;
}

static void unknown_right(struct bench *bench, struct send_wqe *wqe)
{
	(void)bench;
	wqe->bind.access |= 1U << 19;
}

static void no_region(struct bench *bench, struct send_wqe *wqe)
{
	(void)bench;
	wqe->immediate ^= 0x100;
}

static void region_of_other_pd(struct bench *bench, struct send_wqe *wqe)
{
	wqe->immediate = bench->other_mr.key;
}

/* Its key serves the queue pair, but it may end before the window. */
static void region_of_shared_pd(struct bench *bench, struct send_wqe *wqe)
{
	bench->other_pd.share = &bench->share;
	bench->fixture->pd.share = &bench->share;
	wqe->immediate = bench->other_mr.key;
}

static void to_a_window(struct bench *bench, struct send_wqe *wqe)
{
	wqe->immediate = bench->one.range.key;
}

static void no_window(struct bench *bench, struct send_wqe *wqe)
{
	(void)bench;
	wqe->rkey ^= 0x100;
}

static void region_as_window(struct bench *bench, struct send_wqe *wqe)
{
	wqe->rkey = bench->fixture->mr.key;
}

static void bound_before(struct bench *bench, struct send_wqe *wqe)
{
	assert_int_equal(run(bench, wqe), RNIC_WC_SUCCESS);
	wqe->rkey ^= 1;
}

static void test_what_may_be_bound(void **state)
{
	static const struct {
		void (*change)(struct bench *bench, struct send_wqe *wqe);
		bool is_good_for_type_1;
		bool is_good_for_type_2;
	} cases[] = {
		{no_bind_right, false, false},
		{no_local_write, false, false},
		{read_without_local_write, true, true},
		{atomic_without_local_write, false, false},
		{right_of_its_own, true, true},
		{beyond_the_end, false, false},
		{up_to_the_end, true, true},
		{wrapping, false, false},
		{before_the_start, false, false},
		{of_no_bytes, true, false},
		{zero_based, false, true},
		{unknown_right, false, false},
		{no_region, false, false},
		{region_of_other_pd, false, false},
		{region_of_shared_pd, false, false},
		{to_a_window, false, false},
		{no_window, false, false},
		{region_as_window, false, false},
		{bound_before, true, false},
	};

	(void)state;
	for (size_t i = 0; i < 2 * RNIC_COUNT_OF(cases); i++) {
		bool is_type_2 = i % 2 != 0;
		bool is_good = is_type_2 ? cases[i / 2].is_good_for_type_2
					 : cases[i / 2].is_good_for_type_1;
		void *fresh;
		struct bench *bench;
		struct send_wqe wqe;
		uint8_t status;

		set_up(&fresh);
		bench = fresh;
		wqe = bind_of(bench, is_type_2 ? &bench->two : &bench->one);
		cases[i / 2].change(bench, &wqe);
		status = run(bench, &wqe);
		if (status != (is_good ? RNIC_WC_SUCCESS : RNIC_WC_MW_BIND_ERR))
			fail_msg("case %zu of type %d: status %u", i / 2, is_type_2 + 1, status);
		assert_int_equal(bench->fixture->qp->state,
				 is_good ? RNIC_QP_STATE_RTS : RNIC_QP_STATE_ERR);
		tear_down(&fresh);
	}
}

static void test_window_of_other_pd(void **state)
{
	struct bench *bench = *state;
	struct engine *engine = &bench->fixture->engine;
	struct mw mw;
	struct send_wqe wqe;

	assert_int_equal(mw_alloc(engine, &mw, &bench->other_pd, RNIC_MW_TYPE_1), 0);
	assert_int_equal(bench->other_pd.references, 2);
	wqe = bind_of(bench, &mw);
	assert_int_equal(run(bench, &wqe), RNIC_WC_MW_BIND_ERR);
	mw_dealloc(engine, &mw);
	assert_int_equal(bench->other_pd.references, 1);
}

/* --- how it ends ----------------------------------------------------------------------------- */

static void test_binding_anew_ends_the_key_before(void **state)
{
	struct bench *bench = *state;
	struct send_wqe wqe = bind_of(bench, &bench->one);
	uint32_t before = wqe.rkey;

	assert_int_equal(run(bench, &wqe), RNIC_WC_SUCCESS);
	wqe.rkey = before ^ 1;
	assert_int_equal(run(bench, &wqe), RNIC_WC_SUCCESS);
	assert_false(may_write(bench, before, WINDOW_ADDRESS, 1));
	assert_true(may_write(bench, wqe.rkey, WINDOW_ADDRESS, 1));
	assert_int_equal(bench->fixture->mr.bound_windows, 1);
	wqe.bind.length = 0;
	assert_int_equal(run(bench, &wqe), RNIC_WC_SUCCESS);
	assert_false(may_write(bench, wqe.rkey, WINDOW_ADDRESS, 1));
	assert_int_equal(bench->fixture->mr.bound_windows, 0);
}

static void test_type_2_is_open_to_its_qp_only(void **state)
{
	struct bench *bench = *state;
	struct engine_fixture *fixture = bench->fixture;
	struct qp *other = fixture_create_qp(fixture, &fixture_defaults);
	struct send_wqe wqe = bind_of(bench, &bench->two);
	uint64_t offset;

	assert_int_equal(run(bench, &wqe), RNIC_WC_SUCCESS);
	assert_true(may_write(bench, wqe.rkey, WINDOW_ADDRESS, 1));
	assert_null(mr_find_remote(&fixture->engine, wqe.rkey, other, other->pd, 0, WINDOW_ADDRESS,
				   1, &offset));
	assert_false(mw_can_invalidate(other, wqe.rkey));
	assert_true(mw_can_invalidate(fixture->qp, wqe.rkey));
	qp_destroy(other);
}

static void test_destroyed_qp_unbinds_type_2(void **state)
{
	struct bench *bench = *state;
	struct engine_fixture *fixture = bench->fixture;
	struct qp *first = fixture->qp;
	struct send_wqe wqe = bind_of(bench, &bench->two);

	fixture->qp = fixture_create_qp(fixture, &fixture_defaults);
	assert_int_equal(run(bench, &wqe), RNIC_WC_SUCCESS);
	qp_destroy(fixture->qp);
	fixture->qp = first;
	assert_int_equal(fixture->mr.bound_windows, 0);
	assert_false(may_write(bench, wqe.rkey, WINDOW_ADDRESS, 1));
	/* It can be bound again, through whichever QP. */
	assert_int_equal(run(bench, &wqe), RNIC_WC_SUCCESS);
}

static void test_local_invalidate(void **state)
{
	struct bench *bench = *state;
	struct send_wqe bind = bind_of(bench, &bench->two);
	struct send_wqe invalidate = invalidate_of(bind.rkey);

	assert_int_equal(run(bench, &bind), RNIC_WC_SUCCESS);
	assert_int_equal(run(bench, &invalidate), RNIC_WC_SUCCESS);
	assert_false(may_write(bench, bind.rkey, WINDOW_ADDRESS, 1));
	assert_int_equal(bench->fixture->mr.bound_windows, 0);
	/* Invalidating a window that is free changes nothing. */
	assert_int_equal(run(bench, &invalidate), RNIC_WC_SUCCESS);
	assert_int_equal(run(bench, &bind), RNIC_WC_SUCCESS);
}

static uint32_t key_of_region(const struct bench *bench)
{
	return bench->fixture->mr.key;
}

static uint32_t key_of_type_1(const struct bench *bench)
{
	return bench->one.range.key;
}

static uint32_t other_tag(const struct bench *bench)
{
	return bench->two.range.key ^ 1;
}

static uint32_t key_of_nothing(const struct bench *bench)
{
	return bench->two.range.key ^ 0x100;
}

static void test_what_may_not_be_invalidated(void **state)
{
	static uint32_t (*const keys[])(const struct bench *bench) = {key_of_region, key_of_type_1,
								      other_tag, key_of_nothing};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(keys); i++) {
		void *fresh;
		struct bench *bench;
		struct send_wqe wqe;

		set_up(&fresh);
		bench = fresh;
		wqe = invalidate_of(keys[i](bench));
		assert_false(mw_can_invalidate(bench->fixture->qp, wqe.immediate));
		assert_int_equal(run(bench, &wqe), RNIC_WC_MW_BIND_ERR);
		assert_int_equal(bench->fixture->qp->last_error, VERDICT_INVALIDATE_REFUSED);
		tear_down(&fresh);
	}
}

/* --- when it happens ------------------------------------------------------------------------- */

static void test_waits_for_what_was_posted_before(void **state)
{
	struct bench *bench = *state;
	struct engine_fixture *fixture = bench->fixture;
	struct send_wqe bind = bind_of(bench, &bench->one);

	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 1, 8);
	fixture_post(fixture, &bind, NULL);
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 8);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	engine_packets_read(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, 0);
	assert_false(may_write(bench, bind.rkey, WINDOW_ADDRESS, 1));

	fixture_receive_acknowledge(fixture, 100, 0x1f);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	engine_packets_read(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, 2);
	assert_true(may_write(bench, bind.rkey, WINDOW_ADDRESS, 1));
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.psn.value, 101);
	fixture_receive_acknowledge(fixture, 101, 0x1f);
	assert_int_equal(fixture->completions[2].wr_id, 2);
}

/* Not before the payload of a READ's answer, which lies in the old range, was read. */
static void test_waits_for_what_is_being_read(void **state)
{
	struct bench *bench = *state;
	struct engine_fixture *fixture = bench->fixture;
	struct send_wqe bind = bind_of(bench, &bench->two);
	struct send_wqe invalidate = invalidate_of(bind.rkey);
	struct rnic_packet read =
		fixture_packet(fixture, RNIC_OPERATION_READ_REQUEST, RNIC_POSITION_ONLY, 100);

	assert_int_equal(run(bench, &bind), RNIC_WC_SUCCESS);
	fixture_post(fixture, &invalidate, NULL);
	read.reth = (struct rnic_reth){WINDOW_ADDRESS, bind.rkey, 8};
	fixture_receive(fixture, &read);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.row->operation, RNIC_OPERATION_READ_RESPONSE);
	assert_int_equal(fixture->completion_count, 1);
	engine_packets_read(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, 2);

	/* A copy of the request comes late: the peer ignores the NAK, and the connection lives. */
	fixture_receive(fixture, &read);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->sent.packet.row->operation, RNIC_OPERATION_ACKNOWLEDGE);
	assert_int_equal(fixture->sent.packet.aeth.syndrome, 0x62);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_RTS);
}

static void test_not_in_sqd(void **state)
{
	struct bench *bench = *state;
	struct engine_fixture *fixture = bench->fixture;
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_SQD};
	struct send_wqe bind = bind_of(bench, &bench->one);

	assert_int_equal(qp_modify(fixture->qp, &attributes, RNIC_QP_ATTR_STATE), 0);
	fixture_post(fixture, &bind, NULL);
	assert_false(local_operation_is_due(fixture->qp));
	attributes.state = RNIC_QP_STATE_RTS;
	assert_int_equal(qp_modify(fixture->qp, &attributes, RNIC_QP_ATTR_STATE), 0);
	assert_true(local_operation_is_due(fixture->qp));
	assert_int_equal(fixture_transmit_all(fixture), 0);
	engine_packets_read(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, 1);
}

/*
 * UC, whose requests get no acknowledgement: a request is done once its payload is read, and then
 * the bind runs.
 */
static void test_in_order_on_uc(void **state)
{
	struct fixture_options options = fixture_defaults;
	struct engine_fixture *fixture;
	struct bench bench = {0};
	struct send_wqe bind;

	(void)state;
	options.type = RNIC_QP_TYPE_UC;
	fixture = fixture_create(&options);
	bench.fixture = fixture;
	fixture->mr.access |= RNIC_ACCESS_MW_BIND;
	assert_int_equal(mw_alloc(&fixture->engine, &bench.one, &fixture->pd, RNIC_MW_TYPE_1), 0);
	bind = bind_of(&bench, &bench.one);
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 1, 8);
	fixture_post(fixture, &bind, NULL);
	fixture_post_simple(fixture, RNIC_WR_RDMA_WRITE, 2, 8);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	assert_int_equal(fixture->completion_count, 0);
	engine_packets_read(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, 2);
	assert_int_equal(fixture->completions[1].opcode, RNIC_WC_BIND_MW);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	engine_packets_read(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, 3);

	/* A failure stops sends, not receives. */
	bind.rkey ^= 0x100;
	assert_int_equal(run(&bench, &bind), RNIC_WC_MW_BIND_ERR);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_SQE);
	mw_dealloc(&fixture->engine, &bench.one);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bound_window_grants_its_range, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_zero_based, set_up, tear_down),
		cmocka_unit_test(test_what_may_be_bound),
		cmocka_unit_test_setup_teardown(test_window_of_other_pd, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_binding_anew_ends_the_key_before, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_type_2_is_open_to_its_qp_only, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_destroyed_qp_unbinds_type_2, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_local_invalidate, set_up, tear_down),
		cmocka_unit_test(test_what_may_not_be_invalidated),
		cmocka_unit_test_setup_teardown(test_waits_for_what_was_posted_before, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_waits_for_what_is_being_read, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_not_in_sqd, set_up, tear_down),
		cmocka_unit_test(test_in_order_on_uc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
