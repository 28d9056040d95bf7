/* SPDX-License-Identifier: MIT */
/* Completion queues on several completion vectors, each with a channel of its own. */
#include "tests/interop/verbs/qp_steps.h"
#include "tests/interop/verbs/verbs_bench.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <stdbool.h>

#define VECTORS_MAX 64
#define WAIT_MS	    5000

struct vector {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

struct vectors {
	struct bench *bench;
	struct vector all[VECTORS_MAX];
	int count;
};

/* Flushes one receive into the queue of the vector: the shortest way to a completion. */
static void complete_on(struct vectors *vectors, int number)
{
	struct ibv_recv_wr wr = {.wr_id = (uint64_t)number}, *bad;
	struct ibv_qp *qp = vectors->all[number].qp;

	assert_int_equal(qp_end_in_error(qp), 0);
	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

static bool is_event_there(const struct vector *vector, int wait_ms)
{
	struct pollfd descriptor = {.fd = vector->channel->fd, .events = POLLIN};

	return poll(&descriptor, 1, wait_ms) == 1;
}

static int set_up(void **state)
{
	struct vectors *vectors = calloc(1, sizeof(*vectors));
	struct ibv_qp_init_attr wanted = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	assert_non_null(vectors);
	vectors->bench = bench_start(IBV_QPT_RC);
	vectors->count = vectors->bench->context->num_comp_vectors;
	assert_in_range(vectors->count, 2, VECTORS_MAX);
	for (int i = 0; i < vectors->count; i++) {
		struct vector *vector = &vectors->all[i];

		vector->channel = ibv_create_comp_channel(vectors->bench->context);
		assert_non_null(vector->channel);
		vector->cq = ibv_create_cq(vectors->bench->context, 4, vector, vector->channel, i);
		assert_non_null(vector->cq);
		wanted.send_cq = wanted.recv_cq = vector->cq;
		vector->qp = ibv_create_qp(vectors->bench->pd, &wanted);
		assert_non_null(vector->qp);
	}
	*state = vectors;
	return 0;
}

static int tear_down(void **state)
{
	struct vectors *vectors = *state;

	for (int i = 0; i < vectors->count; i++) {
		assert_int_equal(ibv_destroy_qp(vectors->all[i].qp), 0);
		assert_int_equal(ibv_destroy_cq(vectors->all[i].cq), 0);
		assert_int_equal(ibv_destroy_comp_channel(vectors->all[i].channel), 0);
	}
	bench_stop(vectors->bench);
	free(vectors);
	return 0;
}

static void each_vector_raises_its_own_event(void **state)
{
	struct vectors *vectors = *state;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *found;

	for (int i = 0; i < vectors->count; i++)
		assert_int_equal(ibv_req_notify_cq(vectors->all[i].cq, 0), 0);
	for (int i = vectors->count - 1; i >= 0; i--) {
		complete_on(vectors, i);
		assert_true(is_event_there(&vectors->all[i], WAIT_MS));
		for (int other = 0; other < i; other++)
			assert_false(is_event_there(&vectors->all[other], 0));
		assert_int_equal(ibv_get_cq_event(vectors->all[i].channel, &cq, &found), 0);
		assert_ptr_equal(cq, vectors->all[i].cq);
		assert_ptr_equal(found, &vectors->all[i]);
		ibv_ack_cq_events(cq, 1);
		assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
		assert_int_equal(wc.wr_id, i);
	}
}

static void there_is_no_vector_behind_the_last(void **state)
{
	struct vectors *vectors = *state;

	assert_null(ibv_create_cq(vectors->bench->context, 4, NULL, NULL, vectors->count));
	assert_int_equal(errno, EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_vector_raises_its_own_event, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(there_is_no_vector_behind_the_last, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
