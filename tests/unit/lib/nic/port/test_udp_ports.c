/* SPDX-License-Identifier: MIT */
/* One suite for both UDP ports: each test runs with each. */
#include "lib/nic/port/udp/segment.h"
#include "lib/nic/port/udp/udp_port.h"
#include "lib/nic/port/udp/udp_sockets.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* Two ports that can reach each other. */
struct pair {
	struct rnic_gid gids[2];
	struct port *ports[2];
	struct fixture_inbox inbox;
};

static int open_kind(void **state, struct port **out, const struct udp_options *options, char *text)
{
	enum udp_port_kind kind = *(enum udp_port_kind *)*state;

	return port_open_udp(out, kind, options, fixture_now_ns(), text);
}

static bool is_unsupported(int result)
{
	return result == -ENOSYS || result == -EPERM || result == -EOPNOTSUPP;
}

/* NULL: this machine cannot, and a line says why. */
static struct pair *pair_open(void **state, enum segmentation_mode segmentation, bool ipv4)
{
	static uint8_t hosts_used = 100; /* a test that failed may have left its ports open */
	struct pair *pair = calloc(1, sizeof(*pair));
	uint32_t port_count = ipv4 ? 2 : 1;

	assert_non_null(pair);
	for (uint32_t i = 0; i < port_count; i++) {
		struct udp_options options = {
			.gids = &pair->gids[i],
			.gid_count = 1,
			.udp_port = ipv4 ? 0 : fixture_udp_port(),
			.segmentation = segmentation,
		};
		char text[PORT_TEXT_BYTES];
		int result;

		pair->gids[i] = ipv4 ? fixture_own_gid(hosts_used++) : fixture_gid("::1");
		result = open_kind(state, &pair->ports[i], &options, text);
		if (is_unsupported(result) || (!ipv4 && result < 0)) {
			print_message("skipped: %s\n", text);
			free(pair);
			return NULL;
		}
		assert_int_equal(result, 0);
		assert_string_equal(text, "");
	}
	if (!ipv4) {
		pair->gids[1] = pair->gids[0];
		pair->ports[1] = pair->ports[0];
	}
	return pair;
}

static void pair_close(struct pair *pair)
{
	if (pair->ports[1] != pair->ports[0])
		pair->ports[1]->ops->close(pair->ports[1]);
	pair->ports[0]->ops->close(pair->ports[0]);
	free(pair);
}

static struct datagram pair_datagram(struct pair *pair, uint32_t i, uint32_t length)
{
	return fixture_datagram(i, &pair->gids[0], &pair->gids[1], length);
}

static uint16_t identification_of(const struct datagram *received)
{
	uint16_t identification = 0;

	assert_int_not_equal(rnic_icrc_check(&received->addresses, received->bytes,
					     received->length, &identification),
			     RNIC_ICRC_BAD);
	return identification;
}

static void single_test(void **state, bool ipv4)
{
	struct pair *pair = pair_open(state, SEGMENTATION_ON, ipv4);
	struct datagram datagram;
	const struct datagram *received;

	if (pair == NULL)
		skip();
	datagram = pair_datagram(pair, 0, 1036);
	datagram.addresses.traffic_class = 0x6a;
	datagram.addresses.hop_limit = 17;
	fixture_transmit(pair->ports[0], &datagram, 1);
	fixture_receive(pair->ports[1], &pair->inbox, 1, 8);
	assert_int_equal(pair->inbox.count, 1);
	received = &pair->inbox.datagrams[0];
	assert_true(fixture_is_datagram(received, 0, 1036));
	assert_true(rnic_gid_equal(&received->addresses.source, &pair->gids[0]));
	assert_true(rnic_gid_equal(&received->addresses.dest, &pair->gids[1]));
	assert_int_equal(received->addresses.traffic_class, 0x6a);
	assert_int_equal(received->addresses.hop_limit, SEGMENT_HOP_LIMIT_DEFAULT);
	assert_int_equal(received->addresses.source_port,
			 ipv4 ? RNIC_UDP_PORT : fixture_udp_port());
	assert_true(received->received_ns > 0);
	assert_int_equal(identification_of(received), 0);
	assert_int_equal(pair->ports[0]->counters.sent_datagrams, 1);
	assert_int_equal(pair->ports[1]->counters.received_datagrams, 1);
	assert_int_equal(pair->ports[1]->counters.received_bytes, 1040);
	assert_int_equal(pair->ports[1]->counters.receive_dropped, 0);
	pair_close(pair);
}

/* Behind a BTH of 12 bytes the payload lies at a multiple of 16. */
static void test_phase_of_arrivals(void **state)
{
	struct pair *pair = pair_open(state, SEGMENTATION_ON, true);
	struct datagram datagram, received;

	if (pair == NULL)
		skip();
	datagram = pair_datagram(pair, 0, 1036);
	fixture_transmit(pair->ports[0], &datagram, 1);
	do
		assert_true(fixture_is_due(pair->ports[1], 5000));
	while (pair->ports[1]->ops->receive(pair->ports[1], &received, 1, fixture_now_ns()) == 0);
	assert_int_equal((uintptr_t)received.bytes % 16, UDP_ARRIVAL_PHASE_BYTES);
	pair_close(pair);
}

static void test_single_ipv4(void **state)
{
	single_test(state, true);
}

static void test_single_ipv6(void **state)
{
	single_test(state, false);
}

/* A FIRST with its RETH, MIDDLEs and a short LAST: two GSO batches over IPv4, and in order. */
static void gso_batches_test(void **state, bool ipv4, enum segmentation_mode segmentation)
{
	static const uint32_t lengths[] = {4124, 4108, 4108, 4108, 4108, 4108, 4108, 4108, 400, 16};
	struct pair *pair = pair_open(state, segmentation, ipv4);
	struct datagram datagrams[RNIC_COUNT_OF(lengths)];
	uint32_t count = RNIC_COUNT_OF(lengths);

	if (pair == NULL)
		skip();
	for (uint32_t i = 0; i < count; i++)
		datagrams[i] = pair_datagram(pair, i, lengths[i]);
	fixture_transmit(pair->ports[0], datagrams, count);
	fixture_receive(pair->ports[1], &pair->inbox, count, 64);
	assert_int_equal(pair->inbox.count, count);
	for (uint32_t i = 0; i < count; i++) {
		/* The first batch is FIRST and one MIDDLE, which is shorter and so ends it. */
		static const uint16_t in_gso_batch[] = {0, 1, 0, 1, 2, 3, 4, 5, 6, 0};

		assert_true(fixture_is_datagram(&pair->inbox.datagrams[i], i, lengths[i]));
		assert_int_equal(identification_of(&pair->inbox.datagrams[i]),
				 ipv4 && segmentation == SEGMENTATION_ON ? in_gso_batch[i] : 0);
	}
	pair_close(pair);
}

static void test_gso_batches_ipv4(void **state)
{
	gso_batches_test(state, true, SEGMENTATION_ON);
}

static void test_gso_batches_ipv6(void **state)
{
	gso_batches_test(state, false, SEGMENTATION_ON);
}

static void test_one_by_one(void **state)
{
	gso_batches_test(state, true, SEGMENTATION_OFF);
}

/* A port may have business of its own after the last datagram, but soon it sleeps. */
static void assert_quiet(struct port *port)
{
	struct datagram received;

	for (uint32_t turns = 0; fixture_is_due(port, 0); turns++) {
		assert_true(turns < 4);
		assert_int_equal(port->ops->receive(port, &received, 1, fixture_now_ns()), 0);
	}
}

/* More at a time than messages in a batch, taken in small portions. */
static void burst_test(void **state, enum segmentation_mode segmentation, uint32_t length)
{
	struct pair *pair = pair_open(state, segmentation, true);
	struct datagram datagrams[FIXTURE_DATAGRAMS_MAX];

	if (pair == NULL)
		skip();
	for (uint32_t i = 0; i < FIXTURE_DATAGRAMS_MAX; i++)
		datagrams[i] = pair_datagram(pair, i, length);
	/* In portions that any socket buffer holds. */
	for (uint32_t i = 0; i < FIXTURE_DATAGRAMS_MAX; i += 64) {
		fixture_transmit(pair->ports[0], datagrams + i, 64);
		fixture_receive(pair->ports[1], &pair->inbox, i + 64, 7);
	}
	assert_int_equal(pair->inbox.count, FIXTURE_DATAGRAMS_MAX);
	for (uint32_t i = 0; i < FIXTURE_DATAGRAMS_MAX; i++)
		assert_true(fixture_is_datagram(&pair->inbox.datagrams[i], i, length));
	if (segmentation == SEGMENTATION_ON)
		assert_true(pair->ports[0]->counters.send_calls <= FIXTURE_DATAGRAMS_MAX / 64);
	assert_quiet(pair->ports[1]);
	pair_close(pair);
}

static void test_burst_of_gso_batches(void **state)
{
	burst_test(state, SEGMENTATION_ON, 1036);
}

static void test_burst_of_singles(void **state)
{
	burst_test(state, SEGMENTATION_OFF, 300);
}

/* Nobody receives while more arrives than any buffer holds: most is lost, and then all is well. */
static void test_overload(void **state)
{
	struct pair *pair = pair_open(state, SEGMENTATION_ON, true);
	struct datagram datagrams[60], received[64], marker;

	if (pair == NULL)
		skip();
	for (uint32_t i = 0; i < 60; i++)
		datagrams[i] = pair_datagram(pair, i, 4108);
	for (uint32_t round = 0; round < 400; round++)
		fixture_transmit(pair->ports[0], datagrams, 60);
	while (fixture_is_due(pair->ports[1], 100))
		pair->ports[1]->ops->receive(pair->ports[1], received, 64, fixture_now_ns());
	assert_true(pair->ports[1]->counters.received_datagrams > 0);
	/* A GSO batch that nobody cuts is one to the kernel. */
	assert_true(pair->ports[1]->counters.receive_dropped > 0);
	assert_true(pair->ports[1]->counters.receive_dropped +
			    pair->ports[1]->counters.received_datagrams <=
		    400 * 60);

	marker = pair_datagram(pair, 60, 64);
	fixture_transmit(pair->ports[0], &marker, 1);
	fixture_receive(pair->ports[1], &pair->inbox, 1, 1);
	assert_int_equal(pair->inbox.count, 1);
	assert_true(fixture_is_datagram(&pair->inbox.datagrams[0], 60, 64));
	pair_close(pair);
}

/* A damaged packet arrives as one whose ICRC is wrong; others of its GSO batch are right. */
static void test_damage(void **state)
{
	struct pair *pair = pair_open(state, SEGMENTATION_ON, true);
	struct datagram datagrams[3];

	if (pair == NULL)
		skip();
	for (uint32_t i = 0; i < 3; i++)
		datagrams[i] = pair_datagram(pair, i, 1036);
	datagrams[1].damage = 1 + 8 * 500 + 3;
	fixture_transmit(pair->ports[0], datagrams, 3);
	fixture_receive(pair->ports[1], &pair->inbox, 3, 8);
	assert_int_equal(pair->inbox.count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct datagram *received = &pair->inbox.datagrams[i];
		bool is_bad = rnic_icrc_check(&received->addresses, received->bytes,
					      received->length, NULL) == RNIC_ICRC_BAD;

		assert_int_equal(is_bad, i == 1);
	}
	pair->inbox.bytes[1][500] ^= 1 << 3;
	assert_true(fixture_is_datagram(&pair->inbox.datagrams[1], 1, 1036));
	pair_close(pair);
}

/* Datagrams that can never be sent are lost; those around them leave. */
static void test_refused(void **state)
{
	struct pair *pair = pair_open(state, SEGMENTATION_ON, true);
	struct rnic_gid nowhere = fixture_gid("203.0.113.1"), foreign = fixture_gid("2001:db8::1");
	struct datagram datagrams[6];

	if (pair == NULL)
		skip();
	for (uint32_t i = 0; i < 6; i++)
		datagrams[i] = pair_datagram(pair, i, 64);
	datagrams[1].addresses.dest = nowhere; /* no way there from 127.0.0.0/8 */
	datagrams[2].addresses.source = nowhere;
	datagrams[4].addresses.dest = foreign;
	fixture_transmit(pair->ports[0], datagrams, 6);
	fixture_receive(pair->ports[1], &pair->inbox, 3, 8);
	assert_int_equal(pair->inbox.count, 3);
	assert_true(fixture_is_datagram(&pair->inbox.datagrams[0], 0, 64));
	assert_true(fixture_is_datagram(&pair->inbox.datagrams[1], 3, 64));
	assert_true(fixture_is_datagram(&pair->inbox.datagrams[2], 5, 64));
	assert_int_equal(pair->ports[0]->counters.send_refused, 3);
	assert_int_equal(pair->ports[0]->counters.sent_datagrams, 3);
	pair_close(pair);
}

/* A GSO batch that finds no way is lost alone: others leave as GSO batches, after it as before. */
static void test_gso_batch_refused(void **state)
{
	struct pair *pair = pair_open(state, SEGMENTATION_ON, true);
	struct datagram datagrams[6];

	if (pair == NULL)
		skip();
	for (uint32_t i = 0; i < 6; i++)
		datagrams[i] = pair_datagram(pair, i, 64);
	datagrams[2].addresses.dest = fixture_gid("203.0.113.1");
	datagrams[3].addresses.dest = fixture_gid("203.0.113.1");
	fixture_transmit(pair->ports[0], datagrams, 6);
	fixture_receive(pair->ports[1], &pair->inbox, 4, 8);
	assert_int_equal(pair->inbox.count, 4);
	for (uint16_t i = 0; i < 4; i++)
		assert_int_equal(identification_of(&pair->inbox.datagrams[i]), i % 2);
	assert_int_equal(pair->ports[0]->counters.send_refused, 2);
	pair_close(pair);
}

/* The report about `dest`, waited for. */
static struct port_report wait_for_report(struct port *port, const struct rnic_gid *dest)
{
	struct datagram received;

	for (;;) {
		for (uint32_t i = 0; i < port->report_count; i++)
			if (rnic_gid_equal(&port->reports[i].dest, dest))
				return port->reports[i];
		assert_true(fixture_is_due(port, 5000));
		port->ops->receive(port, &received, 0, fixture_now_ns());
	}
}

/*
 * A host reports that no socket listens: the port reports it once, and other datagrams lose
 * nothing.
 */
static void nobody_listens_test(void **state, enum segmentation_mode segmentation)
{
	struct pair *pair = pair_open(state, segmentation, true);
	struct rnic_gid nobody[2] = {fixture_own_gid(70), fixture_own_gid(71)};
	struct datagram datagrams[4];
	struct port_report report;

	if (pair == NULL)
		skip();
	/* The report wakes a sleeper. */
	datagrams[0] = pair_datagram(pair, 400, 64);
	datagrams[0].addresses.dest = nobody[0];
	fixture_transmit(pair->ports[0], datagrams, 1);
	wait_for_report(pair->ports[0], &nobody[0]);
	assert_quiet(pair->ports[0]);
	for (uint32_t i = 0; i < 200; i += 2) {
		for (uint32_t j = 0; j < 2; j++) {
			datagrams[2 * j] = pair_datagram(pair, 400 + j, 64);
			datagrams[2 * j].addresses.dest = nobody[j];
			datagrams[2 * j + 1] = pair_datagram(pair, i + j, 64);
		}
		fixture_transmit(pair->ports[0], datagrams, 4);
		fixture_receive(pair->ports[1], &pair->inbox, i + 2, 8);
		datagrams[0] = fixture_datagram(400, &pair->gids[1], &pair->gids[0], 64);
		fixture_transmit(pair->ports[1], datagrams, 1);
	}
	assert_int_equal(pair->inbox.count, 200);
	for (uint32_t i = 0; i < 200; i++)
		assert_true(fixture_is_datagram(&pair->inbox.datagrams[i], i, 64));
	assert_int_equal(pair->ports[0]->counters.send_refused, 0);
	assert_int_equal(pair->ports[0]->counters.sent_datagrams, 401);

	for (uint32_t j = 0; j < 2; j++) {
		report = wait_for_report(pair->ports[0], &nobody[j]);
		assert_int_equal(report.error, -ECONNREFUSED);
		assert_true(rnic_gid_equal(&report.from, &nobody[j]));
	}
	assert_int_equal(pair->ports[0]->report_count, 2);
	pair->inbox.count = 0;
	fixture_receive(pair->ports[0], &pair->inbox, 100, 8);
	assert_int_equal(pair->inbox.count, 100);
	assert_quiet(pair->ports[0]);
	pair_close(pair);
}

static void test_nobody_listens(void **state)
{
	nobody_listens_test(state, SEGMENTATION_ON);
}

static void test_nobody_listens_to_singles(void **state)
{
	nobody_listens_test(state, SEGMENTATION_OFF);
}

/* Empty and huge datagrams of strangers do not disturb. */
static void test_garbage(void **state)
{
	static uint8_t huge[65507];
	struct pair *pair = pair_open(state, SEGMENTATION_ON, true);
	union udp_address address;
	socklen_t address_bytes;
	struct datagram datagram, received[8];
	uint64_t received_bytes = 0;
	int stranger;

	if (pair == NULL)
		skip();
	stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	address_bytes = udp_address_write(&address, &pair->gids[1], RNIC_UDP_PORT, 0);
	assert_int_equal(sendto(stranger, huge, 0, 0, &address.any, address_bytes), 0);
	assert_int_equal(sendto(stranger, huge, sizeof(huge), 0, &address.any, address_bytes),
			 sizeof(huge));
	close(stranger);
	while (received_bytes < sizeof(huge) && fixture_is_due(pair->ports[1], 5000)) {
		uint32_t count =
			pair->ports[1]->ops->receive(pair->ports[1], received, 8, fixture_now_ns());

		for (uint32_t i = 0; i < count; i++)
			received_bytes += received[i].length;
	}
	assert_int_equal(received_bytes, sizeof(huge));
	datagram = pair_datagram(pair, 0, 64);
	fixture_transmit(pair->ports[0], &datagram, 1);
	fixture_receive(pair->ports[1], &pair->inbox, 1, 8);
	assert_int_equal(pair->inbox.count, 1);
	pair_close(pair);
}

/*
 * A datagram that arrives after the last look ends the sleep, even while the kernel still processes
 * it.
 */
static void test_arrival_before_sleep(void **state)
{
	struct pair *pair = pair_open(state, SEGMENTATION_ON, true);
	struct datagram datagram, received;

	if (pair == NULL)
		skip();
	datagram = pair_datagram(pair, 0, 64);
	assert_int_equal(
		pair->ports[1]->ops->receive(pair->ports[1], &received, 1, fixture_now_ns()), 0);
	fixture_transmit(pair->ports[0], &datagram, 1);
	assert_true(fixture_is_due(pair->ports[1], 1000));
	fixture_receive(pair->ports[1], &pair->inbox, 1, 1);
	assert_int_equal(pair->inbox.count, 1);
	assert_quiet(pair->ports[1]);
	pair_close(pair);
}

/*
 * Several addresses: each datagram arrives with its destination address, and leaves from its source
 * address.
 */
static void test_many_addresses(void **state)
{
	struct rnic_gid gids[3] = {fixture_own_gid(11), fixture_own_gid(12), fixture_own_gid(13)};
	struct udp_options options = {.gids = gids, .gid_count = 3};
	struct fixture_inbox *inbox = calloc(1, sizeof(*inbox));
	struct datagram datagrams[3];
	char text[PORT_TEXT_BYTES];
	struct port *port;
	int result = open_kind(state, &port, &options, text);
	uint32_t seen = 0;

	assert_non_null(inbox);
	if (is_unsupported(result)) {
		print_message("skipped: %s\n", text);
		free(inbox);
		skip();
	}
	assert_int_equal(result, 0);
	for (uint32_t i = 0; i < 3; i++)
		datagrams[i] = fixture_datagram(i, &gids[i], &gids[(i + 1) % 3], 64);
	fixture_transmit(port, datagrams, 3);
	fixture_receive(port, inbox, 3, 8);
	assert_int_equal(inbox->count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t at = 0;

		while (at < 3 && !rnic_gid_equal(&inbox->datagrams[i].addresses.source, &gids[at]))
			at++;
		assert_true(at < 3);
		assert_true(
			rnic_gid_equal(&inbox->datagrams[i].addresses.dest, &gids[(at + 1) % 3]));
		assert_true(fixture_is_datagram(&inbox->datagrams[i], at, 64));
		seen |= 1u << at;
	}
	assert_int_equal(seen, 7);
	port->ops->close(port);
	free(inbox);
}

static uint32_t receive_at(struct port *port, uint64_t now_ns)
{
	struct datagram received[8];

	return port->ops->receive(port, received, 8, now_ns);
}

/*
 * Of several addresses, the one that received last costs one system call a datagram for some
 * microseconds after all were quiet. Then, and once it has received, the others have their turn.
 */
static void test_latest_address_is_asked_alone(void **state)
{
	struct rnic_gid gids[2] = {fixture_own_gid(14), fixture_own_gid(15)};
	struct udp_options options = {.gids = gids, .gid_count = 2};
	struct datagram to_first = fixture_datagram(0, &gids[1], &gids[0], 64);
	struct datagram to_second = fixture_datagram(1, &gids[0], &gids[1], 64);
	const uint64_t now_ns = fixture_now_ns();
	char text[PORT_TEXT_BYTES];
	struct port *port;
	uint64_t calls;

	assert_int_equal(open_kind(state, &port, &options, text), 0);
	fixture_transmit(port, &to_second, 1);
	assert_true(fixture_is_due(port, 1000));
	assert_int_equal(receive_at(port, now_ns), 1);
	assert_int_equal(receive_at(port, now_ns), 0);
	calls = port->counters.receive_calls;
	assert_int_equal(receive_at(port, now_ns + 5000), 0);
	fixture_transmit(port, &to_second, 1);
	assert_true(fixture_is_due(port, 1000));
	assert_int_equal(receive_at(port, now_ns + 9000), 1);
	assert_int_equal(port->counters.receive_calls - calls, 2);
	fixture_transmit(port, &to_first, 1);
	assert_true(fixture_is_due(port, 1000));
	assert_int_equal(receive_at(port, now_ns + 9000), 1);
	assert_int_equal(receive_at(port, now_ns + 9000), 0);
	fixture_transmit(port, &to_second, 1);
	assert_true(fixture_is_due(port, 1000));
	assert_int_equal(receive_at(port, now_ns + 19000), 1);
	port->ops->close(port);
}

/* Addresses come and go while the port is open; the others do not notice. */
static void test_addresses_change(void **state)
{
	struct rnic_gid none = {0}, first = fixture_own_gid(21), second = fixture_own_gid(22),
			third = fixture_own_gid(23);
	struct udp_options options = {.gids = &none, .gid_count = 1};
	struct fixture_inbox *inbox = calloc(1, sizeof(*inbox));
	struct datagram datagram, lost;
	char text[PORT_TEXT_BYTES];
	struct port *port;

	assert_non_null(inbox);
	if (is_unsupported(open_kind(state, &port, &options, text))) {
		print_message("skipped: %s\n", text);
		free(inbox);
		skip();
	}
	assert_int_equal(port->ops->set_gid(port, 3, &first, NULL, text), 0);
	for (uint32_t i = 0; i < 20; i++) {
		const struct rnic_gid *moving = i % 2 == 0 ? &second : &third;

		assert_int_equal(port->ops->set_gid(port, 1, moving, NULL, text), 0);
		datagram = fixture_datagram(i, &first, moving, 64);
		fixture_transmit(port, &datagram, 1);
		fixture_receive(port, inbox, 1, 8);
		assert_int_equal(inbox->count, 1);
		assert_true(rnic_gid_equal(&inbox->datagrams[0].addresses.dest, moving));
		inbox->count = 0;
		/* A datagram of the last moment is not mistaken for one to the next address. */
		fixture_transmit(port, &datagram, 1);
		assert_int_equal(port->ops->set_gid(port, 1, NULL, NULL, text), 0);
		lost = fixture_datagram(i, moving, &first, 64);
		fixture_transmit(port, &lost, 1);
		assert_int_equal(port->counters.send_refused, i + 1);
		datagram = fixture_datagram(100, &first, &first, 64);
		fixture_transmit(port, &datagram, 1);
		do {
			inbox->count = 0;
			fixture_receive(port, inbox, 1, 1);
			assert_int_equal(inbox->count, 1);
		} while (rnic_gid_equal(&inbox->datagrams[0].addresses.dest, moving));
		assert_true(fixture_is_datagram(&inbox->datagrams[0], 100, 64));
		inbox->count = 0;
	}
	assert_int_equal(port->ops->set_gid(port, 1, &first, NULL, text), -EADDRINUSE);
	port->ops->close(port);
	free(inbox);
}

/*
 * One address is flooded faster than the port receives: datagrams to the other address arrive all
 * the same.
 */
static void test_flooded_neighbour(void **state)
{
	static uint8_t bytes[64];
	struct rnic_gid gids[2] = {fixture_own_gid(14), fixture_own_gid(15)};
	struct udp_options options = {.gids = gids, .gid_count = 2};
	struct datagram received[64];
	union udp_address addresses[2];
	socklen_t address_bytes = 0;
	char text[PORT_TEXT_BYTES];
	struct port *port;
	bool is_heard = false;
	int stranger;

	if (is_unsupported(open_kind(state, &port, &options, text))) {
		print_message("skipped: %s\n", text);
		skip();
	}
	stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (uint32_t i = 0; i < 2; i++)
		address_bytes = udp_address_write(&addresses[i], &gids[i], RNIC_UDP_PORT, 0);
	for (uint32_t turn = 0; turn < 32 && !is_heard; turn++) {
		uint32_t count;

		for (uint32_t i = 0; i < 64; i++)
			sendto(stranger, bytes, sizeof(bytes), 0, &addresses[0].any, address_bytes);
		if (turn == 0)
			sendto(stranger, bytes, sizeof(bytes), 0, &addresses[1].any, address_bytes);
		count = port->ops->receive(port, received, 64, fixture_now_ns());
		for (uint32_t i = 0; i < count; i++)
			is_heard |= rnic_gid_equal(&received[i].addresses.dest, &gids[1]);
	}
	assert_true(is_heard);
	close(stranger);
	port->ops->close(port);
}

/* An address in use is refused in words, and free again as soon as its port is closed. */
static void test_taken_and_released(void **state)
{
	struct pair *pair = pair_open(state, SEGMENTATION_AUTO, true);
	struct udp_options options = {.gid_count = 1};
	char text[PORT_TEXT_BYTES], expected[PORT_TEXT_BYTES], name[RNIC_GID_TEXT_BYTES];
	struct rnic_gid gid;
	struct port *port;

	if (pair == NULL)
		skip();
	gid = pair->gids[0];
	options.gids = &gid;
	snprintf(expected, sizeof(expected),
		 "UDP port 4791 on %s is taken by another program; ss -lnup shows by which",
		 rnic_gid_text(&gid, name));
	assert_int_equal(open_kind(state, &port, &options, text), -EADDRINUSE);
	assert_string_equal(text, expected);
	pair_close(pair);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(open_kind(state, &port, &options, text), 0);
		port->ops->close(port);
	}
}

static void test_foreign_address(void **state)
{
	struct rnic_gid gid = fixture_gid("203.0.113.1");
	struct udp_options options = {.gids = &gid, .gid_count = 1};
	char text[PORT_TEXT_BYTES];
	struct port *port;
	int result = open_kind(state, &port, &options, text);

	if (is_unsupported(result))
		skip();
	assert_int_equal(result, -EADDRNOTAVAIL);
	assert_string_equal(text, "203.0.113.1 is not an address of this machine");
}

static void test_auto_says_why(void **state)
{
	struct rnic_gid gid = fixture_own_gid(21);
	struct udp_options options = {.gids = &gid, .gid_count = 1};
	char text[PORT_TEXT_BYTES];
	struct port *port;

	(void)state;
	assert_int_equal(port_open_udp(&port, UDP_PORT_AUTO, &options, fixture_now_ns(), text), 0);
	assert_int_equal(strcmp(port->ops->name, "uring") == 0, text[0] == '\0');
	port->ops->close(port);
}

#define TEST_OVER(test, kind)                                                                      \
	{                                                                                          \
		.name = #test " " #kind, .test_func = test, .initial_state = &kind                 \
	}
#define TEST_OVER_BOTH(test) TEST_OVER(test, socket_kind), TEST_OVER(test, uring_kind)

int main(void)
{
	static enum udp_port_kind socket_kind = UDP_PORT_SOCKET, uring_kind = UDP_PORT_URING;
	const struct CMUnitTest tests[] = {
		TEST_OVER_BOTH(test_single_ipv4),
		TEST_OVER_BOTH(test_single_ipv6),
		TEST_OVER_BOTH(test_phase_of_arrivals),
		TEST_OVER_BOTH(test_gso_batches_ipv4),
		TEST_OVER_BOTH(test_gso_batches_ipv6),
		TEST_OVER_BOTH(test_one_by_one),
		TEST_OVER_BOTH(test_burst_of_gso_batches),
		TEST_OVER_BOTH(test_burst_of_singles),
		TEST_OVER_BOTH(test_overload),
		TEST_OVER_BOTH(test_damage),
		TEST_OVER_BOTH(test_refused),
		TEST_OVER_BOTH(test_gso_batch_refused),
		TEST_OVER_BOTH(test_nobody_listens),
		TEST_OVER_BOTH(test_nobody_listens_to_singles),
		TEST_OVER_BOTH(test_garbage),
		TEST_OVER_BOTH(test_arrival_before_sleep),
		TEST_OVER_BOTH(test_many_addresses),
		TEST_OVER(test_latest_address_is_asked_alone, socket_kind),
		TEST_OVER_BOTH(test_addresses_change),
		TEST_OVER_BOTH(test_flooded_neighbour),
		TEST_OVER_BOTH(test_taken_and_released),
		TEST_OVER_BOTH(test_foreign_address),
		cmocka_unit_test(test_auto_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
