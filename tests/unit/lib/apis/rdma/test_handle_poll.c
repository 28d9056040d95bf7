/* SPDX-License-Identifier: MIT */
/*
 * Threads cancelled while they wait for a queue pair: the others go on. A peer that leaves while
 * the answers to sends are under way.
 */
#include "lib/apis/dial/dial.h"
#include "lib/apis/rdma/handle_domain.h"
#include "lib/apis/rdma/handle_objects.h"
#include "tests/unit/unit_test.h"

#include <poll.h>

#define NUMBER 5

/* --- a device on which nothing ever happens -------------------------------------------------- */

int rnic_channel_fd(const struct rnic_channel *channel)
{
	(void)channel;
	return -1;
}

int rnic_req_notify_cq(struct rnic_cq *cq, bool solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return 0;
}

/* As looking at a descriptor would be. */
int rnic_poll_cq(struct rnic_cq *cq, uint32_t max_count, struct rnic_completion *completions)
{
	(void)cq;
	(void)max_count;
	(void)completions;
	pthread_testcancel();
	return 0;
}

int rnic_get_cq_event(struct rnic_channel *channel, struct rnic_cq **cq)
{
	(void)channel;
	(void)cq;
	return -EAGAIN;
}

void rnic_ack_cq_events(struct rnic_cq *cq, uint32_t count)
{
	(void)cq;
	(void)count;
}

int rnic_cm_channel_fd(const struct rnic_cm_channel *channel)
{
	(void)channel;
	return -1;
}

static bool has_dreq; /* has come, and was not taken */

int rnic_cm_get_event(struct rnic_cm_channel *channel, struct rnic_cm_event *event)
{
	(void)channel;
	if (!has_dreq)
		return -EAGAIN;
	has_dreq = false;
	*event = (struct rnic_cm_event){.type = RNIC_CM_DISCONNECTED};
	return 0;
}

void rnic_cm_ack_event(const struct rnic_cm_event *event)
{
	(void)event;
}

int rnic_wait(struct rnic_context *context, struct pollfd *descriptors, unsigned count,
	      int timeout_ms)
{
	(void)context;
	const int ready = poll(descriptors, count, timeout_ms);

	return ready < 0 ? -errno : ready;
}

void rnic_handle_fail(struct rnic_handle_qp *qp)
{
	qp->link = RNIC_HANDLE_FAILED;
}

int rnic_handle_probe(struct rnic_handle_qp *qp)
{
	(void)qp;
	return 0;
}

/* --- who waits ------------------------------------------------------------------------------- */

static void nothing(struct rnic_handle *handle)
{
	(void)handle;
}

static int make_qp(void **state)
{
	static struct rnic_handle_domain domain;
	struct rnic_handle_qp *qp = calloc(1, sizeof(*qp));
	pthread_condattr_t attributes;

	assert_non_null(qp);
	qp->domain = &domain;
	pthread_mutex_init(&qp->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&qp->woken, &attributes);
	pthread_condattr_destroy(&attributes);
	assert_int_equal(rnic_posted_ring_init(&qp->sends, 1), 0);
	assert_int_equal(rnic_posted_ring_init(&qp->receives, 1), 0);
	assert_int_equal(rnic_handle_add(&qp->handle, RNIC_HANDLE_QP, NUMBER, nothing), NUMBER);
	*state = qp;
	return 0;
}

static int end_qp(void **state)
{
	struct rnic_handle_qp *qp = *state;

	rnic_handle_release(rnic_handle_remove(RNIC_HANDLE_QP, NUMBER));
	rnic_posted_ring_fini(&qp->sends);
	rnic_posted_ring_fini(&qp->receives);
	pthread_cond_destroy(&qp->woken);
	pthread_mutex_destroy(&qp->lock);
	free(qp);
	return 0;
}

/* AddressSanitizer does not see that cancelling leaves these functions. */
__attribute__((no_sanitize("address"))) static void *poll_when_cancelled(void *unused)
{
	struct rdma_wc wc;

	pthread_cancel(pthread_self());
	rdma_poll_cq(NUMBER, &wc, 1);
	pthread_testcancel();
	return unused;
}

__attribute__((no_sanitize("address"))) static void *wait_when_cancelled(void *unused)
{
	struct rdma_wc wc;

	pthread_cancel(pthread_self());
	rdma_wait_cq(NUMBER, &wc, 1, -1);
	return unused;
}

__attribute__((no_sanitize("address"))) static void *wait_in_vain(void *unused)
{
	struct rdma_wc wc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	assert_int_equal(rdma_wait_cq(NUMBER, &wc, 1, 1), 0);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	pthread_testcancel();
	return unused;
}

static void cancelled_in(void *(*call)(void *), struct rnic_handle_qp *qp)
{
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, call, NULL), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(pthread_mutex_trylock(&qp->lock), 0);
	pthread_mutex_unlock(&qp->lock);
	assert_int_equal(atomic_load(&qp->handle.references), 1);
}

static void test_cancelled_while_asleep(void **state)
{
	struct rnic_handle_qp *qp = *state;

	cancelled_in(wait_when_cancelled, qp);
	assert_false(qp->is_someone_asleep);
}

static void test_cancelled_behind_another(void **state)
{
	struct rnic_handle_qp *qp = *state;

	qp->is_someone_asleep = true;
	cancelled_in(wait_when_cancelled, qp);
	assert_true(qp->is_someone_asleep);
}

static void test_not_cancelled_elsewhere(void **state)
{
	struct rnic_handle_qp *qp = *state;

	cancelled_in(poll_when_cancelled, qp);
}

static void test_not_cancelled_against_its_will(void **state)
{
	struct rnic_handle_qp *qp = *state;

	cancelled_in(wait_in_vain, qp);
	assert_false(qp->is_someone_asleep);
}

/* --- a peer that leaves ---------------------------------------------------------------------- */

static void hear_dreq(struct rnic_handle_qp *qp)
{
	static char channel;

	has_dreq = true;
	qp->link = RNIC_HANDLE_PEER;
	qp->looked_ns = 0;
	qp->cm_channel = (struct rnic_cm_channel *)&channel;
}

static void test_peer_leaves_behind_all_answers(void **state)
{
	struct rnic_handle_qp *qp = *state;
	struct rdma_wc wc;

	hear_dreq(qp);
	assert_int_equal(rdma_poll_cq(NUMBER, &wc, 1), 0);
	assert_int_equal(qp->link, RNIC_HANDLE_FAILED);
}

/* An answer by another packet may come behind the DREQ; after a while none comes any more. */
static void test_peer_leaves_ahead_of_an_answer(void **state)
{
	struct rnic_handle_qp *qp = *state;
	struct rnic_posted taken;
	struct rdma_wc wc;

	for (int is_late = 0; is_late < 2; is_late++) {
		const uint64_t number = qp->sends.posted;

		rnic_posted_ring_push(&qp->sends, (struct rnic_posted){.wr_id = 1});
		hear_dreq(qp);
		for (int i = 0; i < 3; i++)
			assert_int_equal(rdma_poll_cq(NUMBER, &wc, 1), 0);
		assert_int_equal(qp->link, RNIC_HANDLE_PEER);
		if (is_late)
			qp->left_ns -= RNIC_DIAL_LINGER_NS;
		else
			assert_true(rnic_posted_ring_try_pop(&qp->sends, number, &taken));
		assert_int_equal(rdma_poll_cq(NUMBER, &wc, 1), 0);
		assert_int_equal(qp->link, RNIC_HANDLE_FAILED);
		qp->left_ns = 0;
	}
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, make_qp, end_qp)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_cancelled_while_asleep),
		CASE(test_cancelled_behind_another),
		CASE(test_not_cancelled_elsewhere),
		CASE(test_not_cancelled_against_its_will),
		CASE(test_peer_leaves_behind_all_answers),
		CASE(test_peer_leaves_ahead_of_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
