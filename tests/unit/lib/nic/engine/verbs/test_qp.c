/* SPDX-License-Identifier: MIT */
#include "tests/unit/lib/nic/engine/engine_fixture.h"

#include "proto/base/lane.h"
#include "proto/wire/syndrome.h"
#include "tests/sim/invariants.h"
#include "tests/unit/unit_test.h"

#define ACK_SYNDROME rnic_syndrome_make(RNIC_SYNDROME_ACK, RNIC_CREDITS_NOT_CARRIED)

static void test_create_refuses(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct qp_config config = {
		.type = RNIC_QP_TYPE_XRC_TARGET + 1,
		.pd = &fixture->pd,
		.send_cq = &fixture->send_cq,
		.recv_cq = &fixture->recv_cq,
	};
	struct qp *qp = NULL;

	(void)state;
	assert_int_equal(qp_create(&fixture->engine, &config, &qp), -EOPNOTSUPP);
	config.type = RNIC_QP_TYPE_RC;
	config.capacities.max_send_sge = LIMIT_SGES + 1;
	assert_int_equal(qp_create(&fixture->engine, &config, &qp), -EINVAL);
	config.capacities.max_send_sge = 1;
	fixture->engine.config.max_qps = 1;
	assert_int_equal(qp_create(&fixture->engine, &config, &qp), -ENOSPC);
	assert_null(qp);
	fixture_destroy(fixture);
}

/* A value out of range changes nothing at all. */
static void test_modify_is_atomic(void **state)
{
	static const struct {
		uint32_t mask;
		struct rnic_qp_attributes attributes;
	} rows[] = {
		{RNIC_QP_ATTR_PATH_MTU, {.path_mtu = 0}},
		{RNIC_QP_ATTR_PATH_MTU, {.path_mtu = 6}},
		{RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC, {.max_dest_rd_atomic = LIMIT_RD_ATOMIC + 1}},
		{RNIC_QP_ATTR_PKEY_INDEX, {.pkey_index = 1}},
		{RNIC_QP_ATTR_AV, {.path = {.port = 1, .is_global = 0}}},
		{RNIC_QP_ATTR_AV, {.path = {.port = 1, .is_global = 1, .source_gid_index = 1}}},
		{RNIC_QP_ATTR_AV, {.path = {.port = 1, .is_global = 1, .source_gid_index = 32}}},
		{RNIC_QP_ATTR_AV, {.path = {.port = 2, .is_global = 1}}},
	};
	const uint32_t required = RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU |
				  RNIC_QP_ATTR_DEST_QPN | RNIC_QP_ATTR_RQ_PSN |
				  RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER;
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_qp_attributes good = {
		.state = RNIC_QP_STATE_RESET, .port = 1, .path_mtu = 5, .max_dest_rd_atomic = 1};
	struct rnic_qp_attributes before, after;

	(void)state;
	good.path = (struct rnic_path){
		.dest_gid = fixture->peer_gid, .port = 1, .is_global = 1, .hop_limit = 1};
	assert_int_equal(qp_modify(fixture->qp, &good, RNIC_QP_ATTR_STATE), 0);
	good.state = RNIC_QP_STATE_INIT;
	assert_int_equal(qp_modify(fixture->qp, &good,
				   RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX |
					   RNIC_QP_ATTR_PORT | RNIC_QP_ATTR_ACCESS_FLAGS),
			 0);
	qp_query(fixture->qp, &before);
	good.state = RNIC_QP_STATE_RTR;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct rnic_qp_attributes bad = good;

		bad.path_mtu = rows[i].mask & RNIC_QP_ATTR_PATH_MTU ? rows[i].attributes.path_mtu
								    : good.path_mtu;
		bad.max_dest_rd_atomic = rows[i].attributes.max_dest_rd_atomic;
		bad.pkey_index = rows[i].attributes.pkey_index;
		if (rows[i].mask & RNIC_QP_ATTR_AV) {
			bad.path = rows[i].attributes.path;
			bad.path.dest_gid = fixture->peer_gid;
		}
		assert_int_equal(qp_modify(fixture->qp, &bad, required | rows[i].mask), -EINVAL);
		qp_query(fixture->qp, &after);
		assert_memory_equal(&before, &after, sizeof(before));
	}
	engine_set_hop_limits(&fixture->engine, 64, 64);
	assert_int_equal(qp_modify(fixture->qp, &good, required), 0);
	qp_query(fixture->qp, &after);
	assert_int_equal(after.path.hop_limit, 64);
	fixture_destroy(fixture);
}

static void set_state(struct engine_fixture *fixture, enum rnic_qp_state to, uint32_t mask)
{
	const struct rnic_qp_attributes attributes = {.state = to, .en_sqd_async_notify = 1};

	assert_int_equal(qp_modify(fixture->qp, &attributes, mask | RNIC_QP_ATTR_STATE), 0);
	engine_check_invariants(&fixture->engine);
}

static void test_drain(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_qp_attributes attributes;

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 3000);
	assert_true(fixture_transmit(fixture));
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 8);
	set_state(fixture, RNIC_QP_STATE_SQD, RNIC_QP_ATTR_EN_SQD_ASYNC_NOTIFY);
	assert_int_equal(fixture_transmit_all(fixture), 2); /* the started one is finished */
	qp_query(fixture->qp, &attributes);
	assert_int_equal(attributes.sq_draining, 1);
	assert_int_equal(fixture->event_count, 0);
	fixture_receive_acknowledge(fixture, 102, ACK_SYNDROME);
	assert_int_equal(fixture->event_count, 1);
	assert_int_equal(fixture->events[0], RNIC_EVENT_SQ_DRAINED);
	qp_query(fixture->qp, &attributes);
	assert_int_equal(attributes.sq_draining, 0);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	set_state(fixture, RNIC_QP_STATE_RTS, 0);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_destroy(fixture);
}

/* A READ that was started goes out again, although no further READ may start. */
static void test_drain_without_depth(void **state)
{
	const struct rnic_qp_attributes none = {.state = RNIC_QP_STATE_SQD};
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_RDMA_READ, 1, 8);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	set_state(fixture, RNIC_QP_STATE_SQD, 0);
	assert_int_equal(
		qp_modify(fixture->qp, &none, RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_MAX_RD_ATOMIC), 0);
	fixture_tick(fixture, engine_next_deadline_ns(&fixture->engine) - fixture->now_ns);
	assert_int_equal(fixture_transmit_all(fixture), 1);
	fixture_destroy(fixture);
}

static void test_error_flushes_both_queues(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 8);
	fixture_post_receive(fixture, 3, 0, 8);
	assert_true(fixture_transmit(fixture));
	set_state(fixture, RNIC_QP_STATE_ERR, 0);
	assert_int_equal(fixture->completion_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(fixture->completions[i].wr_id, i + 1);
		assert_int_equal(fixture->completions[i].status, RNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(fixture->completions[i].is_recv, i == 2);
	}
	fixture_post_receive(fixture, 4, 0, 8);
	qp_flush_receives(fixture->qp);
	assert_int_equal(fixture->completion_count, 4);
	assert_int_equal(fixture_transmit_all(fixture), 0);
	fixture_destroy(fixture);
}

/* However a QP comes into ERR, and whatever fails in ERR: the sink hears of the one step. */
static void test_error_is_told_once(void **state)
{
	const struct rnic_qp_attributes reset = {.state = RNIC_QP_STATE_RESET};
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture->completion_room = 2;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_post_simple(fixture, RNIC_WR_SEND, 2, 8);
	fixture_post_simple(fixture, RNIC_WR_SEND, 3, 8);
	assert_int_equal(fixture_transmit_all(fixture), 3);
	fixture_receive_acknowledge(
		fixture, 100, rnic_syndrome_make(RNIC_SYNDROME_NAK, RNIC_NAK_REMOTE_ACCESS_ERROR));
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
	assert_int_equal(fixture->errors_entered, 1);
	fixture_post_simple(fixture, RNIC_WR_SEND, 4, 8);
	set_state(fixture, RNIC_QP_STATE_ERR, 0);
	assert_int_equal(fixture->errors_entered, 1);
	assert_int_equal(qp_modify(fixture->qp, &reset, RNIC_QP_ATTR_STATE), 0);
	assert_int_equal(fixture->errors_entered, 1);
	fixture_destroy(fixture);
}

/* The sink is told once, and not where nobody asked. */
static void test_room_to_send_is_told(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	for (uint64_t i = 0; send_queue_space(&fixture->qp->send_queue) > 0; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 8);
	fixture_transmit_all(fixture);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	assert_int_equal(fixture->send_spaces, 0);
	qp_await_send_space(fixture->qp);
	fixture_receive_acknowledge(fixture, 102, ACK_SYNDROME);
	assert_int_equal(fixture->send_spaces, 1);
	fixture_receive_acknowledge(fixture, 104, ACK_SYNDROME);
	assert_int_equal(fixture->send_spaces, 1);
	fixture_destroy(fixture);
}

static void test_reset_forgets(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	assert_true(fixture_transmit(fixture));
	set_state(fixture, RNIC_QP_STATE_RESET, 0);
	assert_int_equal(fixture->completion_count, 0);
	assert_int_equal(send_queue_space(&fixture->qp->send_queue), 64);
	assert_true(list_is_empty(&fixture->engine.windows));
	assert_true(engine_next_deadline_ns(&fixture->engine) == UINT64_MAX);
	fixture_destroy(fixture);
}

/* Packets that may not concern the QP are dropped and counted. */
static void test_packets_that_are_dropped(void **state)
{
	enum { UNKNOWN, PKEY, PEER, OWN, SERVICE, ROWS };
	static const enum counter counters[ROWS] = {
		[UNKNOWN] = COUNTER_DROPPED_UNKNOWN_QP, [PKEY] = COUNTER_DROPPED_BAD_PKEY,
		[PEER] = COUNTER_DROPPED_BAD_PEER,	[OWN] = COUNTER_DROPPED_BAD_PEER,
		[SERVICE] = COUNTER_DROPPED_BAD_OPCODE,
	};

	(void)state;
	for (int row = 0; row < ROWS; row++) {
		struct engine_fixture *fixture = fixture_create(&fixture_defaults);
		struct rnic_packet packet = fixture_packet(fixture, RNIC_OPERATION_ACKNOWLEDGE,
							   RNIC_POSITION_ONLY, 100);

		packet.aeth.syndrome = ACK_SYNDROME;
		if (row == UNKNOWN)
			packet.dest_qpn ^= 1;
		else if (row == PKEY)
			packet.pkey = 0x8001;
		else if (row == PEER)
			packet.addresses.source.bytes[15] ^= 1;
		else if (row == OWN)
			packet.addresses.dest.bytes[15] ^= 1;
		else
			packet.row = rnic_opcode_row(0x24); /* UC SEND ONLY */
		fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
		fixture_transmit_all(fixture);
		fixture_receive(fixture, &packet);
		assert_int_equal(fixture->completion_count, 0);
		assert_int_equal(fixture->engine.counters[counters[row]], 1);
		fixture_destroy(fixture);
	}
}

/*
 * One event for each kind of fault, however often it occurs; none for faults that the application
 * asks for.
 */
static void test_trouble_is_told_once(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, 100);

	(void)state;
	packet.pkey = 0x8001;
	for (int i = 0; i < 3; i++)
		fixture_receive(fixture, &packet);
	assert_int_equal(fixture->trouble_log, 1);
	packet.addresses.source.bytes[15] ^= 1;
	packet.pkey = 0xffff;
	for (int i = 0; i < 3; i++) {
		fixture_receive(fixture, &packet);
		packet.pkey ^= 0x7ffe; /* wrong in turns */
	}
	assert_int_equal(fixture->trouble_log, 2);
	set_state(fixture, RNIC_QP_STATE_ERR, 0);
	assert_int_equal(fixture->trouble_log, 2);
	fixture_destroy(fixture);
}

static void test_limited_pkey_is_accepted(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_ACKNOWLEDGE, RNIC_POSITION_ONLY, 100);

	(void)state;
	packet.aeth.syndrome = ACK_SYNDROME;
	packet.pkey = 0x7fff;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completion_count, 1);
	fixture_destroy(fixture);
}

static const char *waiting(const struct engine_fixture *fixture, char *text, uint32_t text_bytes)
{
	return qp_waiting_for(fixture->qp, fixture->now_ns, text, text_bytes);
}

static void test_waiting_for(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	char text[200];

	(void)state;
	fixture_post_simple(fixture, RNIC_WR_SEND, 1, 8);
	fixture_transmit_all(fixture);
	assert_string_equal(waiting(fixture, text, sizeof(text)),
			    "an acknowledgement of PSN 0x64 from 192.0.2.2, retry 0 of 7, next in "
			    "68 ms");
	fixture_receive_acknowledge(fixture, 100, rnic_syndrome_make(RNIC_SYNDROME_RNR_NAK, 14));
	assert_string_equal(
		waiting(fixture, text, sizeof(text)),
		"a receive to be posted by the peer (RNR), retries without end, next in "
		"2 ms");
	fixture_tick(fixture, 10000000);
	fixture_transmit_all(fixture);
	fixture_receive_acknowledge(fixture, 100, ACK_SYNDROME);
	for (uint64_t i = 0; i < 3; i++)
		fixture_post_simple(fixture, RNIC_WR_RDMA_READ, i, 8);
	fixture_transmit_all(fixture);
	fixture_tick(fixture, 68000000);
	fixture_transmit_all(fixture);
	assert_string_equal(waiting(fixture, text, sizeof(text)),
			    "responses of 3 READs or atomics from 192.0.2.2, retry 1 of 7, next in "
			    "135 ms");
	assert_string_equal(waiting(fixture, text, 10), "responses");
	fixture_destroy(fixture);
}

/* The QPs of one path share its window, and the first of them has filled it. */
static void test_waiting_for_the_window(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	char text[200];

	(void)state;
	for (uint64_t i = 0; i < 64; i++)
		fixture_post_simple(fixture, RNIC_WR_SEND, i, 1 << 20);
	while (fixture_transmit(fixture))
		;
	assert_true(list_is_linked(&fixture->qp->path_node));
	assert_non_null(strstr(waiting(fixture, text, sizeof(text)),
			       "an acknowledgement of PSN 0x64 from 192.0.2.2, retry 0 of 7"));
	fixture_destroy(fixture);
}

/* Nothing is to be sent: how long the peer is silent, and whether it was told to wait. */
static void test_waiting_for_the_peer(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_packet packet = fixture_packet(fixture, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY,
						   fixture_defaults.rq_psn);
	char text[200];

	(void)state;
	assert_string_equal(waiting(fixture, text, sizeof(text)),
			    "its program, or 192.0.2.2; no packet came yet");
	fixture_receive(fixture, &packet);
	assert_string_equal(
		waiting(fixture, text, sizeof(text)),
		"its program to post a receive; 192.0.2.2 has sent and was told to wait (RNR)");
	fixture_post_receive(fixture, 1, 0, 100);
	fixture_receive(fixture, &packet);
	fixture->now_ns += 2345000000;
	assert_string_equal(waiting(fixture, text, sizeof(text)),
			    "its program, or 192.0.2.2; the last packet came 2.3 s ago");
	set_state(fixture, RNIC_QP_STATE_ERR, 0);
	assert_string_equal(waiting(fixture, text, sizeof(text)), "");
	fixture_destroy(fixture);
}

/* Each faulty change of a QP in RTS gets the text of its first fault. */
static void test_modify_refusal(void **state)
{
	static const struct {
		uint32_t mask;
		struct rnic_qp_attributes attributes;
		const char *text;
	} rows[] = {
		{RNIC_QP_ATTR_STATE,
		 {.state = RNIC_QP_STATE_INIT},
		 "a queue pair in RTS cannot go to INIT"},
		{RNIC_QP_ATTR_AV | RNIC_QP_ATTR_DEST_QPN,
		 {0},
		 "from RTS to RTS not with IBV_QP_AV, IBV_QP_DEST_QPN"},
		{1u << 31, {0}, "from RTS to RTS not with attributes that are not known"},
		{RNIC_QP_ATTR_ACCESS_FLAGS,
		 {.access_flags = 1 << 10},
		 "the value of IBV_QP_ACCESS_FLAGS is out of range"},
		{RNIC_QP_ATTR_ALTERNATE_PATH,
		 {.alternate_port = 1},
		 "IBV_QP_ALT_PATH: no path migrates on a RoCE device"},
		{RNIC_QP_ATTR_PATH_MIGRATION_STATE,
		 {.path_migration_state = 1},
		 "IBV_QP_PATH_MIG_STATE: no path migrates on a RoCE device"},
		{RNIC_QP_ATTR_CURRENT_STATE,
		 {.current_state = RNIC_QP_STATE_RTR},
		 "cur_qp_state is RTR, and the queue pair is in RTS"},
	};
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	char text[160];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		assert_int_equal(qp_modify(fixture->qp, &rows[i].attributes, rows[i].mask),
				 -EINVAL);
		qp_modify_refusal(fixture->qp, &rows[i].attributes, rows[i].mask, text,
				  sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
	fixture_destroy(fixture);
}

static const uint32_t to_rtr = RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU |
			       RNIC_QP_ATTR_DEST_QPN | RNIC_QP_ATTR_RQ_PSN |
			       RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER;

/* Of a QP in INIT, which is to have a peer. */
static void test_modify_refusal_of_a_path(void **state)
{
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_INIT, .port = 1};
	struct qp *qp = fixture->qp;
	char text[160];

	(void)state;
	set_state(fixture, RNIC_QP_STATE_RESET, 0);
	assert_int_equal(qp_modify(qp, &attributes,
				   RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PORT |
					   RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_ACCESS_FLAGS),
			 0);
	attributes = (struct rnic_qp_attributes){.state = RNIC_QP_STATE_RTR, .path_mtu = 3};
	qp_modify_refusal(qp, &attributes, to_rtr & ~(uint32_t)RNIC_QP_ATTR_RQ_PSN, text,
			  sizeof(text));
	assert_string_equal(text, "from INIT to RTR without IBV_QP_RQ_PSN");
	qp_modify_refusal(qp, &attributes, to_rtr, text, sizeof(text));
	assert_string_equal(text, "the address vector has no GID of the peer; RoCE needs is_global "
				  "and grh.dgid: give both programs a GID index (-g, -x)");
	attributes.path = (struct rnic_path){
		.dest_gid = fixture->peer_gid, .is_global = 1, .source_gid_index = 9, .port = 1};
	qp_modify_refusal(qp, &attributes, to_rtr, text, sizeof(text));
	assert_string_equal(text, "there is no GID with index 9");
	attributes.path.source_gid_index = 0;
	attributes.path.port = 2;
	qp_modify_refusal(qp, &attributes, to_rtr, text, sizeof(text));
	assert_string_equal(text, "the address vector names port 2; there is port 1");
	attributes.path.port = 1;
	attributes.path.dest_gid = (struct rnic_gid){{0xfe, 0x80, [15] = 2}};
	assert_int_equal(qp_modify(qp, &attributes, to_rtr), -EINVAL);
	qp_modify_refusal(qp, &attributes, to_rtr, text, sizeof(text));
	assert_string_equal(text, "the peer's GID is an IPv6 address, and that with index 0 here "
				  "is not: give each program the index (-g, -x) of an address that "
				  "reaches the other");
	fixture_destroy(fixture);
}

/* All QPNs of an engine with a lane have its top byte, and no engine has the control plane's. */
static void test_lane(void **state)
{
	enum { QPS = 300 };
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	struct engine_config config = fixture->engine.config;
	const struct qp_config qp_config = {
		.type = RNIC_QP_TYPE_UC,
		.pd = &fixture->pd,
		.send_cq = &fixture->send_cq,
		.recv_cq = &fixture->recv_cq,
	};
	struct engine engine;
	struct qp *qps[QPS];

	(void)state;
	config.lane = RNIC_LANE_ZERO;
	assert_int_equal(engine_init(&engine, &config), -EINVAL);
	config.lane = RNIC_LANE_LAST + 1;
	assert_int_equal(engine_init(&engine, &config), -EINVAL);
	config.lane = 0x9c;
	assert_int_equal(engine_init(&engine, &config), 0);
	for (int i = 0; i < QPS; i++) {
		assert_int_equal(qp_create(&engine, &qp_config, &qps[i]), 0);
		assert_int_equal(qps[i]->qpn >> RNIC_LANE_BITS, 0x9c);
	}
	for (int i = 0; i < QPS; i++)
		qp_destroy(qps[i]);
	engine_fini(&engine);
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_refuses),
		cmocka_unit_test(test_lane),
		cmocka_unit_test(test_modify_is_atomic),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_drain_without_depth),
		cmocka_unit_test(test_error_flushes_both_queues),
		cmocka_unit_test(test_error_is_told_once),
		cmocka_unit_test(test_room_to_send_is_told),
		cmocka_unit_test(test_reset_forgets),
		cmocka_unit_test(test_packets_that_are_dropped),
		cmocka_unit_test(test_trouble_is_told_once),
		cmocka_unit_test(test_limited_pkey_is_accepted),
		cmocka_unit_test(test_waiting_for),
		cmocka_unit_test(test_waiting_for_the_window),
		cmocka_unit_test(test_waiting_for_the_peer),
		cmocka_unit_test(test_modify_refusal),
		cmocka_unit_test(test_modify_refusal_of_a_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
