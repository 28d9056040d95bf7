/* SPDX-License-Identifier: MIT */
/*
 * CREATE_QP: the indices of a slot that had another QP, and QPs without queues. MODIFY_QP with two
 * steps: both, the first one alone, or none. MODIFY_QP from SQE to RTS, with one send in the ring,
 * and with more than the engine holds.
 */
#include "daemon/device/objects/object_requests.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/device/objects/session_objects.h"
#include "daemon/device/queues/post_refusal.h"
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/device/session/session.h"
#include "lib/nic/base/prng.h"
#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/progress/qp_error.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/base/time_units.h"
#include "proto/shm/ring.h"
#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <unistd.h>

#define TO_RTR                                                                                     \
	(RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU | RNIC_QP_ATTR_DEST_QPN | RNIC_QP_ATTR_RQ_PSN |   \
	 RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER)
#define TO_RTS                                                                                     \
	(RNIC_QP_ATTR_SQ_PSN | RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_RETRY_COUNT |                   \
	 RNIC_QP_ATTR_RNR_RETRY | RNIC_QP_ATTR_MAX_RD_ATOMIC)
#define DEEP_WQES 1024 /* of a send queue: twice what the engine holds at most */

/* A client with a queue pair in INIT. */
struct fixture {
	struct engine engine;
	struct prng random; /* of the engine */
	struct family family;
	struct session *session;
	struct session_qp *qp;
	struct rnic_ctl_create_qp like_qp; /* the request that made it */
	int peer_fd;
	struct ctl_call call;
};

static struct fixture fixture;

static int call(struct fixture *f, int (*handle)(struct ctl_call *), const void *request,
		size_t bytes)
{
	int result;

	memcpy(f->call.request.payload, request, bytes);
	f->call.reply_fd_count = 0;
	result = handle(&f->call);
	for (unsigned i = 0; i < f->call.reply_fd_count; i++)
		close(f->call.reply_fds[i]);
	return result;
}

static struct session_qp *create_qp(struct fixture *f, const struct rnic_ctl_create_qp *request)
{
	struct rnic_ctl_create_qp placed = *request;
	struct rnic_ctl_create_qp_reply made;

	client_fixture_place_queues(&f->call, &placed);
	assert_int_equal(call(f, ctl_create_qp, &placed, sizeof(placed)), 0);
	memcpy(&made, f->call.reply.payload, sizeof(made));
	return handle_table_get(&f->session->qps, made.qp);
}

static void destroy_qp(struct fixture *f, const struct session_qp *qp)
{
	const struct rnic_ctl_object request = {.handle = qp->handle};

	assert_int_equal(call(f, ctl_destroy_qp, &request, sizeof(request)), 0);
}

static void create_objects(struct fixture *f)
{
	const struct rnic_ctl_create_cq cq = {.entries = 1};
	struct rnic_ctl_create_qp *qp = &f->like_qp;

	*qp = (struct rnic_ctl_create_qp){
		.type = RNIC_QP_TYPE_RC,
		.capacities = {.max_send_wr = 1, .max_recv_wr = 1},
	};
	assert_int_equal(call(f, ctl_alloc_pd, "", 0), 0);
	memcpy(&qp->pd, f->call.reply.payload, sizeof(qp->pd));
	assert_int_equal(call(f, ctl_create_cq, &cq, sizeof(cq)), 0);
	memcpy(&qp->send_cq, f->call.reply.payload, sizeof(qp->send_cq));
	qp->recv_cq = qp->send_cq;
	f->qp = create_qp(f, qp);
	f->qp->qp->state = RNIC_QP_STATE_INIT;
}

static int set_up(void **state)
{
	struct fixture *f = &fixture;
	const struct engine_config config = {
		.sink = &device_sink,
		.sink_context = &f->family.device.sessions,
		.random = prng_source(&f->random),
		.max_qps = 2,
		.max_mrs = 1,
	};

	memset(f, 0, sizeof(*f));
	prng_init(&f->random, 1);
	f->family.facts.device = (struct rnic_device_attributes){
		.max_cqe = 1,
		.completion_vectors = 1,
		.max_qp_wr = 1,
		.max_srq_wr = 1,
		.max_srq_sge = 1,
		.max_sge = 1,
		.max_inline_bytes = 64,
	};
	f->family.facts.port.active_mtu = 5;
	f->family.facts.gids.count = 1;
	f->family.facts.gids.entries[0].gid = rnic_gid_from_ipv4((const uint8_t[]){10, 0, 0, 1});
	assert_int_equal(engine_init(&f->engine, &config), 0);
	engine_set_gid(&f->engine, 0, &f->family.facts.gids.entries[0].gid);
	family_init(&f->family, &f->engine, NULL);
	f->session = client_fixture_open(
		client_fixture_connect_device(&f->family, geteuid(), &f->peer_fd), NULL, NULL);
	f->call.session = f->session;
	create_objects(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	family_fini(&f->family);
	engine_fini(&f->engine);
	close(f->peer_fd);
	return 0;
}

/* One WQE in either queue, which the device finds and takes. */
static void post_and_take(struct session_qp *qp)
{
	rnic_word_publish(&client_fixture_control(qp)->send_producer, 1);
	rnic_word_publish(&client_fixture_control(qp)->recv_producer, 1);
	assert_int_equal(wqe_fetch_waiting_recvs(&qp->recv), 1);
	assert_int_equal(wqe_fetch_take_sends(qp, 8), 1);
	assert_int_equal(wqe_fetch_take_sends(qp, 8), 0);
	assert_false(qp->session->is_broken);
}

/* Whatever a client has left in the words of a slot, the next queue pair there begins at 0. */
static void test_slot_starts_afresh(void **state)
{
	static const uint32_t left[] = {1, 0x80000000u, UINT32_MAX};
	struct fixture *f = *state;
	const uint32_t slot = f->qp->handle.slot;

	for (unsigned i = 0; i < COUNT_OF(left); i++) {
		struct rnic_qp_control *control = client_fixture_control(f->qp);

		post_and_take(f->qp);
		destroy_qp(f, f->qp);
		rnic_word_publish(&control->send_producer, left[i]);
		rnic_word_publish(&control->recv_producer, left[i]);
		f->qp = create_qp(f, &f->like_qp);
		f->qp->qp->state = RNIC_QP_STATE_INIT;
		assert_int_equal(f->qp->handle.slot, slot);
		assert_int_equal(rnic_word_load(&control->send_producer), 0);
		assert_int_equal(rnic_word_load(&control->recv_producer), 0);
		assert_int_equal(wqe_fetch_take_sends(f->qp, 8), 0);
		assert_int_equal(wqe_fetch_waiting_recvs(&f->qp->recv), 0);
	}
	post_and_take(f->qp);
}

/* Each has no region, and indices that may not move. */
static void expect_no_queues(struct fixture *f, const struct rnic_ctl_create_qp *request)
{
	struct session_qp *qp = create_qp(f, request);

	assert_null(qp->queue_region);
	assert_int_equal(qp->send_ring.slots, 0);
	assert_int_equal(qp->recv.wqes.slots, 0);
	rnic_word_publish(&client_fixture_control(qp)->send_producer, 1);
	if (qp->target == NULL) {
		assert_int_equal(wqe_fetch_take_sends(qp, 8), 0);
		assert_true(f->session->is_broken);
		f->session->is_broken = false;
		rnic_word_publish(&client_fixture_control(qp)->send_producer, 0);
	}
	rnic_word_publish(&client_fixture_control(qp)->recv_producer, 1);
	wqe_fetch_reset(qp);
	assert_int_equal(f->session->is_broken, qp->target == NULL);
	f->session->is_broken = false;
	destroy_qp(f, qp);
}

static void test_without_queues(void **state)
{
	struct fixture *f = *state;
	struct rnic_ctl_create_srq srq = {.wanted = {.max_wr = 1}};
	const struct rnic_ctl_open_xrcd xrcd = {.flags = 0};
	struct rnic_ctl_create_qp request = f->like_qp;

	request.capacities = (struct rnic_qp_capacities){0};
	expect_no_queues(f, &request);

	srq.pd = request.pd;
	assert_int_equal(call(f, ctl_create_srq, &srq, sizeof(srq)), 0);
	memcpy(&request.srq, f->call.reply.payload, sizeof(request.srq));
	/* A queue pair with an SRQ has no receives of its own, however many are wanted. */
	request.capacities.max_recv_wr = UINT32_MAX;
	request.capacities.max_recv_sge = UINT32_MAX;
	expect_no_queues(f, &request);

	request.type = RNIC_QP_TYPE_XRC_INITIATOR;
	request.srq = (struct rnic_handle){0};
	expect_no_queues(f, &request);

	assert_int_equal(call(f, ctl_open_xrcd, &xrcd, sizeof(xrcd)), 0);
	request = (struct rnic_ctl_create_qp){.type = RNIC_QP_TYPE_XRC_TARGET};
	memcpy(&request.xrcd, f->call.reply.payload, sizeof(request.xrcd));
	expect_no_queues(f, &request);
}

static int connect_qp(struct fixture *f, uint32_t mask, uint32_t rts_mask)
{
	const struct rnic_ctl_modify_qp request = {
		.qp = f->qp->handle,
		.mask = mask,
		.rts_mask = rts_mask,
		.attributes =
			{
				.path_mtu = 3,
				.dest_qpn = 17,
				.rq_psn = 18,
				.sq_psn = 19,
				.max_dest_rd_atomic = 1,
				.timeout = 14,
				.path =
					{
						.is_global = 1,
						.port = 1,
						.hop_limit = 64,
						.dest_gid = f->family.facts.gids.entries[0].gid,
					},
			},
	};

	return call(f, ctl_modify_qp, &request, sizeof(request));
}

static void test_both_steps(void **state)
{
	struct fixture *f = *state;
	struct rnic_qp_attributes attributes;

	assert_int_equal(connect_qp(f, TO_RTR, TO_RTS), 0);
	qp_query(f->qp->qp, &attributes);
	assert_int_equal(attributes.state, RNIC_QP_STATE_RTS);
	assert_int_equal(attributes.dest_qpn, 17);
	assert_int_equal(attributes.rq_psn, 18);
	assert_int_equal(attributes.sq_psn, 19);
	assert_int_equal(attributes.timeout, 14);
}

static void test_first_step_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(connect_qp(f, TO_RTR & ~(uint32_t)RNIC_QP_ATTR_AV, TO_RTS), -EINVAL);
	assert_string_not_equal(f->call.reason, "");
	assert_int_equal(f->qp->qp->state, RNIC_QP_STATE_INIT);
}

static void test_second_step_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(connect_qp(f, TO_RTR, RNIC_QP_ATTR_SQ_PSN), -EINVAL);
	assert_string_not_equal(f->call.reason, "");
	assert_int_equal(f->qp->qp->state, RNIC_QP_STATE_RTR);
}

/* As with rdma_rxe, the interface may be narrower than the path MTU. */
static void test_path_mtu_beyond_the_interface(void **state)
{
	struct fixture *f = *state;

	f->family.facts.port.active_mtu = 2;
	assert_int_equal(connect_qp(f, TO_RTR, TO_RTS), 0);
	assert_int_equal(f->qp->qp->state, RNIC_QP_STATE_RTS);
	assert_int_equal(f->qp->qp->path_mtu_bytes, 1024);
}

/* The path of either step is held against what the engine cannot know. */
static void test_path_is_checked(void **state)
{
	struct fixture *f = *state;

	f->family.facts.gids.count = 0;
	assert_int_equal(connect_qp(f, TO_RTR, TO_RTS), -EINVAL);
	assert_non_null(strstr(f->call.reason, "there is no GID with index"));
	assert_int_equal(f->qp->qp->state, RNIC_QP_STATE_INIT);
}

/* What the client's library leaves when it refuses a request, and the sentence that comes of it. */
static void test_refusals_are_told(void **state)
{
	static const struct {
		uint32_t generation_step; /* from the queue pair's */
		uint32_t producer, state, reason;
		bool is_recv;
		const char *text; /* a part; "": nothing is told */
	} rows[] = {
		{0, 0, RNIC_QP_STATE_RESET, RNIC_POST_REFUSED_STATE, false, "to INIT, RTR and RTS"},
		{0, 0, RNIC_QP_STATE_INIT, RNIC_POST_REFUSED_STATE, false, "to RTR and RTS comes"},
		{0, 0, RNIC_QP_STATE_RTR, RNIC_POST_REFUSED_STATE, false, "in RTR and sends from"},
		{0, 0, RNIC_QP_STATE_RESET, RNIC_POST_REFUSED_STATE, true, "ibv_post_recv: EINVAL"},
		{0, 0, UINT8_MAX, RNIC_POST_REFUSED_STATE, false, "in no state"},
		{0, 0, RNIC_QP_STATE_RTS, RNIC_POST_REFUSED_FULL, false, "is signaled"},
		{0, 0, RNIC_QP_STATE_RTS, RNIC_POST_REFUSED_FULL, true, "receive queue of 1"},
		{0, 1, RNIC_QP_STATE_RTS, RNIC_POST_REFUSED_FULL, false, ""},
		{0, 0, RNIC_QP_STATE_RTS, RNIC_POST_REFUSED_SGES, false, "scatter/gather"},
		{0, 0, RNIC_QP_STATE_RTS, RNIC_POST_REFUSED_LENGTH, false, "max_inline_data"},
		{0, 0, RNIC_QP_STATE_RTS, RNIC_POST_REFUSED_OPERATION, false, "no such operation"},
		{0, 0, RNIC_QP_STATE_RTS, RNIC_POST_REFUSAL_COUNT, false, ""},
		{0, 0, RNIC_QP_STATE_RTS, RNIC_POST_ACCEPTED, false, ""},
		{1, 0, RNIC_QP_STATE_INIT, RNIC_POST_REFUSED_STATE, false, ""},
	};
	struct fixture *f = *state;
	struct rnic_session_region *region = session_region(f->session);
	struct rnic_qp_refusals *refusals = &region->refusals[f->qp->handle.slot];

	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		const uint64_t word =
			RNIC_POST_REFUSAL_WORD(f->qp->handle.generation + rows[i].generation_step,
					       rows[i].producer, rows[i].state, rows[i].reason);
		char text[RNIC_CTL_TEXT_BYTES];

		atomic_store(&refusals->send, rows[i].is_recv ? 0 : word);
		atomic_store(&refusals->recv, rows[i].is_recv ? word : 0);
		rnic_word_publish(&region->has_refusals.value, 0);
		post_refusal_text(f->qp, text, sizeof(text));
		assert_string_equal(text, "");
		rnic_word_publish(&region->has_refusals.value, 1);
		post_refusal_text(f->qp, text, sizeof(text));
		assert_true(strlen(text) < sizeof(text) - 1);
		if (rows[i].text[0] == '\0')
			assert_string_equal(text, "");
		else
			assert_non_null(strstr(text, rows[i].text));
	}
}

/* The device has had no turn since the client posted. */
static void test_sends_of_sqe_are_flushed(void **state)
{
	struct fixture *f = *state;
	struct rnic_ctl_create_qp uc = f->like_qp;
	struct session_qp *qp;

	uc.type = RNIC_QP_TYPE_UC;
	qp = create_qp(f, &uc);
	qp->qp->state = RNIC_QP_STATE_SQE;
	rnic_word_publish(&client_fixture_control(qp)->send_producer, 1);
	const struct rnic_ctl_modify_qp request = {
		.qp = qp->handle,
		.mask = RNIC_QP_ATTR_STATE,
		.attributes = {.state = RNIC_QP_STATE_RTS},
	};

	assert_int_equal(call(f, ctl_modify_qp, &request, sizeof(request)), 0);
	assert_int_equal(qp->qp->state, RNIC_QP_STATE_RTS);
	assert_int_equal(qp->send_consumer, 1);
	assert_int_equal(qp->send_cq->producer, 1);
	assert_int_equal(qp->send_cq->entries[0].status, RNIC_WC_WR_FLUSH_ERR);
}

/* A queue pair of type UC in RTS, with a completion queue for all its WQEs. */
static struct session_qp *create_deep_qp(struct fixture *f)
{
	const struct rnic_ctl_create_cq cq = {.entries = DEEP_WQES};
	struct rnic_ctl_create_qp uc = f->like_qp;
	struct session_qp *qp;

	f->family.facts.device.max_cqe = DEEP_WQES;
	f->family.facts.device.max_qp_wr = DEEP_WQES;
	assert_int_equal(call(f, ctl_create_cq, &cq, sizeof(cq)), 0);
	memcpy(&uc.send_cq, f->call.reply.payload, sizeof(uc.send_cq));
	uc.type = RNIC_QP_TYPE_UC;
	uc.capacities.max_send_wr = DEEP_WQES;
	qp = create_qp(f, &uc);
	qp->qp->state = RNIC_QP_STATE_RTS;
	return qp;
}

/* Most of them are still in the ring when the first one fails. */
static void test_more_sends_than_the_engine_takes_are_flushed(void **state)
{
	struct fixture *f = *state;
	struct session_qp *qp = create_deep_qp(f);
	const struct rnic_ctl_modify_qp request = {
		.qp = qp->handle,
		.mask = RNIC_QP_ATTR_STATE,
		.attributes = {.state = RNIC_QP_STATE_RTS},
	};

	rnic_word_publish(&client_fixture_control(qp)->send_producer, DEEP_WQES);
	assert_in_range(wqe_fetch_take_sends(qp, DEEP_WQES), 1, DEEP_WQES / 2);
	qp_fail_send(&f->engine, qp->qp, VERDICT_LOCAL_PROTECTION);
	assert_int_equal(qp->qp->state, RNIC_QP_STATE_SQE);

	assert_int_equal(call(f, ctl_modify_qp, &request, sizeof(request)), 0);
	assert_int_equal(qp->qp->state, RNIC_QP_STATE_RTS);
	assert_int_equal(qp->send_consumer, DEEP_WQES);
	assert_int_equal(qp->send_cq->producer, DEEP_WQES);
	assert_int_equal(qp->send_cq->entries[0].status, RNIC_WC_LOC_PROT_ERR);
	for (uint32_t i = 1; i < DEEP_WQES; i++)
		assert_int_equal(qp->send_cq->entries[i].status, RNIC_WC_WR_FLUSH_ERR);
}

/* --- ends with its program, or a while later ------------------------------------------------- */

#define HOLD_NS UINT64_C(1000000)

/* The program of the fixture ends at 1 ns, and a rule says that its memory goes first. */
static void end_memory_first(struct fixture *f)
{
	struct device *device = &f->family.device;
	struct fault_rule rule;

	assert_int_equal(fault_rule_load(&rule, "end=memory-first/hold=1ms", 1, 0, 0), 0);
	end_rules_set(&device->ends, 0, 7, &rule);
	device->connections.ends = &device->ends;
	device->sessions.now_ns = 1;
}

static uint64_t qps_charged(const struct fixture *f)
{
	return f->family.device.connections.peers.quotas.usage[RESOURCE_QP];
}

static void test_stays_while_held(void **state)
{
	struct fixture *f = *state;
	struct device *device = &f->family.device;
	const struct pd *pd = f->qp->qp->pd;

	end_memory_first(f);
	served_peer_end(&f->session->connection->peer);
	family_reap(&f->family);
	assert_true(pd->has_no_memory && !pd->is_closed);
	assert_int_equal(f->family.gone_count, 0);
	assert_int_equal(qps_charged(f), 1);
	assert_int_equal(device->ends.rules[0].hits, 1);
	assert_false(family_have_work(&f->family)); /* the device may sleep meanwhile */
	assert_int_equal(served_set_release_ns(&device->connections.peers), 1 + HOLD_NS);
	device->sessions.now_ns = HOLD_NS;
	family_reap(&f->family);
	assert_int_equal(qps_charged(f), 1);
	device->sessions.now_ns++;
	family_reap(&f->family);
	assert_int_equal(f->family.gone_count, 1);
	assert_int_equal(qps_charged(f), 0);
	assert_int_equal(device->sessions.session_count, 0);
	assert_true(served_set_release_ns(&device->connections.peers) == UINT64_MAX);
}

/* The device ends before that time, in tear_down(), which asserts that nothing is left. */
static void test_held_ends_with_the_device(void **state)
{
	struct fixture *f = *state;

	end_memory_first(f);
	served_peer_end(&f->session->connection->peer);
	family_reap(&f->family);
	assert_int_equal(qps_charged(f), 1);
}

/* Nothing of a client that broke the protocol stays. */
static void test_not_held_when_disconnected(void **state)
{
	struct fixture *f = *state;

	end_memory_first(f);
	served_peer_break(&f->session->connection->peer, "it lied");
	family_reap(&f->family);
	assert_int_equal(qps_charged(f), 0);
	assert_int_equal(f->family.device.ends.rules[0].hits, 0);
}

static void load_end_rule(struct end_rules *ends, uint32_t slot, uint32_t id, const char *text)
{
	struct fault_rule rule;

	assert_int_equal(fault_rule_load(&rule, text, 1, 0, 0), 0);
	end_rules_set(ends, slot, id, &rule);
}

/* All rules that concern the program count its end, and the lowest number that acts decides. */
static void test_which_rule_decides(void **state)
{
	static struct end_rules ends;

	(void)state;
	assert_int_equal(end_rules_judge(&ends, "server", 7, 0), 0);
	load_end_rule(&ends, 0, 9, "end=memory-first/program=server/hold=9ms");
	load_end_rule(&ends, 1, 3, "end=memory-first/pid=7/nth=2/hold=3ms");
	load_end_rule(&ends, 2, 4, "end=queue-pairs-first/program=other");
	assert_int_equal(end_rules_judge(&ends, "server", 7, 0), 9 * HOLD_NS);
	assert_int_equal(end_rules_judge(&ends, "server", 7, 0), 3 * HOLD_NS);
	assert_int_equal(end_rules_judge(&ends, "other", 8, 0), 0);
	assert_int_equal(ends.rules[0].hits, 2);
	assert_int_equal(ends.rules[1].hits, 1);
	assert_int_equal(ends.rules[2].hits, 1);
	end_rules_set(&ends, 0, 0, NULL);
	assert_int_equal(ends.count, 2);
	assert_int_equal(end_rules_judge(&ends, "server", 8, 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* --- a queue pair that goes, with answers that its peer lacks --------------------------------- */

static void receive(struct fixture *f, enum rnic_operation operation, uint32_t psn)
{
	const int opcode = rnic_opcode_find(RNIC_SERVICE_RC, operation, RNIC_POSITION_ONLY, 0);
	const struct rnic_packet packet = {
		.addresses = {.source = f->qp->qp->attributes.path.dest_gid,
			      .dest = f->engine.gids[0],
			      .source_port = RNIC_UDP_PORT},
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.ack_request = true,
		.pkey = 0xffff,
		.dest_qpn = f->qp->qp->qpn,
		.psn = rnic_psn(psn),
	};

	engine_receive(&f->engine, &packet, 0);
	engine_flush(&f->engine, 0);
}

/* A READ and a WRITE, of no bytes both. */
static void owe_answers(struct fixture *f)
{
	struct qp *qp = f->qp->qp;

	assert_int_equal(connect_qp(f, TO_RTR, TO_RTS), 0);
	qp->attributes.access_flags = RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_REMOTE_WRITE;
	receive(f, RNIC_OPERATION_READ_REQUEST, qp->responder.expected_psn.value);
	receive(f, RNIC_OPERATION_WRITE, qp->responder.expected_psn.value);
	assert_true(qp->responder.has_acknowledge);
}

static void expect_sent(struct fixture *f, enum rnic_operation operation)
{
	struct packet_builder out;

	assert_true(engine_transmit(&f->engine, &out, 0));
	assert_int_equal(out.packet.row->operation, operation);
}

static int end_qp(struct fixture *f, bool is_reset)
{
	const struct rnic_ctl_object destroy = {.handle = f->qp->handle};
	const struct rnic_ctl_modify_qp reset = {
		.qp = f->qp->handle,
		.mask = RNIC_QP_ATTR_STATE,
		.attributes = {.state = RNIC_QP_STATE_RESET},
	};

	return is_reset ? call(f, ctl_modify_qp, &reset, sizeof(reset))
			: call(f, ctl_destroy_qp, &destroy, sizeof(destroy));
}

static void answers_leave_before(struct fixture *f, bool is_reset)
{
	struct packet_builder out;

	owe_answers(f);
	assert_int_equal(end_qp(f, is_reset), -EINPROGRESS);
	expect_sent(f, RNIC_OPERATION_READ_RESPONSE);
	expect_sent(f, RNIC_OPERATION_ACKNOWLEDGE);
	assert_int_equal(end_qp(f, is_reset), 0);
	assert_false(engine_transmit(&f->engine, &out, 0));
}

static void test_answers_leave_before_a_destruction(void **state)
{
	answers_leave_before(*state, false);
}

static void test_answers_leave_before_a_reset(void **state)
{
	answers_leave_before(*state, true);
}

/* The port takes nothing: the queue pair goes all the same. */
static void test_answers_are_awaited_for_a_while(void **state)
{
	struct fixture *f = *state;
	struct session_set *set = &f->family.device.sessions;

	owe_answers(f);
	assert_int_equal(end_qp(f, false), -EINPROGRESS);
	set->now_ns += 99 * RNIC_NS_PER_MS;
	assert_int_equal(end_qp(f, false), -EINPROGRESS);
	set->now_ns += RNIC_NS_PER_MS;
	assert_int_equal(end_qp(f, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_slot_starts_afresh),
		TEST(test_without_queues),
		TEST(test_both_steps),
		TEST(test_first_step_refused),
		TEST(test_second_step_refused),
		TEST(test_path_is_checked),
		TEST(test_path_mtu_beyond_the_interface),
		TEST(test_refusals_are_told),
		TEST(test_sends_of_sqe_are_flushed),
		TEST(test_more_sends_than_the_engine_takes_are_flushed),
		TEST(test_stays_while_held),
		TEST(test_held_ends_with_the_device),
		TEST(test_not_held_when_disconnected),
		TEST(test_which_rule_decides),
		TEST(test_answers_leave_before_a_destruction),
		TEST(test_answers_leave_before_a_reset),
		TEST(test_answers_are_awaited_for_a_while),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
