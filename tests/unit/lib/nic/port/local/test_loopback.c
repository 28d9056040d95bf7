/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/local/loopback.h"

#include "proto/base/bits.h"
#include "proto/base/lane.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/lib/nic/port/udp/udp_lane_fixture.h"
#include "tests/unit/unit_test.h"

/* A port below that takes `room` datagrams, remembers their lengths, and has one to receive. */
struct below {
	struct port port;
	uint32_t room;
	uint32_t taken;
	uint32_t lengths[8];
	uint32_t to_receive;
	bool is_closed;
};

static uint32_t below_receive(struct port *port, struct datagram *into, uint32_t max,
			      uint64_t now_ns)
{
	struct below *below = RNIC_CONTAINER_OF(port, struct below, port);
	uint32_t count = 0;

	(void)now_ns;
	while (count < max && below->to_receive > 0) {
		into[count++] = (struct datagram){.length = 1000 + below->to_receive};
		below->to_receive--;
	}
	return count;
}

static uint32_t below_transmit(struct port *port, struct datagram *datagrams, uint32_t count,
			       uint64_t now_ns)
{
	struct below *below = RNIC_CONTAINER_OF(port, struct below, port);
	uint32_t taken = 0;

	(void)now_ns;
	while (taken < count && below->room > 0) {
		below->lengths[below->taken++] = datagrams[taken++].length;
		below->room--;
	}
	return taken;
}

static uint64_t below_next_deadline_ns(const struct port *port)
{
	(void)port;
	return 1234;
}

static void below_close(struct port *port)
{
	RNIC_CONTAINER_OF(port, struct below, port)->is_closed = true;
}

static const struct port_ops below_ops = {
	.receive = below_receive,
	.transmit = below_transmit,
	.next_deadline_ns = below_next_deadline_ns,
	.close = below_close,
};

static void test_to_ourselves(void **state)
{
	struct rnic_gid gids[2] = {fixture_gid("192.0.2.1"), fixture_gid("2001:db8::1")};
	struct port *port = loopback_create(NULL, gids, 2, RNIC_LANE_NONE);
	struct datagram datagrams[3], received[4];

	(void)state;
	assert_non_null(port);
	assert_int_equal(port->ops->next_deadline_ns(port), UINT64_MAX);
	datagrams[0] = fixture_datagram(0, &gids[0], &gids[0], 64);
	datagrams[1] = fixture_datagram(1, &gids[1], &gids[1], 4108);
	datagrams[2] = fixture_datagram(2, &gids[0], &gids[0], 100);
	datagrams[0].addresses.traffic_class = 9;
	datagrams[2].damage = 1 + 8 * 50;
	assert_int_equal(port->ops->transmit(port, datagrams, 3, 1), 3);
	assert_int_equal(port->ops->next_deadline_ns(port), 0);
	assert_int_equal(port->ops->receive(port, received, 4, 2), 3);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(fixture_is_datagram(&received[i], i, i == 0 ? 64 : 4108));
		assert_int_equal(rnic_icrc_check(&received[i].addresses, received[i].bytes,
						 received[i].length, NULL),
				 RNIC_ICRC_GOOD);
		assert_int_equal(received[i].addresses.source_port, RNIC_UDP_PORT);
		assert_int_equal(received[i].addresses.hop_limit, 64);
		assert_int_equal(received[i].received_ns, 2);
	}
	assert_int_equal(received[0].addresses.traffic_class, 9);
	assert_int_equal(rnic_icrc_check(&received[2].addresses, received[2].bytes,
					 received[2].length, NULL),
			 RNIC_ICRC_BAD);
	assert_int_equal(port->ops->receive(port, received, 4, 3), 0);
	assert_int_equal(port->ops->next_deadline_ns(port), UINT64_MAX);
	port->ops->close(port);
}

/* A full queue takes no more until a receive after the one that emptied it. */
static void test_bounded(void **state)
{
	struct rnic_gid gid = fixture_gid("192.0.2.1");
	struct port *port = loopback_create(NULL, &gid, 1, RNIC_LANE_NONE);
	struct datagram datagrams[LOOPBACK_QUEUE_MAX + 1], received[LOOPBACK_QUEUE_MAX];
	uint32_t half = LOOPBACK_QUEUE_MAX / 2;

	(void)state;
	assert_non_null(port);
	for (uint32_t i = 0; i <= LOOPBACK_QUEUE_MAX; i++)
		datagrams[i] = fixture_datagram(i, &gid, &gid, 64);
	assert_int_equal(port->ops->transmit(port, datagrams, LOOPBACK_QUEUE_MAX + 1, 1),
			 LOOPBACK_QUEUE_MAX);
	assert_int_equal(port->ops->transmit(port, datagrams + LOOPBACK_QUEUE_MAX, 1, 1), 0);
	assert_int_equal(port->ops->receive(port, received, half, 1), half);
	assert_int_equal(port->ops->transmit(port, datagrams + LOOPBACK_QUEUE_MAX, 1, 1), 0);
	for (uint32_t i = 0; i < half; i++)
		assert_true(fixture_is_datagram(&received[i], i, 64));
	assert_int_equal(port->ops->receive(port, received, half - 1, 1), half - 1);
	for (uint32_t i = 0; i < half - 1; i++)
		assert_true(fixture_is_datagram(&received[i], half + i, 64));
	assert_int_equal(port->ops->transmit(port, datagrams + LOOPBACK_QUEUE_MAX, 1, 1), 1);
	assert_int_equal(port->ops->receive(port, received, 8, 1), 2);
	assert_true(fixture_is_datagram(&received[0], LOOPBACK_QUEUE_MAX - 1, 64));
	assert_true(fixture_is_datagram(&received[1], LOOPBACK_QUEUE_MAX, 64));
	port->ops->close(port);
}

/* Datagrams to others go below in order; a port below that is full stops the rest. */
static void test_passes_on(void **state)
{
	struct rnic_gid own = fixture_gid("192.0.2.1"), other = fixture_gid("192.0.2.2");
	struct below below = {.port = {.ops = &below_ops}, .room = 3, .to_receive = 2};
	struct port *port = loopback_create(&below.port, &own, 1, RNIC_LANE_NONE);
	struct datagram datagrams[6], received[4];

	(void)state;
	assert_non_null(port);
	for (uint32_t i = 0; i < 6; i++)
		datagrams[i] =
			fixture_datagram(i, &own, i == 1 || i == 5 ? &own : &other, 64 + 4 * i);
	assert_int_equal(port->ops->next_deadline_ns(port), 1234);
	assert_int_equal(port->ops->transmit(port, datagrams, 6, 1), 4);
	assert_int_equal(below.taken, 3);
	assert_int_equal(below.lengths[0], 64);
	assert_int_equal(below.lengths[1], 64 + 8);
	assert_int_equal(below.lengths[2], 64 + 12);
	assert_int_equal(port->ops->receive(port, received, 2, 1), 2);
	assert_true(fixture_is_datagram(&received[0], 1, 68));
	assert_int_equal(received[1].length, 1002);
	assert_int_equal(port->ops->receive(port, received, 4, 1), 1);
	below.room = 1;
	assert_int_equal(port->ops->transmit(port, datagrams + 4, 2, 1), 2);
	assert_int_equal(port->ops->receive(port, received, 4, 1), 1);
	assert_true(fixture_is_datagram(&received[0], 5, 84));
	port->ops->close(port);
	assert_true(below.is_closed);
}

/* Of a lane the queue keeps what is for the lane, whatever else is for our address. */
static void test_lanes(void **state)
{
	static const struct {
		uint8_t lane;
		uint32_t qpns[4]; /* the first two are the lane's */
	} cases[] = {
		{0x80, {0x800000, 0x80ffff, 0x810000, 0xffffff}},
		{0xfe, {0xfe0000, 0xfeffff, 0x000001, 0xff0000}},
		{RNIC_LANE_ZERO, {0x000001, 0x7fffff, 0x800000, 0xffffff}},
	};
	struct rnic_gid own = fixture_gid("192.0.2.1");
	struct datagram datagrams[4], received[4];

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		struct below below = {.port = {.ops = &below_ops}, .room = 4};
		struct port *port = loopback_create(&below.port, &own, 1, cases[i].lane);

		assert_non_null(port);
		for (uint32_t j = 0; j < 4; j++) {
			datagrams[j] = fixture_datagram(j, &own, &own, 64 + 4 * j);
			udp_lane_fixture_set_qpn(&datagrams[j], cases[i].qpns[j]);
		}
		assert_int_equal(port->ops->transmit(port, datagrams, 4, 1), 4);
		assert_int_equal(below.taken, 2);
		assert_int_equal(below.lengths[0], 64 + 8);
		assert_int_equal(below.lengths[1], 64 + 12);
		assert_int_equal(port->ops->receive(port, received, 4, 1), 2);
		assert_int_equal(received[0].length, 64 + RNIC_ICRC_BYTES);
		assert_int_equal(received[1].length, 68 + RNIC_ICRC_BYTES);
		port->ops->close(port);
	}
}

/* However much we send to ourselves, the network is heard. */
static void test_below_is_not_starved(void **state)
{
	struct rnic_gid own = fixture_gid("192.0.2.1");
	struct below below = {.port = {.ops = &below_ops}, .to_receive = 3};
	struct port *port = loopback_create(&below.port, &own, 1, RNIC_LANE_NONE);
	struct datagram datagrams[8], received[4];

	(void)state;
	assert_non_null(port);
	for (uint32_t i = 0; i < 8; i++)
		datagrams[i] = fixture_datagram(i, &own, &own, 64);
	assert_int_equal(port->ops->transmit(port, datagrams, 8, 1), 8);
	assert_int_equal(port->ops->receive(port, received, 4, 1), 4);
	assert_true(fixture_is_datagram(&received[0], 0, 64));
	assert_true(fixture_is_datagram(&received[1], 1, 64));
	assert_int_equal(received[2].length, 1003);
	assert_int_equal(received[3].length, 1002);
	assert_int_equal(port->ops->receive(port, received, 4, 1), 4);
	assert_int_equal(received[2].length, 1001);
	assert_true(fixture_is_datagram(&received[3], 4, 64));
	assert_int_equal(port->ops->receive(port, received, 4, 1), 3);
	port->ops->close(port);
}

static void test_nothing_below(void **state)
{
	struct rnic_gid own = fixture_gid("192.0.2.1"), other = fixture_gid("192.0.2.2");
	struct port *port = loopback_create(NULL, &own, 1, RNIC_LANE_NONE);
	struct datagram datagrams[2];

	(void)state;
	assert_non_null(port);
	datagrams[0] = fixture_datagram(0, &own, &other, 64);
	datagrams[1] = fixture_datagram(1, &own, &own, 64);
	assert_int_equal(port->ops->transmit(port, datagrams, 2, 1), 2);
	assert_int_equal(port->counters.send_refused, 1);
	assert_int_equal(port->counters.sent_datagrams, 1);
	port->ops->close(port);
}

/* An address is ours from when it is set until it is taken away; index and address may part. */
static void test_addresses_change(void **state)
{
	struct rnic_gid none = {0}, gid = fixture_gid("192.0.2.1"), zero = {0};
	struct port *port = loopback_create(NULL, &none, 1, RNIC_LANE_NONE);
	struct datagram datagram, received;
	char text[PORT_TEXT_BYTES];

	(void)state;
	assert_non_null(port);
	for (uint32_t round = 0; round < 2; round++) {
		datagram = fixture_datagram(0, &gid, &gid, 64);
		assert_int_equal(port->ops->transmit(port, &datagram, 1, 1), 1);
		assert_int_equal(port->counters.send_refused, round + 1);
		assert_int_equal(port->ops->set_gid(port, 5, &gid, NULL, text), 0);
		datagram = fixture_datagram(0, &gid, &gid, 64);
		assert_int_equal(port->ops->transmit(port, &datagram, 1, 1), 1);
		assert_int_equal(port->ops->receive(port, &received, 1, 2), 1);
		assert_int_equal(port->ops->set_gid(port, 5, NULL, NULL, text), 0);
	}
	datagram = fixture_datagram(0, &gid, &zero, 64);
	assert_int_equal(port->ops->transmit(port, &datagram, 1, 1), 1);
	assert_int_equal(port->ops->receive(port, &received, 1, 2), 0);
	port->ops->close(port);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_to_ourselves),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_passes_on),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_below_is_not_starved),
		cmocka_unit_test(test_nothing_below),
		cmocka_unit_test(test_addresses_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
