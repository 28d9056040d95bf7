/* SPDX-License-Identifier: MIT */
/* Which packets get to the engine of a lane, and which go to others. */
#include "lib/nic/path/data_path.h"

#include "proto/base/bits.h"
#include "proto/base/lane.h"
#include "proto/base/time_units.h"
#include "proto/wire/icrc.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

#define PAYLOAD_BYTES 8
#define OTHER_LANE    0xc0
#define BATCH	      20
#define NOBODYS_QPN   2
#define MANY_QPS      600 /* more than the cache holds: prefetch.h */

/* A port at which one datagram arrives, and others before it. */
struct bench {
	struct port port;
	struct datagram arrival;
	bool has_arrival;
	struct datagram earlier[BATCH + 1];
	uint8_t earlier_bytes[BATCH + 1][64];
	uint32_t earlier_count;
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	struct engine_fixture *fixture;
	struct data_path path;
	uint32_t misrouted;
	uint8_t misrouted_bytes[RNIC_PACKET_BYTES_MAX];
	uint32_t misrouted_length;
	uint64_t received_ns; /* of bench_receive_from() */
};

static uint32_t arrive(struct port *port, struct datagram *into, uint32_t max, uint64_t now_ns)
{
	struct bench *bench = RNIC_CONTAINER_OF(port, struct bench, port);

	(void)now_ns;
	if (!bench->has_arrival || max == 0)
		return 0;
	bench->has_arrival = false;
	memcpy(into, bench->earlier, bench->earlier_count * sizeof(*into));
	into[bench->earlier_count] = bench->arrival;
	return bench->earlier_count + 1;
}

static uint32_t take_all(struct port *port, struct datagram *datagrams, uint32_t count,
			 uint64_t now_ns)
{
	(void)port;
	(void)datagrams;
	(void)now_ns;
	return count;
}

static uint64_t bench_never(const struct port *port)
{
	(void)port;
	return UINT64_MAX;
}

static const struct port_ops arriving_ops = {
	.receive = arrive,
	.transmit = take_all,
	.next_deadline_ns = bench_never,
};

/* Loses the second one. */
static bool keep_misrouted(void *context, const struct datagram *datagram)
{
	struct bench *bench = context;

	bench->misrouted++;
	bench->misrouted_length = datagram->length;
	memcpy(bench->misrouted_bytes, datagram->bytes, datagram->length);
	return bench->misrouted != 2;
}

/* The engine's QPN is in the lane that the data path has. */
static struct bench *bench_create(void)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->fixture = fixture_create(&fixture_defaults);
	bench->port.ops = &arriving_ops;
	assert_int_equal(data_path_init(&bench->path, &bench->fixture->engine, &bench->port), 0);
	data_path_set_lane(&bench->path, rnic_lane_of(bench->fixture->qp->qpn), keep_misrouted,
			   bench);
	fixture_post_receive(bench->fixture, 1, 0, PAYLOAD_BYTES);
	return bench;
}

static void bench_destroy(struct bench *bench)
{
	data_path_fini(&bench->path);
	fixture_destroy(bench->fixture);
	free(bench);
}

/* The bytes of a SEND to `dest_qpn`, with its ICRC. */
static struct datagram bench_packet(struct bench *bench, uint32_t dest_qpn)
{
	struct rnic_packet packet = fixture_packet(bench->fixture, RNIC_OPERATION_SEND,
						   RNIC_POSITION_ONLY, fixture_defaults.rq_psn);
	uint32_t length;

	packet.dest_qpn = dest_qpn;
	packet.ack_request = true;
	packet.payload_bytes = PAYLOAD_BYTES;
	packet.addresses.hop_limit = 64;
	memset(bench->bytes + rnic_packet_encode_headers(&packet, bench->bytes), 0x5a,
	       PAYLOAD_BYTES);
	length = rnic_packet_bytes(&packet);
	rnic_icrc_write(bench->bytes + length,
			rnic_icrc_compute(&packet.addresses, 0, bench->bytes, length));
	return (struct datagram){
		.addresses = packet.addresses,
		.bytes = bench->bytes,
		.length = length + RNIC_ICRC_BYTES,
	};
}

static void bench_receive(struct bench *bench, uint32_t dest_qpn)
{
	bench->arrival = bench_packet(bench, dest_qpn);
	bench->has_arrival = true;
	receive_run(&bench->path.receive, bench->fixture->now_ns);
}

/* The packet arrives together with the next bench_receive(). */
static void bench_receive_with_next(struct bench *bench, uint32_t dest_qpn)
{
	struct datagram datagram = bench_packet(bench, dest_qpn);
	uint8_t *bytes = bench->earlier_bytes[bench->earlier_count];

	assert_true(datagram.length <= sizeof(bench->earlier_bytes[0]));
	memcpy(bytes, bench->bytes, datagram.length);
	datagram.bytes = bytes;
	bench->earlier[bench->earlier_count++] = datagram;
}

static uint64_t unknown_of(const struct bench *bench)
{
	return bench->fixture->engine.counters[COUNTER_DROPPED_UNKNOWN_QP];
}

static void test_own_packet(void **state)
{
	struct bench *bench = bench_create();

	(void)state;
	bench_receive(bench, bench->fixture->qp->qpn);
	assert_int_equal(bench->fixture->completion_count, 1);
	assert_int_equal(bench->misrouted, 0);
	bench_destroy(bench);
}

/* A misrouted packet comes whole to the owner, and nothing of it to the engine. */
static void test_misrouted(void **state)
{
	static const uint32_t qpns[] = {1, OTHER_LANE << RNIC_LANE_BITS | 5, 0xfeffff};
	struct bench *bench = bench_create();

	(void)state;
	data_path_set_lane(&bench->path, 0x80, keep_misrouted, bench);
	for (uint32_t i = 0; i < RNIC_COUNT_OF(qpns); i++) {
		bench_receive(bench, qpns[i]);
		assert_int_equal(bench->misrouted, i + 1);
		assert_int_equal(bench->path.receive.misrouted, i + 1);
		assert_int_equal(bench->path.receive.lost_misrouted, i >= 1);
		assert_int_equal(bench->misrouted_length, bench->arrival.length);
		assert_memory_equal(bench->misrouted_bytes, bench->bytes, bench->misrouted_length);
	}
	assert_int_equal(bench->fixture->engine.counters[COUNTER_RECEIVED_PACKETS], 0);
	data_path_set_lane(&bench->path, 0x80, NULL, NULL);
	bench_receive(bench, qpns[0]);
	assert_int_equal(bench->path.receive.misrouted, RNIC_COUNT_OF(qpns) + 1);
	assert_int_equal(bench->path.receive.lost_misrouted, 2);
	bench_destroy(bench);
}

/* What nobody has, what is damaged, and all packets of a device without lanes stay here. */
static void test_none_misrouted(void **state)
{
	struct bench *bench = bench_create();

	(void)state;
	bench_receive(bench, RNIC_MULTICAST_QPN);
	bench_receive(bench, 0xff0000);
	assert_int_equal(unknown_of(bench), 2);
	bench->arrival = bench_packet(bench, OTHER_LANE << RNIC_LANE_BITS);
	bench->bytes[20] ^= 1;
	bench->has_arrival = true;
	receive_run(&bench->path.receive, bench->fixture->now_ns);
	assert_int_equal(bench->path.receive.icrc.bad, 1);
	bench->arrival = bench_packet(bench, OTHER_LANE << RNIC_LANE_BITS);
	bench->arrival.length = 5;
	bench->has_arrival = true;
	receive_run(&bench->path.receive, bench->fixture->now_ns);
	assert_int_equal(bench->path.receive.icrc.bad, 2);
	data_path_set_lane(&bench->path, RNIC_LANE_NONE, keep_misrouted, bench);
	bench_receive(bench, OTHER_LANE << RNIC_LANE_BITS);
	assert_int_equal(unknown_of(bench), 3);
	assert_int_equal(bench->misrouted, 0);
	bench_destroy(bench);
}

/* A packet that another process handed on completes; one for a third lane goes no further. */
static void test_delivered(void **state)
{
	struct bench *bench = bench_create();
	struct datagram datagram = bench_packet(bench, OTHER_LANE << RNIC_LANE_BITS);

	(void)state;
	data_path_deliver(&bench->path, &datagram.addresses, datagram.bytes, datagram.length,
			  bench->fixture->now_ns);
	assert_int_equal(unknown_of(bench), 1);
	datagram = bench_packet(bench, bench->fixture->qp->qpn);
	for (uint32_t length = 0; length < RNIC_BTH_BYTES + RNIC_ICRC_BYTES; length++)
		data_path_deliver(&bench->path, &datagram.addresses, datagram.bytes, length,
				  bench->fixture->now_ns);
	assert_int_equal(bench->path.receive.icrc.bad, RNIC_BTH_BYTES + RNIC_ICRC_BYTES);
	assert_int_equal(bench->fixture->completion_count, 0);
	/* Damaged, on the wire or by the process that passed it on. */
	datagram.bytes[datagram.length - RNIC_ICRC_BYTES - 1] ^= 1;
	data_path_deliver(&bench->path, &datagram.addresses, datagram.bytes, datagram.length,
			  bench->fixture->now_ns);
	assert_int_equal(bench->fixture->completion_count, 0);
	assert_int_equal(bench->path.receive.icrc.bad, RNIC_BTH_BYTES + RNIC_ICRC_BYTES + 1);
	datagram.bytes[datagram.length - RNIC_ICRC_BYTES - 1] ^= 1;
	data_path_deliver(&bench->path, &datagram.addresses, datagram.bytes, datagram.length,
			  bench->fixture->now_ns);
	assert_int_equal(bench->fixture->completion_count, 1);
	assert_int_equal(bench->fixture->memory.bytes[0], 0x5a);
	assert_int_equal(bench->misrouted, 0);
	bench_destroy(bench);
}

/* Each packet of a batch comes to its queue pair, whatever the packets beside it are. */
static void test_batch_to_many_queue_pairs(void **state)
{
	struct bench *bench = bench_create();
	struct qp *qps[MANY_QPS];

	(void)state;
	data_path_set_lane(&bench->path, RNIC_LANE_NONE, NULL, NULL);
	for (uint32_t i = 0; i < MANY_QPS; i++)
		qps[i] = fixture_create_qp(bench->fixture, &fixture_defaults);
	for (uint32_t i = 0; i < BATCH; i++)
		bench_receive_with_next(bench, qps[i * (MANY_QPS / BATCH)]->qpn);
	bench->earlier[3].length = 5;
	bench_receive_with_next(bench, NOBODYS_QPN);
	bench_receive(bench, bench->fixture->qp->qpn);
	for (uint32_t i = 0; i < MANY_QPS; i++) {
		assert_int_equal(qps[i]->counters.received_packets,
				 i % (MANY_QPS / BATCH) == 0 && i / (MANY_QPS / BATCH) != 3);
		qp_destroy(qps[i]);
	}
	assert_int_equal(bench->path.receive.icrc.bad, 1);
	assert_int_equal(unknown_of(bench), 1);
	assert_int_equal(bench->fixture->completion_count, 1);
	bench_destroy(bench);
}

static uint32_t take_no_work(void *context)
{
	(void)context;
	return 0;
}

/* A path sends what the engine has, and has no deadline of its own. */
static void test_turn(void **state)
{
	struct bench *bench = bench_create();

	(void)state;
	assert_int_equal(data_path_next_deadline_ns(&bench->path), UINT64_MAX);
	assert_int_equal(data_path_turn(&bench->path, take_no_work, NULL, bench->fixture->now_ns),
			 0);
	data_path_set_lane(&bench->path, RNIC_LANE_NONE, NULL, NULL);
	bench_receive(bench, bench->fixture->qp->qpn);
	assert_true(data_path_has_work(&bench->path)); /* the acknowledgement */
	assert_int_equal(data_path_turn(&bench->path, take_no_work, NULL, bench->fixture->now_ns),
			 1);
	bench_destroy(bench);
}

/*
 * What adapters send and rnicd does not: Huawei's SEND from a low port with a reserved bit, and
 * ConnectX' notification with MigReq 0 and a class of its own.
 */
static void test_packets_of_adapters(void **state)
{
	static const struct {
		uint16_t source_port;
		uint8_t traffic_class, reserved;
		bool is_notification, migrated;
	} rows[] = {
		{69, 0x02, 0x10, false, true},	  {64079, 0x02, 0x3f, false, true},
		{61000, 0, 0x00, false, false},	  {69, 0xc2, 0x40, true, false},
		{56238, 0x89, 0x7f, true, false}, {0, 0xc2, 0x40, true, false},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		struct bench *bench = bench_create();
		struct datagram *arrival = &bench->arrival;
		const uint64_t *counters = bench->fixture->engine.counters;

		*arrival = bench_packet(bench, bench->fixture->qp->qpn);
		if (rows[i].is_notification)
			arrival->bytes[0] = 0x81;
		if (rows[i].is_notification)
			arrival->length = RNIC_BTH_BYTES + 16 + RNIC_ICRC_BYTES;
		arrival->bytes[1] = (uint8_t)(rows[i].migrated ? 0x40 : 0);
		arrival->bytes[4] = rows[i].reserved;
		arrival->addresses.source_port = rows[i].source_port;
		arrival->addresses.traffic_class = rows[i].traffic_class;
		rnic_icrc_write(arrival->bytes + arrival->length - RNIC_ICRC_BYTES,
				rnic_icrc_compute(&arrival->addresses, 0, arrival->bytes,
						  arrival->length - RNIC_ICRC_BYTES));
		bench->has_arrival = true;
		receive_run(&bench->path.receive, bench->fixture->now_ns);
		assert_int_equal(bench->path.receive.undecodable, 0);
		assert_int_equal(bench->fixture->completion_count, !rows[i].is_notification);
		assert_int_equal(counters[COUNTER_CNPS_RECEIVED], rows[i].is_notification);
		assert_int_equal(bench->fixture->qp->last_error, VERDICT_PASS);
		bench_destroy(bench);
	}
}

/* A packet of `source`, whose last byte of payload is damaged where `is_bad`. */
static void bench_receive_from(struct bench *bench, uint8_t source, bool is_bad)
{
	struct datagram datagram = bench_packet(bench, bench->fixture->qp->qpn);
	struct icrc_check *check = &bench->path.receive.icrc;
	uint16_t identification = 0;

	datagram.addresses.source.bytes[15] = source;
	datagram.received_ns = bench->received_ns;
	rnic_icrc_write(datagram.bytes + datagram.length - RNIC_ICRC_BYTES,
			rnic_icrc_compute(&datagram.addresses, identification, datagram.bytes,
					  datagram.length - RNIC_ICRC_BYTES));
	datagram.bytes[RNIC_BTH_BYTES] ^= is_bad;
	assert_int_equal(icrc_check_is_good(check, &datagram), !is_bad);
}

/* Who sends nothing else is named, now and then; who sends good ones between is not. */
static void test_wrong_icrcs_in_a_row(void **state)
{
	struct bench *bench = bench_create();
	struct icrc_check *check = &bench->path.receive.icrc;
	struct icrc_suspect accused;
	uint32_t times = 0;

	(void)state;
	for (uint32_t i = 1; i <= 600; i++) {
		bench_receive_from(bench, 1, true);
		bench_receive_from(bench, 2, i % 5 != 0);
		for (uint8_t other = 0; other < 2; other++)
			bench_receive_from(bench, 10 + other, i < 7);
		if (!icrc_check_take_accused(check, &accused))
			continue;
		assert_int_equal(accused.source.bytes[15], 1);
		assert_int_equal(accused.bad, i);
		times++;
	}
	assert_int_equal(times, 3);
	assert_int_equal(check->suspect_count, 1);
	bench_destroy(bench);
}

/* A connection request that is repeated after seconds is named at the second. */
static void test_wrong_icrcs_now_and_then(void **state)
{
	struct bench *bench = bench_create();
	struct icrc_check *check = &bench->path.receive.icrc;
	struct icrc_suspect accused;

	(void)state;
	for (uint32_t i = 1; i <= 4; i++) {
		bench->received_ns = i * RNIC_NS_PER_SECOND;
		bench_receive_from(bench, 1, true);
		assert_int_equal(icrc_check_take_accused(check, &accused), i == 2);
		bench_receive_from(bench, 2, true);
		bench_receive_from(bench, 2, false);
		assert_false(icrc_check_take_accused(check, &accused));
	}
	assert_int_equal(accused.bad, 2);
	bench_destroy(bench);
}

/* A packet of a sender that counts; `pattern` damages it where it is not 0. */
static struct datagram bench_counted(struct bench *bench, uint16_t identification, uint32_t pattern)
{
	struct datagram datagram = bench_packet(bench, bench->fixture->qp->qpn);

	datagram.received_ns = bench->fixture->now_ns;
	rnic_icrc_write(datagram.bytes + datagram.length - RNIC_ICRC_BYTES,
			rnic_icrc_compute(&datagram.addresses, identification, datagram.bytes,
					  datagram.length - RNIC_ICRC_BYTES));
	for (uint32_t i = 0; i < sizeof(pattern); i++)
		datagram.bytes[RNIC_BTH_BYTES + i] ^= (uint8_t)(pattern >> 8 * i);
	return datagram;
}

/* A damage that an identification far from `identification` explains: one in 32,768 is. */
static uint32_t bench_explained_damage(struct bench *bench, uint16_t identification)
{
	for (uint32_t pattern = 1; pattern < 1000000; pattern++) {
		struct datagram datagram = bench_counted(bench, identification, pattern);
		uint16_t found = 0;

		if (rnic_icrc_check(&datagram.addresses, datagram.bytes, datagram.length, &found) ==
			    RNIC_ICRC_GOOD_FOR_ID &&
		    (uint16_t)(found - identification + 1000) > 2000 && found > 1000)
			return pattern;
	}
	fail();
	return 0;
}

/* A damaged packet whose ICRC is right for an identification that its sender cannot have. */
static void test_damage_that_an_identification_explains(void **state)
{
	struct bench *bench = bench_create();
	struct icrc_check *check = &bench->path.receive.icrc;
	const uint32_t pattern = bench_explained_damage(bench, 5100);
	struct icrc_suspect accused;
	struct datagram datagram;

	(void)state;
	for (uint32_t round = 0; round < 10; round++) {
		for (uint16_t i = 0; i < 100; i++) {
			datagram = bench_counted(bench, (uint16_t)(5000 + i), 0);
			assert_true(icrc_check_is_good(check, &datagram));
		}
		datagram = bench_counted(bench, 5100, pattern);
		assert_int_equal(icrc_check_is_good(check, &datagram), round >= 4);
		bench->fixture->now_ns += RNIC_NS_PER_SECOND;
	}
	assert_int_equal(check->doubtful, 4);
	assert_int_equal(check->bad, 0);
	assert_int_equal(check->suspect_count, 0);
	assert_false(icrc_check_take_accused(check, &accused));
	bench_destroy(bench);
}

/* Senders that count, that do not and that segment, and one over IPv6, do not disturb each other.
 */
static void test_identifications_of_many_senders(void **state)
{
	struct bench *bench = bench_create();
	struct icrc_check *check = &bench->path.receive.icrc;

	(void)state;
	for (uint32_t i = 0; i < 70000; i++) {
		const uint32_t sender = i / 7 % 4;
		const uint32_t identifications[] = {i, 0, i % 7, 0};
		struct datagram datagram = bench_packet(bench, bench->fixture->qp->qpn);

		datagram.addresses.source.bytes[15] = (uint8_t)sender;
		datagram.addresses.source.bytes[0] = sender == 3 ? 0xfd : 0;
		datagram.gso_batch_position = sender == 2 ? (uint16_t)(i % 7) : 0;
		rnic_icrc_write(datagram.bytes + datagram.length - RNIC_ICRC_BYTES,
				rnic_icrc_compute(&datagram.addresses,
						  (uint16_t)identifications[sender], datagram.bytes,
						  datagram.length - RNIC_ICRC_BYTES));
		assert_true(icrc_check_is_good(check, &datagram));
		datagram.bytes[RNIC_BTH_BYTES] ^= 1;
		assert_false(icrc_check_is_good(check, &datagram));
	}
	assert_int_equal(check->doubtful, 0);
	assert_int_equal(check->bad, 70000);
	bench_destroy(bench);
}

/* What another process hands on has its time: two wrong ones in a second name the sender. */
static void test_delivered_now_and_then(void **state)
{
	struct bench *bench = bench_create();
	struct datagram datagram = bench_packet(bench, bench->fixture->qp->qpn);
	struct icrc_suspect accused;

	(void)state;
	datagram.bytes[RNIC_BTH_BYTES] ^= 1;
	for (uint32_t i = 1; i <= 2; i++) {
		data_path_deliver(&bench->path, &datagram.addresses, datagram.bytes,
				  datagram.length, i * RNIC_NS_PER_SECOND);
		assert_int_equal(icrc_check_take_accused(&bench->path.receive.icrc, &accused),
				 i == 2);
	}
	bench_destroy(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_packet),
		cmocka_unit_test(test_misrouted),
		cmocka_unit_test(test_none_misrouted),
		cmocka_unit_test(test_packets_of_adapters),
		cmocka_unit_test(test_wrong_icrcs_in_a_row),
		cmocka_unit_test(test_wrong_icrcs_now_and_then),
		cmocka_unit_test(test_damage_that_an_identification_explains),
		cmocka_unit_test(test_identifications_of_many_senders),
		cmocka_unit_test(test_delivered_now_and_then),
		cmocka_unit_test(test_delivered),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_batch_to_many_queue_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
