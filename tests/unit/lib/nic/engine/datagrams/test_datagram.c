/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/datagrams/datagram.h"

#include "lib/nic/engine/objects/ah.h"
#include "proto/wire/gid.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define HEADER_BYTES 40

struct bench {
	struct engine_fixture *fixture;
	struct ah ah;
	struct pd other_pd;
	struct ah foreign_ah;
};

static struct bench bench_start_with(bool is_batched)
{
	struct fixture_options options = fixture_defaults;
	struct bench bench = {0};
	struct rnic_path path = {.hop_limit = 33, .traffic_class = 44, .port = 1, .is_global = 1};

	options.type = RNIC_QP_TYPE_UD;
	options.is_batched = is_batched;
	bench.fixture = fixture_create(&options);
	path.dest_gid = rnic_gid_from_ipv4((const uint8_t[]){198, 51, 100, 7});
	assert_int_equal(ah_init(&bench.fixture->engine, &bench.ah, &bench.fixture->pd, &path), 0);
	return bench;
}

static struct bench bench_start(void)
{
	return bench_start_with(false);
}

static void bench_stop(struct bench *bench)
{
	ah_fini(&bench->ah);
	fixture_destroy(bench->fixture);
}

static void post(struct bench *bench, const struct ah *ah, uint32_t qkey, uint32_t length)
{
	struct send_wqe wqe = fixture_work(RNIC_WR_SEND, 9, length);
	struct rnic_sge sge = fixture_sge(bench->fixture, 0, length);

	wqe.datagram.ah = ah;
	wqe.datagram.remote_qpn = 0xabcdef;
	wqe.datagram.remote_qkey = qkey;
	fixture_post(bench->fixture, &wqe, &sge);
}

static void a_datagram_carries_its_address(void **state)
{
	struct bench bench = bench_start();
	const struct rnic_packet *packet = &bench.fixture->sent.packet;

	(void)state;
	post(&bench, &bench.ah, 0x1234, 700);
	memset(&bench.ah.path, 0, sizeof(bench.ah.path)); /* the entry has its own copy */
	assert_true(fixture_transmit(bench.fixture));
	assert_string_equal(packet->row->name, "UD SEND ONLY");
	assert_int_equal(packet->dest_qpn, 0xabcdef);
	assert_int_equal(packet->qkey, 0x1234);
	assert_int_equal(packet->source_qpn, bench.fixture->qp->qpn);
	assert_int_equal(packet->psn.value, fixture_defaults.sq_psn);
	assert_int_equal(packet->addresses.hop_limit, 33);
	assert_int_equal(packet->addresses.traffic_class, 44);
	assert_int_equal(packet->addresses.dest.bytes[15], 7);
	assert_memory_equal(&packet->addresses.source, &bench.fixture->own_gid, 16);
	assert_false(packet->ack_request);
	assert_int_equal(bench.fixture->completion_count, 0);
	engine_packets_read(&bench.fixture->engine, bench.fixture->now_ns);
	assert_int_equal(bench.fixture->completion_count, 1);
	assert_int_equal(bench.fixture->completions[0].status, RNIC_WC_SUCCESS);
	bench_stop(&bench);
}

/* As Linux does when it resolves RoCE addresses: programs that ask for 1 reach past a router. */
static void the_interface_sets_the_hop_limit(void **state)
{
	static const struct {
		uint8_t dest[4];
		uint8_t ipv4, expected;
	} cases[] = {
		{{198, 51, 100, 7}, 64, 64},
		{{198, 51, 100, 7}, 0, 33},
		{{239, 51, 100, 7}, 64, 33},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct bench bench = bench_start();
		struct rnic_path path = bench.ah.path;
		struct ah ah;

		path.dest_gid = rnic_gid_from_ipv4(cases[i].dest);
		engine_set_hop_limits(&bench.fixture->engine, cases[i].ipv4, 99);
		assert_int_equal(ah_init(&bench.fixture->engine, &ah, &bench.fixture->pd, &path),
				 0);
		assert_int_equal(ah.path.hop_limit, cases[i].expected);
		ah_fini(&ah);
		bench_stop(&bench);
	}
}

/* IBTA 1.4, 10.2.5: with the highest bit set the QP's own Q_Key goes out. */
static void the_controlled_qkey_is_the_qps(void **state)
{
	struct bench bench = bench_start();

	(void)state;
	post(&bench, &bench.ah, 0x80000000, 1);
	assert_true(fixture_transmit(bench.fixture));
	assert_int_equal(bench.fixture->sent.packet.qkey, FIXTURE_QKEY);
	engine_packets_read(&bench.fixture->engine, bench.fixture->now_ns);
	bench_stop(&bench);
}

/* A faulty send stops the sends until the QP is brought back to RTS. */
static void wrong_sends_lead_into_sqe(void **state)
{
	struct bench bench = bench_start();
	struct engine_fixture *fixture = bench.fixture;
	const struct rnic_qp_attributes to_rts = {.state = RNIC_QP_STATE_RTS};
	const struct {
		const struct ah *ah;
		uint32_t length;
		enum rnic_wc_status status;
	} cases[] = {
		{&bench.ah, RNIC_PAYLOAD_BYTES_MAX + 1, RNIC_WC_LOC_LEN_ERR},
		{&bench.foreign_ah, 100, RNIC_WC_LOC_QP_OP_ERR},
		{NULL, 100, RNIC_WC_LOC_QP_OP_ERR},
	};

	(void)state;
	bench.foreign_ah = (struct ah){.pd = &bench.other_pd, .path = bench.ah.path};
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		uint32_t before = fixture->completion_count;

		post(&bench, cases[i].ah, 1, cases[i].length);
		post(&bench, &bench.ah, 1, 100);
		assert_false(fixture_transmit(fixture));
		assert_int_equal(fixture->completion_count, before + 2);
		assert_int_equal(fixture->completions[before].status, cases[i].status);
		assert_int_equal(fixture->completions[before + 1].status, RNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(fixture->qp->state, RNIC_QP_STATE_SQE);
		post(&bench, &bench.ah, 1, 100);
		assert_int_equal(fixture->completions[before + 2].status, RNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(qp_modify(fixture->qp, &to_rts, RNIC_QP_ATTR_STATE), 0);
		post(&bench, &bench.ah, 1, 100);
		assert_true(fixture_transmit(fixture));
		engine_packets_read(&fixture->engine, fixture->now_ns);
		assert_int_equal(fixture->completions[before + 3].status, RNIC_WC_SUCCESS);
	}
	bench_stop(&bench);
}

/* Packets built before are done; the QP sends no packet whose payload could not be read. */
static void payload_that_cannot_be_read_stops_the_sends(void **state)
{
	struct bench bench = bench_start();
	struct engine_fixture *fixture = bench.fixture;
	uint32_t psn = fixture_defaults.sq_psn;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		post(&bench, &bench.ah, 1, 100);
	assert_int_equal(fixture_transmit_all(fixture), 3);
	engine_payload_failed(&fixture->engine, fixture->qp, rnic_psn(psn + 1), false, -14,
			      fixture->now_ns);
	engine_packets_read(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, 3);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_SUCCESS);
	assert_int_equal(fixture->completions[1].status, RNIC_WC_LOC_PROT_ERR);
	assert_int_equal(fixture->completions[2].status, RNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_SQE);
	bench_stop(&bench);
}

static struct rnic_packet datagram(const struct engine_fixture *fixture, const uint8_t *payload,
				   uint32_t bytes)
{
	struct rnic_packet packet =
		fixture_packet(fixture, RNIC_OPERATION_SEND, RNIC_POSITION_ONLY, 5);

	packet.addresses.hop_limit = 61;
	packet.payload = payload;
	packet.payload_bytes = bytes;
	return packet;
}

static void a_receive_shows_header_and_payload(void **state)
{
	static const uint8_t payload[] = "the payload";
	struct bench bench = bench_start();
	struct engine_fixture *fixture = bench.fixture;
	struct rnic_packet packet = datagram(fixture, payload, sizeof(payload));
	const uint8_t *bytes = fixture->memory.bytes + 5000;
	const struct cqe *cqe = &fixture->completions[0];
	static const uint8_t zeros[20];

	(void)state;
	fixture_post_receive(fixture, 77, 5000, HEADER_BYTES + sizeof(payload));
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(cqe->wr_id, 77);
	assert_int_equal(cqe->status, RNIC_WC_SUCCESS);
	assert_int_equal(cqe->byte_count, HEADER_BYTES + sizeof(payload));
	assert_int_equal(cqe->source_qpn, FIXTURE_DEST_QPN);
	assert_int_equal(cqe->wc_flags, RNIC_WC_GRH);
	assert_int_equal(cqe->service_level, RNIC_WC_SL_IPV4);
	assert_memory_equal(bytes, zeros, sizeof(zeros));
	assert_int_equal(bytes[20], 0x45);
	assert_int_equal(bytes[28], 61);
	assert_memory_equal(bytes + 32, fixture->peer_gid.bytes + 12, 4);
	assert_memory_equal(bytes + 36, fixture->own_gid.bytes + 12, 4);
	assert_memory_equal(bytes + HEADER_BYTES, payload, sizeof(payload));
	bench_stop(&bench);
}

#define BATCH	    (PLACEMENT_HEADERS_MAX + 22)
#define PLACE_BYTES 64

/* Datagram `i` of a batch into a receive of its own. */
static void receive_in_batch(struct engine_fixture *fixture, const uint8_t *payload, uint32_t i)
{
	struct rnic_packet packet = datagram(fixture, payload, 1);

	packet.addresses.hop_limit = (uint8_t)i;
	fixture_post_receive(fixture, i, i * PLACE_BYTES, PLACE_BYTES);
	engine_receive(&fixture->engine, &packet, fixture->now_ns);
}

/* One system call places many datagrams, so the headers of all must stay. */
static void datagrams_of_a_batch_are_placed_together(void **state)
{
	struct bench bench = bench_start_with(true);
	struct engine_fixture *fixture = bench.fixture;
	uint8_t payloads[BATCH];

	(void)state;
	for (uint32_t i = 0; i < BATCH; i++) {
		payloads[i] = (uint8_t)(255 - i);
		receive_in_batch(fixture, &payloads[i], i);
		assert_int_equal(fixture->completion_count,
				 i < PLACEMENT_HEADERS_MAX ? 0 : PLACEMENT_HEADERS_MAX);
	}
	engine_flush(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, BATCH);
	for (uint32_t i = 0; i < BATCH; i++) {
		const uint8_t *bytes = fixture->memory.bytes + i * PLACE_BYTES;

		assert_int_equal(fixture->completions[i].wr_id, i);
		assert_int_equal(bytes[28], (uint8_t)i);
		assert_int_equal(bytes[HEADER_BYTES], payloads[i]);
	}
	bench_stop(&bench);
}

static void a_datagram_of_a_batch_fails_alone(void **state)
{
	static const enum rnic_wc_status statuses[] = {RNIC_WC_SUCCESS, RNIC_WC_SUCCESS,
						       RNIC_WC_LOC_PROT_ERR, RNIC_WC_WR_FLUSH_ERR};
	struct bench bench = bench_start_with(true);
	struct engine_fixture *fixture = bench.fixture;
	const uint8_t payload = 1;

	(void)state;
	fixture->memory.gone_from = 2 * PLACE_BYTES;
	for (uint32_t i = 0; i < RNIC_COUNT_OF(statuses); i++)
		receive_in_batch(fixture, &payload, i);
	engine_flush(&fixture->engine, fixture->now_ns);
	assert_int_equal(fixture->completion_count, RNIC_COUNT_OF(statuses));
	for (uint32_t i = 0; i < RNIC_COUNT_OF(statuses); i++)
		assert_int_equal(fixture->completions[i].status, statuses[i]);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
	bench_stop(&bench);
}

static void a_receive_says_that_it_came_by_ipv6(void **state)
{
	struct bench bench = bench_start();
	struct engine_fixture *fixture = bench.fixture;
	struct rnic_packet packet = datagram(fixture, NULL, 0);

	(void)state;
	packet.addresses.source.bytes[0] = 0xfd;
	packet.addresses.dest.bytes[0] = 0xfd;
	fixture_post_receive(fixture, 77, 5000, HEADER_BYTES);
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].service_level, RNIC_WC_SL_IPV6);
	assert_int_equal(fixture->memory.bytes[5000], 0x60);
	bench_stop(&bench);
}

/* Its own GID, or one of the family of its multicast group. */
static void a_receive_says_from_where_to_answer(void **state)
{
	static const struct {
		struct rnic_gid dest;
		uint32_t index;
	} cases[] = {
		{{{0xfd, 2}}, 2},
		{{{0xff, 0x12, 9}}, 2},
		{{{[10] = 0xff, 0xff, 192, 0, 2, 1}}, 0},
		{{{[10] = 0xff, 0xff, 239, 1, 2, 3}}, 0},
	};
	struct bench bench = bench_start();
	struct engine_fixture *fixture = bench.fixture;
	struct rnic_packet packet = datagram(fixture, NULL, 0);

	(void)state;
	engine_set_gid(&fixture->engine, 2, &cases[0].dest);
	for (uint32_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		assert_int_equal(engine_gid_index(&fixture->engine, &cases[i].dest),
				 cases[i].index);
		if (rnic_gid_is_multicast(&cases[i].dest))
			continue;
		packet.addresses.dest = cases[i].dest;
		fixture_post_receive(fixture, 77, 5000, HEADER_BYTES);
		fixture_receive(fixture, &packet);
		assert_int_equal(
			fixture->completions[fixture->completion_count - 1].source_gid_index,
			cases[i].index);
	}
	bench_stop(&bench);
}

static void what_cannot_be_received_is_dropped_and_counted(void **state)
{
	static const uint8_t payload[100];
	struct bench bench = bench_start();
	struct engine_fixture *fixture = bench.fixture;
	const uint64_t *counters = fixture->engine.counters;
	struct rnic_packet packet = datagram(fixture, payload, sizeof(payload));

	(void)state;
	packet.qkey++;
	fixture_receive(fixture, &packet);
	assert_int_equal(counters[COUNTER_DROPPED_BAD_QKEY], 1);
	packet.qkey--;
	fixture_receive(fixture, &packet);
	assert_int_equal(counters[COUNTER_DROPPED_NO_RECEIVE], 1);
	fixture_post_receive(fixture, 1, 0, HEADER_BYTES + sizeof(payload) - 1);
	fixture_receive(fixture, &packet);
	assert_int_equal(counters[COUNTER_DROPPED_MESSAGES], 2);
	assert_int_equal(fixture->completion_count, 0);
	packet.payload_bytes--; /* the receive is still there */
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_RTS);
	assert_int_equal(fixture->event_count, 0);
	bench_stop(&bench);
}

static void a_receive_without_rights_is_an_error_of_ours(void **state)
{
	struct bench bench = bench_start();
	struct engine_fixture *fixture = bench.fixture;
	struct rnic_packet packet = datagram(fixture, NULL, 0);

	(void)state;
	fixture->mr.access = 0;
	fixture_post_receive(fixture, 1, 0, 100);
	fixture_receive(fixture, &packet);
	assert_int_equal(fixture->completion_count, 1);
	assert_int_equal(fixture->completions[0].status, RNIC_WC_LOC_PROT_ERR);
	assert_int_equal(fixture->qp->state, RNIC_QP_STATE_ERR);
	bench_stop(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_datagram_carries_its_address),
		cmocka_unit_test(the_interface_sets_the_hop_limit),
		cmocka_unit_test(the_controlled_qkey_is_the_qps),
		cmocka_unit_test(wrong_sends_lead_into_sqe),
		cmocka_unit_test(payload_that_cannot_be_read_stops_the_sends),
		cmocka_unit_test(a_receive_shows_header_and_payload),
		cmocka_unit_test(datagrams_of_a_batch_are_placed_together),
		cmocka_unit_test(a_datagram_of_a_batch_fails_alone),
		cmocka_unit_test(a_receive_says_that_it_came_by_ipv6),
		cmocka_unit_test(a_receive_says_from_where_to_answer),
		cmocka_unit_test(what_cannot_be_received_is_dropped_and_counted),
		cmocka_unit_test(a_receive_without_rights_is_an_error_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
