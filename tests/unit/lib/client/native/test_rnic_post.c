/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/client/native/fake_session.h"

#include "proto/base/bits.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

static const struct rnic_qp_capacities capacities = {
	.max_send_wr = 6,
	.max_recv_wr = 3,
	.max_send_sge = 4,
	.max_recv_sge = 2,
	.max_inline_bytes = 100,
};

static int set_up(void **state)
{
	*state = fake_session_create(&capacities, 8);
	return 0;
}

static int tear_down(void **state)
{
	fake_session_destroy(*state);
	return 0;
}

static struct rnic_send_wqe sent(const struct fake_session *fake, uint32_t index)
{
	struct rnic_send_wqe entry;

	memcpy(&entry, fake->qp.send.entries + (index & fake->qp.send.mask) * sizeof(entry),
	       sizeof(entry));
	return entry;
}

static uint32_t published(const struct rnic_work_queue *queue)
{
	return rnic_word_load(queue->shared_producer);
}

static void test_entry(void **state)
{
	struct fake_session *fake = *state;
	const struct rnic_sge sge = {.address = 0x1000, .length = 64, .lkey = 9};
	const struct rnic_send_wr wr = {
		.wr_id = 77,
		.sge_list = &sge,
		.sge_count = 1,
		.opcode = RNIC_WR_RDMA_WRITE_WITH_IMM,
		.flags = RNIC_SEND_SIGNALED | RNIC_SEND_FENCE,
		.immediate = 0x11223344,
		.remote_address = 0xabcdef,
		.rkey = 5,
	};
	const struct rnic_send_wr *bad = NULL;
	struct rnic_send_wqe entry;
	uint32_t doorbell = 0;

	assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), 0);
	assert_null(bad);
	assert_int_equal(published(&fake->qp.send), 1);
	entry = sent(fake, 0);
	assert_int_equal(entry.wr_id, 77);
	assert_int_equal(entry.opcode, RNIC_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(entry.flags, RNIC_SEND_SIGNALED | RNIC_SEND_FENCE);
	assert_int_equal(entry.sge_count, 1);
	assert_int_equal(entry.immediate, 0x11223344);
	assert_int_equal(entry.remote_address, 0xabcdef);
	assert_int_equal(entry.rkey, 5);
	assert_memory_equal(&entry.sge, &sge, sizeof(sge));
	assert_int_equal(fake_session_doorbells(fake, &doorbell), 1);
	assert_int_equal(doorbell, RNIC_DOORBELL(RNIC_DOORBELL_SEND, FAKE_QP_SLOT));
}

static void test_spill_area(void **state)
{
	struct fake_session *fake = *state;
	const struct rnic_sge sges[3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
	struct rnic_sge pieces[2] = {{(uintptr_t) "seventeen", 9, 0},
				     {(uintptr_t) " inline.", 8, 0}};
	const struct rnic_send_wr *bad;
	struct rnic_send_wr second = {
		.sge_list = pieces,
		.sge_count = 2,
		.opcode = RNIC_WR_SEND,
		.flags = RNIC_SEND_INLINE,
	};
	const struct rnic_send_wr first = {
		.next = &second, .sge_list = sges, .sge_count = 3, .opcode = RNIC_WR_SEND};
	uint32_t doorbell;

	assert_int_equal(rnic_post_send(&fake->qp, &first, &bad), 0);
	assert_memory_equal(fake->qp.send.spill, sges, sizeof(sges));
	assert_memory_equal(fake->qp.send.spill + fake->qp.send.spill_stride_bytes,
			    "seventeen inline.", 17);
	assert_int_equal(sent(fake, 0).sge_count, 3);
	assert_int_equal(sent(fake, 1).inline_bytes, 17);
	assert_int_equal(fake_session_doorbells(fake, &doorbell), 1);
}

/* Inline data that fits into the WQE, and the SGE of an atomic, whose operands take its place. */
static void test_what_lies_where(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_sge pieces[2] = {{(uintptr_t) "sixteen", 8, 0}, {(uintptr_t) "inline.", 8, 0}};
	const struct rnic_sge result = {1, 8, 3};
	const struct rnic_send_wr *bad;
	struct rnic_send_wr atomic = {
		.sge_list = &result,
		.sge_count = 1,
		.opcode = RNIC_WR_ATOMIC_COMPARE_SWAP,
		.remote_address = 4,
		.rkey = 5,
		.atomic = {.compare = 6, .swap_or_add = 7},
	};
	const struct rnic_send_wr small = {
		.next = &atomic,
		.sge_list = pieces,
		.sge_count = 2,
		.opcode = RNIC_WR_SEND,
		.flags = RNIC_SEND_INLINE,
	};
	struct rnic_send_wqe entry;

	memset(fake->qp.send.spill, 0xa5, 2 * fake->qp.send.spill_stride_bytes);
	assert_int_equal(rnic_post_send(&fake->qp, &small, &bad), 0);
	entry = sent(fake, 0);
	assert_int_equal(entry.inline_bytes, 16);
	assert_memory_equal(entry.inline_data, "sixteen\0inline.", 16);
	assert_int_equal(fake->qp.send.spill[0], 0xa5);
	entry = sent(fake, 1);
	assert_int_equal(entry.sge_count, 1);
	assert_int_equal(entry.remote_address, 4);
	assert_int_equal(entry.atomic.compare, 6);
	assert_int_equal(entry.atomic.swap_or_add, 7);
	assert_memory_equal(fake->qp.send.spill + fake->qp.send.spill_stride_bytes, &result,
			    sizeof(result));
}

/* A buffer longer than any message takes the longest one; its length must not be read as a count.
 */
static void test_endless_receive(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_sge sge = {.address = 1, .length = UINT32_MAX, .lkey = 2};
	const struct rnic_recv_wr wr = {.sge_list = &sge, .sge_count = 1}, none = {.wr_id = 1};
	const struct rnic_recv_wr *bad;
	struct rnic_recv_wqe entries[2];

	assert_int_equal(rnic_post_recv(&fake->qp, &wr, &bad), 0);
	assert_int_equal(rnic_post_recv(&fake->qp, &none, &bad), 0);
	memcpy(entries, fake->qp.recv.entries, sizeof(entries));
	assert_int_equal(entries[0].sge.address, 1);
	assert_int_equal(entries[0].sge.length, RNIC_MESSAGE_BYTES_MAX);
	assert_int_equal(entries[0].sge.lkey, 2);
	assert_int_equal(entries[1].sge.length, RNIC_RECV_SGES_BESIDE);
}

static void test_refusals(void **state)
{
	static const struct rnic_sge sges[5] = {{.length = UINT32_MAX}, {.length = UINT32_MAX}};
	static const struct rnic_sge fitting[2] = {{.length = 60}, {.length = 41}};
	static const struct rnic_mw window = {.rkey = 0x100};
	static const struct {
		struct rnic_send_wr wr;
		int error;
	} cases[] = {
		{{.sge_list = sges, .sge_count = 5, .opcode = RNIC_WR_SEND}, -EINVAL},
		{{.sge_list = sges, .sge_count = 2, .opcode = RNIC_WR_SEND}, -EINVAL},
		{{.sge_list = fitting,
		  .sge_count = 2,
		  .opcode = RNIC_WR_SEND,
		  .flags = RNIC_SEND_INLINE},
		 -EINVAL},
		{{.opcode = RNIC_WR_RDMA_READ, .flags = RNIC_SEND_INLINE}, -EINVAL},
		{{.opcode = RNIC_WR_FLUSH, .sge_list = fitting, .sge_count = 1}, -EINVAL},
		{{.opcode = RNIC_WR_ATOMIC_WRITE}, -EINVAL},
		{{.opcode = RNIC_WR_BIND_MW}, -EINVAL},
		{{.opcode = RNIC_WR_BIND_MW, .rkey = 0x200}, -EINVAL},
		{{.opcode = RNIC_WR_BIND_MW, .rkey = 0x1ff, .bind = {.mw = &window, .length = 1}},
		 -EINVAL},
		{{.opcode = 13}, -EOPNOTSUPP},
		{{.opcode = 255}, -EOPNOTSUPP},
	};
	struct fake_session *fake = *state;
	uint32_t doorbell;

	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct rnic_send_wr good = {.next = &cases[i].wr, .opcode = RNIC_WR_SEND};
		const struct rnic_send_wr *bad = NULL;
		uint32_t before = published(&fake->qp.send);

		/*
		 * The library posts the requests before the bad one, and the daemon hears of them.
		 */
		assert_int_equal(rnic_post_send(&fake->qp, &good, &bad), cases[i].error);
		assert_ptr_equal(bad, &cases[i].wr);
		assert_int_equal(published(&fake->qp.send), before + 1);
		assert_int_equal(fake_session_doorbells(fake, &doorbell), 1);
		atomic_store(&fake->qp.send.retired, before + 1);
	}
}

/* As the rkey of BIND_MW programs give the whole new key, or any number with its tag. */
static void test_only_the_tag_of_a_key_is_the_callers(void **state)
{
	static const struct rnic_mw window = {.rkey = 0xabcd00};
	static const struct rnic_mr region = {.lkey = 0x77};
	static const uint32_t given[] = {0xabcd42, 0x42, 0xffffff42};
	struct fake_session *fake = *state;
	const struct rnic_send_wr *bad;

	for (uint32_t i = 0; i < RNIC_COUNT_OF(given); i++) {
		const struct rnic_send_wr bind = {.opcode = RNIC_WR_BIND_MW,
						  .rkey = given[i],
						  .bind = {.mw = &window, .mr = &region}};

		assert_int_equal(rnic_post_send(&fake->qp, &bind, &bad), 0);
		assert_int_equal(sent(fake, i).rkey, 0xabcd42);
	}
}

/* A QP refuses at once the local operations that its type lacks. */
static void test_local_operations_of_other_types(void **state)
{
	static const struct {
		uint8_t type, opcode;
	} cases[] = {
		{RNIC_QP_TYPE_UD, RNIC_WR_BIND_MW},
		{RNIC_QP_TYPE_XRC_INITIATOR, RNIC_WR_LOCAL_INVALIDATE},
		{RNIC_QP_TYPE_XRC_INITIATOR, RNIC_WR_BIND_MW},
	};
	struct fake_session *fake = *state;

	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct rnic_send_wr wr = {.opcode = cases[i].opcode};
		const struct rnic_send_wr *bad = NULL;
		uint32_t before = published(&fake->qp.send);

		fake->qp.type = cases[i].type;
		assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), -EINVAL);
		assert_ptr_equal(bad, &wr);
		assert_int_equal(published(&fake->qp.send), before);
	}
}

/* Requests that its type lacks take their turn: the device completes them with LOC_QP_OP_ERR. */
static void test_requests_of_other_types(void **state)
{
	static const struct {
		uint8_t type, opcode;
	} cases[] = {
		{RNIC_QP_TYPE_UD, RNIC_WR_RDMA_WRITE},
		{RNIC_QP_TYPE_UD, RNIC_WR_RDMA_READ},
		{RNIC_QP_TYPE_UD, RNIC_WR_ATOMIC_FETCH_ADD},
		{RNIC_QP_TYPE_UC, RNIC_WR_RDMA_READ},
		{RNIC_QP_TYPE_UC, RNIC_WR_FLUSH},
		{RNIC_QP_TYPE_UC, RNIC_WR_SEND_WITH_INVALIDATE},
		{RNIC_QP_TYPE_XRC_INITIATOR, RNIC_WR_SEND_WITH_INVALIDATE},
	};
	struct fake_session *fake = *state;

	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		const struct rnic_send_wr wr = {.opcode = cases[i].opcode, .atomic.swap_or_add = 9};
		const struct rnic_send_wr *bad = NULL;
		uint32_t before = published(&fake->qp.send);

		fake->qp.type = cases[i].type;
		assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), 0);
		assert_int_equal(published(&fake->qp.send), before + 1);
		assert_int_equal(sent(fake, before).opcode, cases[i].opcode);
		assert_int_equal(sent(fake, before).atomic.swap_or_add, 0);
		atomic_store(&fake->qp.send.retired, before + 1);
	}
}

/* The SRQ's number goes where the operands leave room. */
static void test_srq_number(void **state)
{
	const struct rnic_send_wr flush = {.opcode = RNIC_WR_FLUSH,
					   .flush = {.length = 5, .type = RNIC_FLUSH_GLOBAL},
					   .srqn = 77};
	const struct rnic_send_wr send = {.opcode = RNIC_WR_SEND, .next = &flush, .srqn = 78};
	struct fake_session *fake = *state;
	const struct rnic_send_wr *bad = NULL;
	uint32_t first = published(&fake->qp.send);

	fake->qp.type = RNIC_QP_TYPE_XRC_INITIATOR;
	assert_int_equal(rnic_post_send(&fake->qp, &send, &bad), 0);
	assert_int_equal(sent(fake, first).srqn, 78);
	assert_int_equal(sent(fake, first + 1).srqn, 77);
	assert_int_equal(sent(fake, first + 1).flush.length, 5);
	assert_int_equal(sent(fake, first + 1).flush.type, RNIC_FLUSH_GLOBAL);
}

static void test_states(void **state)
{
	static const struct {
		enum rnic_qp_state state;
		int send_error, recv_error;
	} cases[] = {
		{RNIC_QP_STATE_RESET, -EINVAL, -EINVAL},
		{RNIC_QP_STATE_INIT, -EINVAL, 0},
		{RNIC_QP_STATE_RTR, -EINVAL, 0},
		{RNIC_QP_STATE_RTS, 0, 0},
		{RNIC_QP_STATE_SQD, 0, 0},
		{RNIC_QP_STATE_SQE, 0, 0},
		{RNIC_QP_STATE_ERR, 0, 0},
	};
	const struct rnic_send_wr send = {.opcode = RNIC_WR_SEND};
	const struct rnic_recv_wr recv = {.wr_id = 1};
	struct fake_session *fake = *state;
	const struct rnic_send_wr *bad_send;
	const struct rnic_recv_wr *bad_recv;

	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		atomic_store(&fake->qp.state, cases[i].state);
		atomic_store(&fake->qp.send.retired, fake->qp.send.producer);
		atomic_store(&fake->qp.recv.retired, fake->qp.recv.producer);
		assert_int_equal(rnic_post_send(&fake->qp, &send, &bad_send), cases[i].send_error);
		assert_int_equal(rnic_post_recv(&fake->qp, &recv, &bad_recv), cases[i].recv_error);
	}
	rnic_link_lose(&fake->context.device, -ENODEV);
	assert_int_equal(rnic_post_send(&fake->qp, &send, &bad_send), -ENODEV);
	assert_ptr_equal(bad_send, &send);
	assert_int_equal(rnic_post_recv(&fake->qp, &recv, &bad_recv), -ENODEV);
}

/* As many as were granted, not as many as the ring has slots; also where the index wraps. */
/* Every refusal leaves its word for people, of its own side alone. */
static void test_refusals_leave_a_word(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_qp_refusals *refusals = &fake->session.refusals[FAKE_QP_SLOT];
	const struct rnic_sge sges[5] = {{0}};
	const struct rnic_send_wr send = {.opcode = RNIC_WR_SEND}, *bad;
	const struct rnic_send_wr wide = {
		.opcode = RNIC_WR_SEND, .sge_list = sges, .sge_count = RNIC_COUNT_OF(sges)};
	const struct rnic_recv_wr recv = {.wr_id = 1}, *bad_recv;

	fake->qp.handle.generation = 9;
	assert_int_equal(rnic_post_send(&fake->qp, &send, &bad), 0);
	assert_int_equal(atomic_load(&fake->session.has_refusals.value), 0);
	assert_int_equal(rnic_post_send(&fake->qp, &wide, &bad), -EINVAL);
	assert_int_equal(atomic_load(&fake->session.has_refusals.value), 1);
	assert_int_equal(atomic_load(&refusals->send),
			 RNIC_POST_REFUSAL_WORD(9, 1, RNIC_QP_STATE_RTS, RNIC_POST_REFUSED_SGES));
	assert_int_equal(atomic_load(&refusals->recv), 0);
	while (rnic_post_send(&fake->qp, &send, &bad) == 0)
		continue;
	assert_int_equal(atomic_load(&refusals->send),
			 RNIC_POST_REFUSAL_WORD(9, 6, RNIC_QP_STATE_RTS, RNIC_POST_REFUSED_FULL));
	atomic_store(&fake->qp.state, RNIC_QP_STATE_RESET);
	assert_int_equal(rnic_post_recv(&fake->qp, &recv, &bad_recv), -EINVAL);
	assert_int_equal(
		atomic_load(&refusals->recv),
		RNIC_POST_REFUSAL_WORD(9, 0, RNIC_QP_STATE_RESET, RNIC_POST_REFUSED_STATE));
}

static void test_full(void **state)
{
	const struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND};
	const struct rnic_recv_wr recv = {.wr_id = 1};
	struct fake_session *fake = *state;
	const struct rnic_send_wr *bad;
	const struct rnic_recv_wr *bad_recv;

	fake->qp.send.producer = UINT32_MAX - 2;
	rnic_word_publish(fake->qp.send.shared_producer, UINT32_MAX - 2);
	atomic_store(&fake->qp.send.retired, UINT32_MAX - 2);
	for (uint32_t i = 0; i < capacities.max_send_wr; i++)
		assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), 0);
	assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), -ENOMEM);
	atomic_store(&fake->qp.send.retired, UINT32_MAX);
	assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), 0);
	assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), 0);
	assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), -ENOMEM);

	for (uint32_t i = 0; i < capacities.max_recv_wr; i++)
		assert_int_equal(rnic_post_recv(&fake->qp, &recv, &bad_recv), 0);
	assert_int_equal(rnic_post_recv(&fake->qp, &recv, &bad_recv), -ENOMEM);
}

static void test_doorbells(void **state)
{
	const struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND};
	const struct rnic_recv_wr recv = {.wr_id = 1};
	struct fake_session *fake = *state;
	const struct rnic_send_wr *bad;
	const struct rnic_recv_wr *bad_recv;
	uint32_t doorbell;

	/* A receive rings only when the daemon asked for it. */
	assert_int_equal(rnic_post_recv(&fake->qp, &recv, &bad_recv), 0);
	assert_int_equal(fake_session_doorbells(fake, &doorbell), 0);
	fake->status.recv_doorbell_wanted[FAKE_QP_SLOT] = 1;
	assert_int_equal(rnic_post_recv(&fake->qp, &recv, &bad_recv), 0);
	assert_int_equal(fake_session_doorbells(fake, &doorbell), 1);
	assert_int_equal(doorbell, RNIC_DOORBELL(RNIC_DOORBELL_RECV, FAKE_QP_SLOT));

	/* One sleep of the daemon costs one wake-up. */
	assert_false(fake_session_was_woken(fake));
	rnic_wake_announce(&fake->session.need_wakeup);
	assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), 0);
	assert_true(fake_session_was_woken(fake));
	assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), 0);
	assert_false(fake_session_was_woken(fake));
	fake_session_doorbells(fake, &doorbell);

	/* A full ring of doorbells loses none in silence. */
	rnic_index_publish(&fake->status.doorbell_consumer,
			   rnic_index_load(&fake->session.doorbell_producer) - RNIC_DOORBELL_SLOTS);
	assert_int_equal(rnic_post_send(&fake->qp, &wr, &bad), 0);
	assert_int_equal(rnic_index_load(&fake->session.doorbells_lost), 1);
}

/* The library gets entries of an SRQ back as the daemon copies them, not as receives complete. */
static void test_srq(void **state)
{
	struct fake_session *fake = *state;
	struct rnic_srq srq = {.context = &fake->context, .recv = fake->qp.recv};
	const struct rnic_sge list[3] = {{.length = 1}, {.length = 2}, {.length = 3}};
	struct rnic_recv_wr wr = {.wr_id = 5, .sge_list = list, .sge_count = 2};
	const struct rnic_recv_wr *bad = NULL;
	struct rnic_shared_index srq_consumer = {.value = 0};
	struct rnic_recv_wqe entry;

	srq.recv.consumer = &srq_consumer;
	for (uint32_t i = 0; i < capacities.max_recv_wr; i++)
		assert_int_equal(rnic_post_srq_recv(&srq, &wr, &bad), 0);
	assert_int_equal(published(&srq.recv), capacities.max_recv_wr);
	memcpy(&entry, srq.recv.entries, sizeof(entry));
	assert_int_equal(entry.wr_id, 5);
	assert_int_equal(entry.sge.length, RNIC_RECV_SGES_BESIDE + 2);
	assert_int_equal(rnic_post_srq_recv(&srq, &wr, &bad), -ENOMEM);
	assert_ptr_equal(bad, &wr);

	atomic_store(&srq.recv.retired, 3);
	assert_int_equal(rnic_post_srq_recv(&srq, &wr, &bad), -ENOMEM);
	rnic_index_publish(&srq_consumer, 1);
	assert_int_equal(rnic_post_srq_recv(&srq, &wr, &bad), 0);
	assert_int_equal(rnic_post_srq_recv(&srq, &wr, &bad), -ENOMEM);

	wr.sge_count = 3;
	rnic_index_publish(&srq_consumer, 2);
	assert_int_equal(rnic_post_srq_recv(&srq, &wr, &bad), -EINVAL);

	/* Its queue pairs have no receive queue of their own. */
	fake->qp.srq = &srq;
	wr.sge_count = 1;
	assert_int_equal(rnic_post_recv(&fake->qp, &wr, &bad), -EINVAL);
	fake->qp.srq = NULL;
}

static void *ring_when_cancelled(void *context)
{
	pthread_cancel(pthread_self());
	rnic_context_ring(context, RNIC_DOORBELL_SEND, FAKE_QP_SLOT, false);
	pthread_testcancel();
	return NULL;
}

/* The thread that took the daemon's wish to be woken must wake it: no other thread will. */
static void test_cancelled_thread_wakes(void **state)
{
	struct fake_session *fake = *state;
	pthread_t thread;
	void *result;

	fake_session_was_woken(fake);
	atomic_store(&fake->session.need_wakeup.value, 1);
	assert_int_equal(pthread_create(&thread, NULL, ring_when_cancelled, &fake->context), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_true(fake_session_was_woken(fake));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_entry, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_spill_area, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_lies_where, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_endless_receive, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_only_the_tag_of_a_key_is_the_callers, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_local_operations_of_other_types, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_requests_of_other_types, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_srq_number, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_states, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals_leave_a_word, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_doorbells, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled_thread_wakes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_srq, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
