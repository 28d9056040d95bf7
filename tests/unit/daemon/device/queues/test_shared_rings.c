/* SPDX-License-Identifier: MIT */
/*
 * The library's half of the rings and the daemon's, each in threads of its own, over the same
 * memory. The queue pairs are in ERR, so that each WQE comes back as a CQE without a network. All
 * words of region.h take part, and each side sleeps until the other one wakes it.
 *
 * Both halves use one mapping. So a thread sanitizer, which knows memory by its address, sees both.
 */
#include "daemon/device/queues/wqe_fetch.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/device/objects/object_requests.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session_turn.h"
#include "daemon/shared/quota/client_limits.h"
#include "lib/client/native/rnic_objects.h"
#include "lib/client/native/rnic_post.h"
#include "lib/nic/base/prng.h"
#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define QPS	    2
#define DEPTH	    32 /* so the CQ has slots beyond LIMIT_CQ_FIRST_SLOTS */
#define CQ_ENTRIES  (2 * QPS * DEPTH)
#define WQES	    20000u /* for each queue */
#define DEADLINE_MS 60000  /* a wake-up that takes longer is lost */

struct rings {
	struct engine engine;
	struct prng random; /* of the engine */
	struct family family;
	struct session *session;
	struct session_qp *device_qps[QPS];
	struct ctl_call call;
	int peer_fd;

	struct rnic_context context;
	struct rnic_channel channel;
	struct rnic_cq cq;
	struct rnic_qp qps[QPS];
	atomic_bool is_over;
};

static struct rings rings;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- objects on both sides -------------------------------------------------------------------- */

static void drop_reply_fds(struct ctl_call *call)
{
	for (unsigned i = 0; i < call->reply_fd_count; i++)
		close(call->reply_fds[i]);
	call->reply_fd_count = 0;
}

static struct rnic_handle create_channel(struct rings *r)
{
	struct rnic_ctl_channel_reply reply;

	assert_int_equal(ctl_create_channel(&r->call), 0);
	memcpy(&reply, r->call.reply.payload, sizeof(reply));
	r->channel = (struct rnic_channel){
		.context = &r->context,
		.fd = r->call.reply_fds[0],
	};
	r->call.reply_fd_count = 0;
	return reply.channel;
}

static void create_cq(struct rings *r)
{
	const struct rnic_handle channel = create_channel(r);
	struct rnic_ctl_create_cq *request = (void *)r->call.request.payload;
	struct rnic_ctl_cq_reply reply;
	const struct session_cq *cq;

	*request = (struct rnic_ctl_create_cq){.entries = CQ_ENTRIES, .channel = channel};
	assert_int_equal(ctl_create_cq(&r->call), 0);
	drop_reply_fds(&r->call);
	memcpy(&reply, r->call.reply.payload, sizeof(reply));
	cq = handle_table_get(&r->session->cqs, reply.cq);
	r->cq.context = &r->context;
	r->cq.handle = reply.cq;
	r->cq.channel = &r->channel;
	r->cq.control = &r->context.session->cqs[reply.cq.slot];
	r->cq.region = cq->region.address;
	r->cq.entries = cq->entries;
	r->cq.slots = reply.slots;
	rnic_spinlock_init(&r->cq.lock);
}

/* The library's half of a queue pair, as lib/client/native/rnic_qp.c makes it. */
static void open_qp(struct rings *r, struct rnic_qp *qp, const struct session_qp *device_qp)
{
	struct rnic_qp_control *control =
		rnic_qp_control_of(r->context.session, device_qp->handle.slot);
	uint8_t *entries = (uint8_t *)device_qp->send_ring.entries;
	uint8_t *sides = (uint8_t *)device_qp->send_ring.spill;
	struct rnic_queues_plan plan;

	assert_int_equal(rnic_queues_plan(&device_qp->qp->capacities, &plan), 0);
	qp->context = &r->context;
	qp->handle = device_qp->handle;
	qp->qpn = device_qp->qp->qpn;
	qp->type = RNIC_QP_TYPE_RC;
	rnic_work_queue_init(&qp->send, 2);
	rnic_work_queue_place(&qp->send, &plan.send, entries, sides, &control->send_producer,
			      DEPTH);
	rnic_work_queue_init(&qp->recv, 2);
	rnic_work_queue_place(&qp->recv, &plan.recv, entries, sides, &control->recv_producer,
			      DEPTH);
	atomic_init(&qp->state, RNIC_QP_STATE_ERR);
	r->context.qps[qp->handle.slot] = qp;
}

static void create_failed_qp(struct rings *r, unsigned number, struct rnic_handle pd)
{
	const struct rnic_qp_attributes init = {.state = RNIC_QP_STATE_INIT, .port = 1};
	const struct rnic_qp_attributes error = {.state = RNIC_QP_STATE_ERR};
	struct rnic_ctl_create_qp *request = (void *)r->call.request.payload;
	struct rnic_ctl_create_qp_reply reply;
	struct session_qp *qp;

	*request = (struct rnic_ctl_create_qp){
		.pd = pd,
		.send_cq = r->cq.handle,
		.recv_cq = r->cq.handle,
		.type = RNIC_QP_TYPE_RC,
		.signal_all = 1,
		.capacities = {.max_send_wr = DEPTH,
			       .max_recv_wr = DEPTH,
			       .max_send_sge = 2,
			       .max_recv_sge = 2},
	};
	client_fixture_place_queues(&r->call, request);
	assert_int_equal(ctl_create_qp(&r->call), 0);
	memcpy(&reply, r->call.reply.payload, sizeof(reply));
	qp = handle_table_get(&r->session->qps, reply.qp);
	assert_int_equal(qp_modify(qp->qp, &init,
				   RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
					   RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_ACCESS_FLAGS),
			 0);
	assert_int_equal(qp_modify(qp->qp, &error, RNIC_QP_ATTR_STATE), 0);
	wqe_fetch_review(qp);
	open_qp(r, &r->qps[number], qp);
}

static void open_context(struct rings *r, int doorbell_fd)
{
	struct rnic_context *context = &r->context;

	rnic_link_init(&context->control);
	rnic_link_init(&context->device);
	atomic_store(&context->control.lost, 0);
	atomic_store(&context->device.lost, 0);
	context->session = session_region(r->session);
	context->status = session_status(r->session);
	context->attributes.max_message_bytes = RNIC_MESSAGE_BYTES_MAX;
	context->doorbell_fd = doorbell_fd;
	context->qps = calloc(RNIC_SESSION_QPS_MAX, sizeof(struct rnic_qp *));
	assert_non_null(context->qps);
	rnic_spinlock_init(&context->doorbell_lock);
}

static int set_up(void **state)
{
	struct rings *r = &rings;
	const struct engine_config config = {
		.sink = &device_sink,
		.sink_context = &r->family.device.sessions,
		.random = prng_source(&r->random),
		.max_qps = QPS,
		.max_mrs = 1,
	};
	struct rnic_ctl_pd_reply pd;
	int doorbell_fd;

	prng_init(&r->random, 1);
	r->family.facts.device = (struct rnic_device_attributes){
		.max_cqe = LIMIT_CQ_ENTRIES,
		.completion_vectors = 1,
		.max_qp_wr = LIMIT_WR_DEPTH,
		.max_sge = LIMIT_SGES,
		.max_inline_bytes = LIMIT_INLINE_BYTES,
	};
	assert_int_equal(engine_init(&r->engine, &config), 0);
	family_init(&r->family, &r->engine, NULL);
	r->session = client_fixture_open(client_fixture_connect_device(&r->family, 1, &r->peer_fd),
					 &doorbell_fd, NULL);
	open_context(r, doorbell_fd);
	r->call.session = r->session;
	assert_int_equal(ctl_alloc_pd(&r->call), 0);
	memcpy(&pd, r->call.reply.payload, sizeof(pd));
	create_cq(r);
	for (unsigned i = 0; i < QPS; i++)
		create_failed_qp(r, i, pd.pd);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct rings *r = *state;

	family_fini(&r->family);
	engine_fini(&r->engine);
	close(r->peer_fd);
	close(r->channel.fd);
	close(r->context.doorbell_fd);
	rnic_link_fini(&r->context.device);
	rnic_link_fini(&r->context.control);
	free(r->context.qps);
	return 0;
}

/* --- the threads ------------------------------------------------------------------------------ */

/* The device's loop (device_loop.c). Not NULL: it slept too long. */
static void *run_device(void *argument)
{
	struct rings *r = argument;
	struct session_set *set = &r->family.device.sessions;
	struct pollfd clients = {.fd = set->epoll_fd, .events = POLLIN};

	while (!r->is_over) {
		set->now_ns = now_ns();
		if (session_turn_take_work(set) == 0 && !session_turn_has_work(set)) {
			session_turn_announce_sleep(set);
			if (session_turn_take_work(set) == 0 && !session_turn_has_work(set) &&
			    !r->is_over && poll(&clients, 1, DEADLINE_MS) != 1)
				return r;
			device_poll(&r->family.device);
			session_turn_withdraw_sleep(set);
		}
		session_turn_deliver(set, false);
	}
	return NULL;
}

/* The ID of a WQE says whose it is, and where it belongs among the WQEs of its queue. */
static uint64_t wr_id_of(unsigned queue, uint32_t number)
{
	return (uint64_t)queue << 32 | number;
}

static void *post_sends(void *argument)
{
	struct rnic_qp *qp = argument;
	const unsigned queue = 2 * (unsigned)(qp - rings.qps);
	const struct rnic_sge sges[2] = {{.length = 1}, {.length = 2}};
	const struct rnic_send_wr *bad;

	for (uint32_t i = 0; i < WQES;) {
		const struct rnic_send_wr wr = {
			.wr_id = wr_id_of(queue, i),
			.opcode = RNIC_WR_SEND,
			.sge_list = sges,
			.sge_count = 1 + i % 2,
		};
		const int error = rnic_post_send(qp, &wr, &bad);

		if (error != 0 && error != -ENOMEM)
			return qp;
		i += error == 0;
		if (error != 0)
			sched_yield();
	}
	return NULL;
}

static void *post_receives(void *argument)
{
	struct rnic_qp *qp = argument;
	const unsigned queue = 2 * (unsigned)(qp - rings.qps) + 1;
	const struct rnic_sge sges[2] = {{.length = 1}, {.length = 2}};
	const struct rnic_recv_wr *bad;

	for (uint32_t i = 0; i < WQES;) {
		const struct rnic_recv_wr wr = {
			.wr_id = wr_id_of(queue, i),
			.sge_list = sges,
			.sge_count = 1 + i % 2,
		};
		const int error = rnic_post_recv(qp, &wr, &bad);

		if (error != 0 && error != -ENOMEM)
			return qp;
		i += error == 0;
		if (error != 0)
			sched_yield();
	}
	return NULL;
}

/* Arms the CQ, looks once more, and sleeps on the channel. */
static int await_completions(struct rings *r, struct rnic_completion *completions)
{
	struct pollfd channel = {.fd = r->channel.fd, .events = POLLIN};
	struct rnic_event_record record;
	int taken;

	assert_int_equal(rnic_req_notify_cq(&r->cq, false), 0);
	taken = rnic_poll_cq(&r->cq, DEPTH, completions);
	if (taken != 0)
		return taken;
	assert_int_equal(poll(&channel, 1, DEADLINE_MS), 1);
	assert_int_equal(rnic_event_record_take(r->channel.fd, &record), 0);
	return 0;
}

static void take_completion(const struct rnic_completion *completion, uint32_t next[2 * QPS])
{
	const uint64_t queue = completion->wr_id >> 32;

	assert_in_range(queue, 0, 2 * QPS - 1);
	assert_int_equal(completion->status, RNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(completion->wr_id, wr_id_of((unsigned)queue, next[queue]));
	next[queue]++;
}

/*
 * The CQ is empty before each of these CQEs, so they lie in its first slots. Among many at a time
 * it is a matter of luck where the CQ is empty.
 */
static void complete_one_by_one(struct rings *r, uint32_t next[2 * QPS])
{
	const struct rnic_send_wr *bad;
	struct rnic_completion completion;

	for (uint32_t i = 0; i < 2 * CQ_ENTRIES; i++) {
		const struct rnic_send_wr wr = {
			.wr_id = wr_id_of(0, next[0]),
			.opcode = RNIC_WR_SEND,
		};
		int taken;

		assert_int_equal(rnic_post_send(&r->qps[0], &wr, &bad), 0);
		do
			taken = rnic_poll_cq(&r->cq, 1, &completion);
		while (taken == 0);
		assert_int_equal(taken, 1);
		take_completion(&completion, next);
	}
	assert_in_range(r->cq.region->producer - r->cq.region->slot_zero, 1, LIMIT_CQ_FIRST_SLOTS);
}

/* Every WQE comes back once, in order, though rings of 16 slots go round more than 1000 times. */
static void test_both_halves(void **state)
{
	struct rings *r = *state;
	struct rnic_completion completions[DEPTH];
	uint32_t next[2 * QPS] = {0};
	pthread_t device, posters[2 * QPS];
	uint32_t all = 0;
	void *failure;

	assert_int_equal(pthread_create(&device, NULL, run_device, r), 0);
	for (unsigned i = 0; i < QPS; i++) {
		assert_int_equal(pthread_create(&posters[2 * i], NULL, post_sends, &r->qps[i]), 0);
		assert_int_equal(
			pthread_create(&posters[2 * i + 1], NULL, post_receives, &r->qps[i]), 0);
	}
	/* Every other time by polls alone, which sleep on the futex. */
	for (uint32_t round = 0; all < 2 * QPS * WQES; round++) {
		int taken = rnic_poll_cq(&r->cq, DEPTH, completions);

		if (taken == 0 && round % 2 == 0)
			taken = await_completions(r, completions);
		assert_true(taken >= 0);
		for (int i = 0; i < taken; i++)
			take_completion(&completions[i], next);
		all += (uint32_t)taken;
	}
	for (unsigned i = 0; i < 2 * QPS; i++) {
		assert_int_equal(next[i], WQES);
		assert_int_equal(pthread_join(posters[i], &failure), 0);
		assert_null(failure);
	}
	complete_one_by_one(r, next);
	r->is_over = true;
	rnic_context_ring(&r->context, RNIC_DOORBELL_SEND, r->qps[0].handle.slot, false);
	assert_int_equal(pthread_join(device, &failure), 0);
	assert_null(failure);
	assert_false(r->session->is_broken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_both_halves, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
