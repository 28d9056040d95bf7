/* SPDX-License-Identifier: MIT */
#include "daemon/device/queues/wqe_fetch.h"
#include "daemon/shared/quota/client_limits.h"
#include "lib/nic/engine/engine_limits.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/device/objects/object_requests.h"
#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "daemon/device/session_turn.h"
#include "lib/nic/base/prng.h"
#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/shm/ring.h"
#include "tests/unit/unit_test.h"

#include <unistd.h>

#define QPS   3
#define SENDS 64

/* A session with queue pairs of the deepest receive rings, and a CQ for all their entries. */
struct fixture {
	struct engine engine;
	struct prng random; /* of the engine */
	struct family family;
	struct session *session;
	struct session_qp *qps[QPS];
	int peer_fd;
	struct ctl_call call;
};

static struct fixture fixture;

static void close_fds(const int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
}

static struct session_qp *create_qp(struct fixture *f, struct rnic_handle pd, struct rnic_handle cq)
{
	const struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_INIT, .port = 1};
	struct rnic_ctl_create_qp *request = (void *)f->call.request.payload;
	struct rnic_ctl_create_qp_reply reply;
	struct session_qp *qp;

	*request = (struct rnic_ctl_create_qp){
		.pd = pd,
		.send_cq = cq,
		.recv_cq = cq,
		.type = RNIC_QP_TYPE_RC,
		.capacities = {.max_send_wr = SENDS,
			       .max_send_sge = 1,
			       .max_recv_wr = LIMIT_WR_DEPTH,
			       .max_recv_sge = 1},
	};
	client_fixture_place_queues(&f->call, request);
	assert_int_equal(ctl_create_qp(&f->call), 0);
	memcpy(&reply, f->call.reply.payload, sizeof(reply));
	qp = handle_table_get(&f->session->qps, reply.qp);
	assert_int_equal(qp_modify(qp->qp, &attributes,
				   RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
					   RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_ACCESS_FLAGS),
			 0);
	return qp;
}

static void create_objects(struct fixture *f)
{
	struct rnic_ctl_create_cq *request = (void *)f->call.request.payload;
	struct rnic_ctl_pd_reply pd;
	struct rnic_ctl_cq_reply cq;

	f->call.session = f->session;
	assert_int_equal(ctl_alloc_pd(&f->call), 0);
	memcpy(&pd, f->call.reply.payload, sizeof(pd));
	*request = (struct rnic_ctl_create_cq){.entries = QPS * LIMIT_WR_DEPTH};
	assert_int_equal(ctl_create_cq(&f->call), 0);
	close_fds(f->call.reply_fds, f->call.reply_fd_count);
	memcpy(&cq, f->call.reply.payload, sizeof(cq));
	for (unsigned i = 0; i < QPS; i++)
		f->qps[i] = create_qp(f, pd.pd, cq.cq);
}

static int set_up(void **state)
{
	struct fixture *f = &fixture;
	const struct engine_config config = {
		.sink = &device_sink,
		.sink_context = &f->family.device.sessions,
		.random = prng_source(&f->random),
		.max_qps = QPS,
		.max_mrs = 1,
	};

	memset(f, 0, sizeof(*f));
	prng_init(&f->random, 1);
	f->family.facts.device = (struct rnic_device_attributes){
		.max_cqe = LIMIT_CQ_ENTRIES,
		.completion_vectors = 1,
		.max_qp_wr = LIMIT_WR_DEPTH,
		.max_sge = LIMIT_SGES,
		.max_inline_bytes = LIMIT_INLINE_BYTES,
	};
	assert_int_equal(engine_init(&f->engine, &config), 0);
	family_init(&f->family, &f->engine, NULL);
	f->session = client_fixture_open(client_fixture_connect_device(&f->family, 1, &f->peer_fd),
					 NULL, NULL);
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

static uint32_t entries_flushed(const struct fixture *f)
{
	return (uint32_t)f->engine.counters[COUNTER_FLUSHED_COMPLETIONS];
}

static void modify(struct session_qp *qp, enum rnic_qp_state state)
{
	const struct rnic_qp_attributes attributes = {.state = state};

	assert_int_equal(qp_modify(qp->qp, &attributes, RNIC_QP_ATTR_STATE), 0);
}

/*
 * However many queue pairs are in error, a turn is short, and each has its share of the next. The
 * engine says that they are in error, and no doorbell rings.
 */
static void test_turns_are_short(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < QPS; i++) {
		struct rnic_qp_control *control = client_fixture_control(f->qps[i]);

		modify(f->qps[i], RNIC_QP_STATE_ERR);
		rnic_word_publish(&control->recv_producer, LIMIT_WR_DEPTH);
	}
	for (uint32_t turn = 1; entries_flushed(f) < QPS * LIMIT_WR_DEPTH; turn++) {
		const uint32_t before = entries_flushed(f);

		assert_true(family_have_work(&f->family));
		session_turn_deliver(&f->family.device.sessions, false);
		assert_in_range(entries_flushed(f) - before, 1, LIMIT_TURN_FLUSHES);
		if (turn == QPS)
			for (unsigned i = 0; i < QPS; i++)
				assert_true(f->qps[i]->recv.consumer > 0);
	}
	assert_false(f->session->is_broken);
}

/* Fills the send ring, in which the client has posted `posted` WQEs before. */
static void post_sends(struct session_qp *qp, uint32_t posted)
{
	struct rnic_qp_control *control = client_fixture_control(qp);

	rnic_word_publish(&control->send_producer, posted + SENDS);
	wqe_fetch_schedule(qp);
}

/* From here on queues have their own slots only. */
static void lend_all_rooms(struct fixture *f)
{
	for (uint32_t i = 0; i < SEND_ROOMS; i++)
		send_rooms_borrow(&f->engine.send_rooms);
}

static void take_all_rooms_back(struct fixture *f)
{
	for (uint16_t i = 0; i < SEND_ROOMS; i++)
		send_rooms_give_back(&f->engine.send_rooms, i);
}

/* Fills the slots of a QP, whose ring holds more WQEs. */
static void fill_slots(struct fixture *f, struct session_qp *qp)
{
	struct session_set *sessions = &f->family.device.sessions;

	post_sends(qp, 0);
	assert_int_equal(session_turn_take_work(sessions), LIMIT_SEND_OWN_WQES);
	assert_false(session_turn_has_work(sessions));
	assert_int_equal(session_turn_take_work(sessions), 0);
	assert_int_equal(wqe_fetch_waiting_sends(qp), SENDS - LIMIT_SEND_OWN_WQES);
}

/*
 * A QP for which there is no more space costs the turns nothing, and goes on when it has space. All
 * that is posted shows in a listing.
 */
static void test_a_full_send_queue_waits(void **state)
{
	struct fixture *f = *state;
	struct session_set *sessions = &f->family.device.sessions;
	struct session_qp *qp = f->qps[0];

	lend_all_rooms(f);
	fill_slots(f, qp);
	modify(qp, RNIC_QP_STATE_ERR);
	assert_int_equal(entries_flushed(f), LIMIT_SEND_OWN_WQES);
	assert_true(session_turn_has_work(sessions));
	assert_int_equal(session_turn_take_work(sessions), SENDS - LIMIT_SEND_OWN_WQES);
	assert_int_equal(entries_flushed(f), SENDS);
	assert_int_equal(wqe_fetch_waiting_sends(qp), 0);
	take_all_rooms_back(f);
}

/* RESET forgets the WQEs that wait in the ring. The QP takes later WQEs as it took the first. */
static void test_reset_of_a_full_send_queue(void **state)
{
	struct fixture *f = *state;
	struct session_set *sessions = &f->family.device.sessions;
	struct session_qp *qp = f->qps[0];

	lend_all_rooms(f);
	fill_slots(f, qp);
	modify(qp, RNIC_QP_STATE_RESET);
	wqe_fetch_reset(qp);
	assert_int_equal(wqe_fetch_waiting_sends(qp), 0);
	assert_false(session_turn_has_work(sessions));
	assert_int_equal(entries_flushed(f), 0);
	qp->qp->state = RNIC_QP_STATE_INIT;
	post_sends(qp, SENDS);
	assert_int_equal(session_turn_take_work(sessions), LIMIT_SEND_OWN_WQES);
	assert_false(session_turn_has_work(sessions));
	take_all_rooms_back(f);
}

/*
 * A queue that waits borrows a room that has come back. The end of the QP returns the room: the
 * engine asserts at its end that all rooms are there.
 */
static void test_end_of_a_queue_with_a_room(void **state)
{
	struct fixture *f = *state;
	struct session_set *sessions = &f->family.device.sessions;
	struct session_qp *qp = f->qps[0];

	lend_all_rooms(f);
	fill_slots(f, qp);
	take_all_rooms_back(f);
	wqe_fetch_schedule(qp);
	assert_int_equal(session_turn_take_work(sessions), SENDS - LIMIT_SEND_OWN_WQES);
	assert_int_equal(f->engine.send_rooms.large_count, LIMIT_SEND_LARGE_ROOMS - 1);
}

/* Where the engine finds inline data: in the WQE as long as there is room. */
static void test_place_of_inline_data(void **state)
{
	static const uint16_t lengths[] = {0, 1, 15, 16, 17, 64};
	struct fixture *f = *state;
	struct session_qp *qp = f->qps[0];
	struct rnic_send_wqe *entries = (struct rnic_send_wqe *)(uintptr_t)qp->send_ring.entries;

	for (uint32_t i = 0; i < COUNT_OF(lengths); i++)
		entries[i] = (struct rnic_send_wqe){
			.opcode = RNIC_WR_RDMA_WRITE,
			.flags = RNIC_SEND_INLINE,
			.inline_bytes = lengths[i],
		};
	rnic_word_publish(&client_fixture_control(qp)->send_producer, COUNT_OF(lengths));
	assert_int_equal(wqe_fetch_take_sends(qp, SENDS), COUNT_OF(lengths));
	for (uint32_t i = 0; i < COUNT_OF(lengths); i++) {
		const struct send_wqe *wqe = send_queue_at(&qp->qp->send_queue, i);
		const uint8_t *side = qp->send_ring.spill + i * qp->send_ring.spill_stride_bytes;

		assert_int_equal(wqe->length, lengths[i]);
		assert_ptr_equal(wqe->inline_bytes,
				 lengths[i] <= 16 ? entries[i].inline_data : side);
	}
}

/* The operands of an atomic lie in the WQE, and its SGE beside it. */
static void test_place_of_sges(void **state)
{
	static const struct rnic_sge inside = {1, 8, 3}, beside[2] = {{4, 8, 6}, {7, 8, 9}};
	const struct {
		struct rnic_send_wqe entry;
		const struct rnic_sge *expected;
	} cases[] = {
		{{.opcode = RNIC_WR_RDMA_WRITE, .sge_count = 1, .sge = inside}, &inside},
		{{.opcode = RNIC_WR_ATOMIC_FETCH_ADD, .sge_count = 1, .sge = inside}, beside},
		{{.opcode = RNIC_WR_ATOMIC_COMPARE_SWAP, .sge_count = 1, .sge = inside}, beside},
	};
	struct fixture *f = *state;
	struct session_qp *qp = f->qps[0];
	uint8_t *sides = (uint8_t *)qp->send_ring.spill;

	for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
		memcpy((uint8_t *)qp->send_ring.entries + i * sizeof(cases[i].entry),
		       &cases[i].entry, sizeof(cases[i].entry));
		memcpy(sides + i * qp->send_ring.spill_stride_bytes, beside, sizeof(beside));
	}
	rnic_word_publish(&client_fixture_control(qp)->send_producer, COUNT_OF(cases));
	assert_int_equal(wqe_fetch_take_sends(qp, SENDS), COUNT_OF(cases));
	for (uint32_t i = 0; i < COUNT_OF(cases); i++)
		assert_memory_equal(send_queue_sges(&qp->qp->send_queue, i), cases[i].expected,
				    sizeof(inside));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_turns_are_short, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_place_of_inline_data, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_place_of_sges, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_full_send_queue_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reset_of_a_full_send_queue, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_end_of_a_queue_with_a_room, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
