/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/lane_zero.h"

#include "daemon/control/lanes/lane_groups.h"
#include "lib/nic/path/port_stack.h"
#include "lib/nic/port/udp/segment.h"
#include "proto/base/bits.h"
#include "proto/base/lane.h"
#include "proto/wire/gid.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <unistd.h>

#define MAD_BYTES      256
#define PACKETS_MAX    256
#define UD_SEND_OPCODE 0x64

/* A port that brings what the test puts there, and takes as much as the test permits. */
struct bench {
	struct port port;
	struct datagram arrivals[PACKETS_MAX];
	uint8_t arrival_bytes[PACKETS_MAX][RNIC_PACKET_BYTES_MAX];
	uint32_t arrival_count;
	uint32_t takes; /* datagrams that the port will take */
	uint32_t sent;
	uint32_t sent_numbers[PACKETS_MAX];
	uint64_t port_deadline_ns;
	/* The general services. */
	uint32_t to_build;
	uint32_t built;
	uint8_t payload[MAD_BYTES];
	uint32_t received;
	uint32_t last_number;
	uint32_t ticks;
	uint64_t services_deadline_ns;
	/* Misrouted packets. */
	uint32_t misrouted;
	uint8_t last_lane;
	struct rnic_gid gids[2];
	struct lane_zero zero;
};

/* --- the port --------------------------------------------------------------------------------- */

static struct bench *bench_of(struct port *port)
{
	return RNIC_CONTAINER_OF(port, struct bench, port);
}

static uint32_t bench_port_receive(struct port *port, struct datagram *into, uint32_t max,
				   uint64_t now_ns)
{
	struct bench *bench = bench_of(port);
	uint32_t count = bench->arrival_count < max ? bench->arrival_count : max;

	(void)now_ns;
	memcpy(into, bench->arrivals, count * sizeof(*into));
	bench->arrival_count = 0;
	return count;
}

/* The number of a packet is the start of its payload. */
static uint32_t number_of(const uint8_t *payload)
{
	uint32_t number;

	memcpy(&number, payload, sizeof(number));
	return number;
}

static uint32_t bench_port_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
				    uint64_t now_ns)
{
	struct bench *bench = bench_of(port);
	uint32_t taken = 0;

	(void)now_ns;
	for (; taken < count && bench->takes > 0; taken++, bench->takes--) {
		const uint32_t headers = rnic_opcode_row(UD_SEND_OPCODE)->header_bytes;

		assert_int_equal(datagrams[taken].length, headers + MAD_BYTES);
		bench->sent_numbers[bench->sent++] = number_of(datagrams[taken].bytes + headers);
	}
	return taken;
}

static uint64_t bench_port_deadline(const struct port *port)
{
	return bench_of((struct port *)port)->port_deadline_ns;
}

static const struct port_ops bench_ops = {
	.receive = bench_port_receive,
	.transmit = bench_port_transmit,
	.next_deadline_ns = bench_port_deadline,
};

/* --- the general services --------------------------------------------------------------------- */

static void services_receive(void *context, const struct rnic_packet *packet, uint64_t now_ns)
{
	struct bench *bench = context;

	(void)now_ns;
	bench->received++;
	bench->last_number = number_of(packet->payload);
}

static struct rnic_packet packet_of(struct bench *bench, uint32_t dest_qpn, uint32_t number)
{
	memcpy(bench->payload, &number, sizeof(number));
	return (struct rnic_packet){
		.addresses = {.source = bench->gids[0], .dest = bench->gids[1]},
		.row = rnic_opcode_row(UD_SEND_OPCODE),
		.opcode = UD_SEND_OPCODE,
		.pkey = 0xffff,
		.dest_qpn = dest_qpn,
		.source_qpn = 1,
		.qkey = 0x80010000,
		.payload = bench->payload,
		.payload_bytes = MAD_BYTES,
	};
}

static bool services_transmit(void *context, struct rnic_packet *out)
{
	struct bench *bench = context;

	if (bench->to_build == 0)
		return false;
	bench->to_build--;
	*out = packet_of(bench, RNIC_GENERAL_SERVICES_QPN, bench->built++);
	return true;
}

static bool services_have_ready(const void *context)
{
	return ((const struct bench *)context)->to_build > 0;
}

static uint64_t services_deadline(const void *context)
{
	return ((const struct bench *)context)->services_deadline_ns;
}

static void services_tick(void *context, uint64_t now_ns)
{
	struct bench *bench = context;

	(void)now_ns;
	bench->ticks++;
	bench->services_deadline_ns = UINT64_MAX;
}

static bool keep_misrouted(void *context, uint8_t lane, const struct datagram *datagram)
{
	struct bench *bench = context;

	(void)datagram;
	bench->misrouted++;
	bench->last_lane = lane;
	return lane != RNIC_LANE_LAST;
}

/* --- the bench -------------------------------------------------------------------------------- */

static struct bench *bench_create(struct port *port)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	const struct general_services services = {
		.receive = services_receive,
		.transmit = services_transmit,
		.has_ready = services_have_ready,
		.next_deadline_ns = services_deadline,
		.tick = services_tick,
		.context = bench,
	};

	assert_non_null(bench);
	bench->port.ops = &bench_ops;
	bench->takes = UINT32_MAX;
	bench->port_deadline_ns = bench->services_deadline_ns = UINT64_MAX;
	bench->gids[0] = fixture_own_gid(1);
	bench->gids[1] = fixture_own_gid(2);
	assert_int_equal(lane_zero_init(&bench->zero, port != NULL ? port : &bench->port, &services,
					keep_misrouted, bench),
			 0);
	return bench;
}

static void bench_destroy(struct bench *bench)
{
	lane_zero_fini(&bench->zero);
	free(bench);
}

/* Puts a packet as the network brings it to the port. */
static struct datagram *arrive(struct bench *bench, uint32_t dest_qpn, uint32_t number)
{
	struct rnic_packet packet = packet_of(bench, dest_qpn, number);
	uint32_t i = bench->arrival_count++;
	uint8_t *bytes = bench->arrival_bytes[i];
	size_t header_bytes = rnic_packet_encode_headers(&packet, bytes);
	struct datagram *datagram = &bench->arrivals[i];

	memcpy(bytes + header_bytes, packet.payload, packet.payload_bytes);
	*datagram = (struct datagram){
		.addresses = packet.addresses,
		.bytes = bytes,
		.length = rnic_packet_bytes(&packet),
	};
	segment_seal(datagram, 1, RNIC_UDP_PORT);
	datagram->length += RNIC_ICRC_BYTES;
	return datagram;
}

/* --- the tests -------------------------------------------------------------------------------- */

static void test_receive(void **state)
{
	struct bench *bench = bench_create(NULL);
	const struct lane_zero_counters *counters = &bench->zero.counters;

	(void)state;
	arrive(bench, RNIC_GENERAL_SERVICES_QPN, 77);
	assert_int_equal(lane_zero_turn(&bench->zero, 0), 1);
	assert_int_equal(bench->received, 1);
	assert_int_equal(bench->last_number, 77);

	arrive(bench, 0, 0);
	arrive(bench, 2, 0);
	arrive(bench, 0x7fffff, 0);
	arrive(bench, 0xffffff, 0);
	arrive(bench, 0xff0001, 0);
	assert_int_equal(lane_zero_turn(&bench->zero, 0), 5);
	assert_int_equal(counters->unknown, 5);

	arrive(bench, 0x800000, 0);
	lane_zero_turn(&bench->zero, 0);
	assert_int_equal(bench->last_lane, RNIC_LANE_FIRST);
	arrive(bench, 0xfe1234, 0);
	lane_zero_turn(&bench->zero, 0);
	assert_int_equal(bench->last_lane, RNIC_LANE_LAST);
	assert_int_equal(bench->misrouted, 2);
	assert_int_equal(counters->misrouted, 2);
	assert_int_equal(bench->received, 1);
	bench_destroy(bench);
}

/* Of a lane that nobody holds, or of lane 0. */
static void test_unknown_qp(void **state)
{
	static const uint32_t qpns[] = {0xfe1234, 0x7fffff};
	struct bench *bench = bench_create(NULL);
	struct unknown_qp unknown;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(qpns); i++) {
		for (int n = 0; n < UNKNOWN_QP_PACKETS; n++) {
			assert_false(unknown_qp_take(&bench->zero.unknown, &unknown));
			arrive(bench, qpns[i], 0);
			lane_zero_turn(&bench->zero, 0);
		}
		assert_true(unknown_qp_take(&bench->zero.unknown, &unknown));
		assert_int_equal(unknown.qpn, qpns[i]);
	}
	for (int n = 0; n < UNKNOWN_QP_PACKETS; n++)
		arrive(bench, 0x800000, 0);
	lane_zero_turn(&bench->zero, 0);
	assert_false(unknown_qp_take(&bench->zero.unknown, &unknown));
	bench_destroy(bench);
}

static void test_damage(void **state)
{
	struct bench *bench = bench_create(NULL);
	struct datagram *datagram;

	(void)state;
	arrive(bench, RNIC_GENERAL_SERVICES_QPN, 1)->bytes[30] ^= 1;
	arrive(bench, 0x800000, 1)->bytes[30] ^= 1;
	arrive(bench, RNIC_GENERAL_SERVICES_QPN, 1)->length = 3;
	arrive(bench, RNIC_GENERAL_SERVICES_QPN, 1)->length = 0;
	lane_zero_turn(&bench->zero, 0);
	assert_int_equal(bench->zero.icrc.bad, 4);
	/* An opcode that is not defined, with its ICRC right. */
	datagram = arrive(bench, RNIC_GENERAL_SERVICES_QPN, 1);
	datagram->bytes[0] = 0xff;
	datagram->length -= RNIC_ICRC_BYTES;
	segment_seal(datagram, 1, RNIC_UDP_PORT);
	datagram->length += RNIC_ICRC_BYTES;
	lane_zero_turn(&bench->zero, 0);
	assert_int_equal(bench->zero.counters.undecodable, 1);
	assert_int_equal(bench->received, 0);
	assert_int_equal(bench->misrouted, 0);
	bench_destroy(bench);
}

static void deliver(struct bench *bench, const struct datagram *datagram, uint32_t length)
{
	lane_zero_deliver(&bench->zero, &datagram->addresses, datagram->bytes, length, 0);
}

/* What a device process passes on: QP 1 alone, whatever the bytes. */
static void test_deliver(void **state)
{
	struct bench *bench = bench_create(NULL);
	struct datagram *datagram = arrive(bench, RNIC_GENERAL_SERVICES_QPN, 5);

	(void)state;
	for (uint32_t length = 0; length < datagram->length; length++)
		deliver(bench, datagram, length);
	assert_int_equal(bench->received, 0);
	assert_int_equal(bench->zero.icrc.bad, datagram->length);
	deliver(bench, datagram, UINT32_MAX);
	deliver(bench, datagram, datagram->length);
	assert_int_equal(bench->received, 1);
	assert_int_equal(bench->last_number, 5);
	datagram = arrive(bench, 0x810000, 6);
	deliver(bench, datagram, datagram->length);
	assert_int_equal(bench->misrouted, 0);
	assert_int_equal(bench->zero.counters.unknown, 1);
	bench_destroy(bench);
}

static void expect_sent(const struct bench *bench, uint32_t count)
{
	assert_int_equal(bench->sent, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(bench->sent_numbers[i], i);
}

static void test_transmit(void **state)
{
	struct bench *bench = bench_create(NULL);

	(void)state;
	bench->to_build = LIMIT_TURN_SERVICE_TRANSMITS + 10;
	assert_true(lane_zero_has_work(&bench->zero));
	assert_int_equal(lane_zero_turn(&bench->zero, 0), LIMIT_TURN_SERVICE_TRANSMITS);
	assert_true(lane_zero_has_work(&bench->zero));
	assert_int_equal(lane_zero_turn(&bench->zero, 0), 10);
	assert_false(lane_zero_has_work(&bench->zero));
	expect_sent(bench, LIMIT_TURN_SERVICE_TRANSMITS + 10);
	bench_destroy(bench);
}

/* A port without room gets the packets later, in order, and nothing is built meanwhile. */
static void test_blocked(void **state)
{
	struct bench *bench = bench_create(NULL);

	(void)state;
	bench->to_build = 20;
	bench->takes = 7;
	assert_int_equal(lane_zero_turn(&bench->zero, 0), 7);
	bench->to_build = 3;
	assert_false(lane_zero_has_work(&bench->zero));
	assert_int_equal(lane_zero_turn(&bench->zero, 0), 0);
	assert_int_equal(bench->to_build, 3);
	bench->takes = 5;
	assert_int_equal(lane_zero_turn(&bench->zero, 0), 5);
	assert_int_equal(bench->to_build, 3);
	bench->takes = UINT32_MAX;
	assert_int_equal(lane_zero_turn(&bench->zero, 0), 8 + 3);
	expect_sent(bench, 23);
	bench_destroy(bench);
}

static void test_deadlines(void **state)
{
	struct bench *bench = bench_create(NULL);

	(void)state;
	assert_true(lane_zero_next_deadline_ns(&bench->zero) == UINT64_MAX);
	bench->services_deadline_ns = 500;
	bench->port_deadline_ns = 900;
	assert_int_equal(lane_zero_next_deadline_ns(&bench->zero), 500);
	lane_zero_turn(&bench->zero, 499);
	assert_int_equal(bench->ticks, 0);
	lane_zero_turn(&bench->zero, 500);
	assert_int_equal(bench->ticks, 1);
	assert_int_equal(lane_zero_next_deadline_ns(&bench->zero), 900);
	bench_destroy(bench);
}

/* --- over the network ------------------------------------------------------------------------- */

struct host {
	struct lane_groups groups;
	struct port_stack stack;
	struct bench *bench;
};

static void host_open(struct host *host, const struct rnic_gid *gid)
{
	const struct lane_groups_config config = {.gid_slots = 1, .owner = geteuid()};
	const struct port_stack_config stack_config = {.lane = RNIC_LANE_ZERO,
						       .port = UDP_PORT_SOCKET};
	struct udp_lane_sockets sockets;
	char text[PORT_TEXT_BYTES];

	lane_groups_init(&host->groups, &config, 0, text);
	assert_int_equal(lane_groups_set_gid(&host->groups, 0, gid, 0, text), 0);
	assert_int_equal(lane_groups_take_sockets(&host->groups, 0, 0, &sockets, text), 0);
	assert_int_equal(port_stack_open(&host->stack, &stack_config, fixture_now_ns(), text), 0);
	assert_int_equal(host->stack.top->ops->set_gid(host->stack.top, 0, gid, &sockets, text), 0);
	host->bench = bench_create(host->stack.top);
}

static void host_close(struct host *host)
{
	bench_destroy(host->bench);
	port_stack_close(&host->stack);
	lane_groups_close(&host->groups);
}

static void remember_descriptor(void *context, int fd, bool for_writing)
{
	*(struct pollfd *)context =
		(struct pollfd){.fd = fd, .events = for_writing ? POLLIN | POLLOUT : POLLIN};
}

static void test_network(void **state)
{
	static struct host hosts[2];
	struct rnic_gid gids[2] = {fixture_own_gid(1), fixture_own_gid(2)};
	struct pollfd polled;

	(void)state;
	host_open(&hosts[0], &gids[0]);
	host_open(&hosts[1], &gids[1]);
	hosts[0].bench->to_build = 200;
	lane_zero_watch(&hosts[1].bench->zero, remember_descriptor, &polled);
	do {
		lane_zero_turn(&hosts[0].bench->zero, fixture_now_ns());
		while (lane_zero_turn(&hosts[1].bench->zero, fixture_now_ns()) > 0)
			;
	} while (hosts[1].bench->received < 200 &&
		 (lane_zero_has_work(&hosts[0].bench->zero) || poll(&polled, 1, 5000) > 0));
	assert_int_equal(hosts[1].bench->received, 200);
	assert_int_equal(hosts[1].bench->last_number, 199);
	assert_int_equal(hosts[1].bench->zero.icrc.bad, 0);
	/* What a host sends to itself stays there. */
	hosts[1].bench->gids[0] = hosts[1].bench->gids[1];
	hosts[1].bench->to_build = 50;
	for (uint32_t i = 0; i < 3; i++)
		lane_zero_turn(&hosts[1].bench->zero, fixture_now_ns());
	assert_int_equal(hosts[1].bench->received, 250);
	assert_int_equal(hosts[1].stack.udp->counters.sent_datagrams, 0);
	host_close(&hosts[0]);
	host_close(&hosts[1]);
}

/*
 * Lane 0 hears whatever the network tells about what it sent. The port looks at errors now and
 * then.
 */
static void test_errors(void **state)
{
	static struct host host;
	struct rnic_gid gid = fixture_own_gid(1);
	struct pollfd polled;

	(void)state;
	host_open(&host, &gid);
	lane_zero_watch(&host.bench->zero, remember_descriptor, &polled);
	for (uint8_t i = 0; i < 8; i++) {
		struct rnic_gid nobody = fixture_own_gid((uint8_t)(100 + i));

		host.bench->gids[1] = nobody;
		host.bench->to_build = 1;
		for (uint32_t tries = 0; host.stack.udp->report_count == 0 && tries < 100;
		     tries++) {
			lane_zero_turn(&host.bench->zero, fixture_now_ns());
			poll(&polled, 1, 50);
		}
		assert_int_equal(host.stack.udp->report_count, 1);
		assert_int_equal(host.stack.udp->reports[0].error, -ECONNREFUSED);
		assert_true(rnic_gid_equal(&host.stack.udp->reports[0].dest, &nobody));
		host.stack.udp->report_count = 0;
	}
	host_close(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_receive),	   cmocka_unit_test(test_damage),
		cmocka_unit_test(test_deliver),	   cmocka_unit_test(test_transmit),
		cmocka_unit_test(test_blocked),	   cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_network),	   cmocka_unit_test(test_errors),
		cmocka_unit_test(test_unknown_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
