/* SPDX-License-Identifier: MIT */
/* The network's answers that a loopback device never gives, given by a fake of sendmmsg. */
#include "lib/nic/port/udp/udp_batch.h"

#include "lib/nic/port/udp/udp_errors.h"
#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/lib/nic/port/udp/udp_lane_fixture.h"
#include "tests/unit/unit_test.h"

#define COUNT 6

/*
 * The fake of sendmmsg(): takes messages until it has taken `take`, then returns `error`. Returns
 * `route_error` whenever a message does not fit the route to its destination.
 */
struct fake {
	struct port port;
	uint32_t take;
	int error;
	uint32_t error_times; /* that it says so; 0 is 1 */
	int route_error;
	uint32_t way_datagrams_max; /* of a message; 0: any number */
	uint32_t way_bytes_max;	    /* of a datagram */
	const struct rnic_gid *way; /* NULL: to all destinations */
	uint32_t refusals;
	uint32_t messages_taken;
	uint32_t datagrams_taken;
	uint32_t datagrams_reported;
};

static bool fits_way(const struct fake *fake, const struct udp_message *message)
{
	if (fake->route_error == 0 ||
	    (fake->way != NULL &&
	     !rnic_gid_equal(fake->way, &message->datagrams[0].addresses.dest)))
		return true;
	return (fake->way_datagrams_max == 0 ||
		message->datagram_count <= fake->way_datagrams_max) &&
	       message->datagrams[0].length <= fake->way_bytes_max;
}

static uint32_t fake_send(struct port *port, struct udp_batch *batch, int *error)
{
	struct fake *fake = RNIC_CONTAINER_OF(port, struct fake, port);

	for (uint32_t i = 0; i < batch->count; i++) {
		if (fake->error != 0 && fake->messages_taken == fake->take) {
			*error = fake->error;
			if (fake->error_times <= 1)
				fake->error = 0;
			else
				fake->error_times--;
			return i;
		}
		if (!fits_way(fake, &batch->messages[i])) {
			*error = fake->route_error;
			fake->refusals++;
			return i;
		}
		fake->messages_taken++;
		fake->datagrams_taken += batch->messages[i].datagram_count;
	}
	return batch->count;
}

static void fake_sent(void *context, const struct datagram *datagram, uint16_t ipv4_identification,
		      uint64_t now_ns)
{
	struct fake *fake = context;
	enum rnic_icrc_verdict verdict;
	uint16_t identification = 0;

	(void)now_ns;
	verdict = rnic_icrc_check(&datagram->addresses, datagram->bytes,
				  datagram->length + RNIC_ICRC_BYTES, &identification);
	assert_int_equal(verdict == RNIC_ICRC_BAD, datagram->damage != 0);
	if (datagram->damage == 0)
		assert_int_equal(identification, ipv4_identification);
	fake->datagrams_reported++;
}

struct world {
	struct fake fake;
	struct segment_sink sink;
	struct udp_sockets sockets;
	struct udp_batch batch;
	struct datagram datagrams[COUNT];
};

static int no_neighbours(uint32_t netdev_index, struct rnic_gid *silent, uint32_t max)
{
	(void)netdev_index;
	(void)silent;
	(void)max;
	return 0;
}

/* Six datagrams in three GSO batches of two; the fourth is to be damaged. */
static struct world *world_create(uint32_t take, int error)
{
	struct rnic_gid source = fixture_own_gid(31), dest = fixture_own_gid(32);
	struct udp_options options = {
		.gids = &source,
		.gid_count = 1,
		.segmentation = SEGMENTATION_ON,
		.ask_neighbours = no_neighbours,
	};
	struct world *world = calloc(1, sizeof(*world));
	char text[PORT_TEXT_BYTES];

	assert_non_null(world);
	world->fake = (struct fake){.take = take, .error = error};
	world->sink = (struct segment_sink){fake_sent, &world->fake};
	options.sink = &world->sink;
	assert_int_equal(udp_sockets_open(&world->sockets, &options, 0, text), 0);
	for (uint32_t i = 0; i < COUNT; i++)
		world->datagrams[i] = fixture_datagram(i, &source, &dest, i % 2 == 0 ? 100 : 60);
	world->datagrams[3].damage = 1 + 8 * 30;
	return world;
}

static void world_destroy(struct world *world)
{
	udp_sockets_close(&world->sockets);
	free(world);
}

static uint32_t transmit(struct world *world, uint32_t first)
{
	return udp_batch_transmit(&world->batch, &world->sockets, &world->fake.port, fake_send,
				  world->datagrams + first, COUNT - first, 5);
}

static bool is_avoided(const struct world *world, uint32_t i)
{
	return segmentation_is_avoided(&world->sockets.segmentation,
				       &world->datagrams[i].addresses.dest, 5);
}

static void test_all_taken(void **state)
{
	struct world *world = world_create(0, 0);

	(void)state;
	assert_int_equal(transmit(world, 0), COUNT);
	assert_int_equal(world->fake.messages_taken, 3);
	assert_int_equal(world->fake.datagrams_reported, COUNT);
	assert_int_equal(world->fake.port.counters.sent_datagrams, COUNT);
	assert_int_equal(world->fake.port.counters.sent_bytes, 3 * (104 + 64));
	assert_false(world->sockets.sockets[0].is_blocked);
	world_destroy(world);
}

/* Stops at a full socket, and datagrams offered again are whole, damage included. */
static void test_told_to_wait(void **state)
{
	struct world *world = world_create(1, -EAGAIN);

	(void)state;
	assert_int_equal(transmit(world, 0), 2);
	assert_true(world->sockets.sockets[0].is_blocked);
	assert_int_equal(world->fake.datagrams_reported, 2);
	assert_int_equal(world->fake.port.counters.send_refused, 0);
	assert_int_equal(transmit(world, 2), COUNT - 2);
	assert_int_equal(world->fake.datagrams_taken, COUNT);
	assert_int_equal(world->fake.datagrams_reported, COUNT);
	world_destroy(world);
}

/* Datagrams that the network never takes are lost; the rest goes. */
static void test_refused(void **state)
{
	static const int errors[] = {-ENETUNREACH, -EHOSTUNREACH, -ECONNREFUSED,
				     -EPERM,	   -ENOBUFS,	  -ENOMEM};
	struct rnic_gid nowhere = fixture_own_gid(33);

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(errors); i++) {
		struct world *world = world_create(0, 0);

		world->fake.route_error = errors[i];
		world->fake.way = &nowhere;
		world->datagrams[2].addresses.dest = nowhere;
		world->datagrams[3].addresses.dest = nowhere;
		assert_int_equal(transmit(world, 0), COUNT);
		assert_int_equal(world->fake.port.counters.send_refused, 2);
		assert_int_equal(world->fake.port.refusal.error, errors[i]);
		assert_true(rnic_gid_equal(&world->fake.port.refusal.dest, &nowhere));
		assert_int_equal(world->fake.port.counters.sent_datagrams, COUNT - 2);
		assert_int_equal(world->fake.datagrams_reported, COUNT - 2);
		assert_false(is_avoided(world, 0));
		world_destroy(world);
	}
}

/*
 * An error of earlier datagrams, which the socket reports by failing this call, costs nothing, and
 * neither does an error right behind it.
 */
static void test_error_of_others(void **state)
{
	static const int errors[] = {-ECONNREFUSED, -EHOSTUNREACH, -ENETUNREACH, -EMSGSIZE,
				     -EACCES,	    -ENOPROTOOPT,  -EPROTO};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(errors); i++) {
		for (uint32_t times = 1; times <= 2; times++) {
			struct world *world = world_create(1, errors[i]);

			world->fake.error_times = times;
			assert_int_equal(transmit(world, 0), COUNT);
			assert_int_equal(world->fake.port.counters.send_refused, 0);
			assert_int_equal(world->fake.messages_taken, 3);
			assert_int_equal(world->fake.datagrams_reported, COUNT);
			world_destroy(world);
		}
	}
}

static const int gso_batch_errors[] = {-EIO, -EINVAL, -EOPNOTSUPP, -EMSGSIZE};

/* Where GSO batches are refused the same datagrams leave one by one, from then on; elsewhere GSO
 * batches. */
static void test_gso_batches_refused(void **state)
{
	struct rnic_gid elsewhere = fixture_own_gid(33);

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(gso_batch_errors); i++) {
		struct world *world = world_create(0, 0);

		world->fake.route_error = gso_batch_errors[i];
		world->fake.way_datagrams_max = 1;
		world->fake.way_bytes_max = RNIC_PACKET_BYTES_MAX;
		world->fake.way = &world->datagrams[0].addresses.dest;
		world->datagrams[4].addresses.dest = elsewhere;
		world->datagrams[5].addresses.dest = elsewhere;
		assert_int_equal(transmit(world, 0), COUNT);
		assert_int_equal(world->fake.messages_taken, 4 + 1);
		assert_int_equal(world->fake.datagrams_reported, COUNT);
		assert_int_equal(world->fake.port.counters.send_refused, 0);
		assert_true(is_avoided(world, 0));
		assert_false(is_avoided(world, 4));
		world->fake.refusals = 0;
		world->fake.messages_taken = 0;
		assert_int_equal(transmit(world, 0), COUNT);
		assert_int_equal(world->fake.messages_taken, 4 + 1);
		assert_int_equal(world->fake.refusals, 0);
		world_destroy(world);
	}
}

/* A way that nothing can take says nothing about GSO batches, there or elsewhere. */
static void test_way_refused(void **state)
{
	struct rnic_gid nowhere = fixture_own_gid(33);

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(gso_batch_errors); i++) {
		struct world *world = world_create(0, 0);

		world->fake.route_error = gso_batch_errors[i];
		world->fake.way = &nowhere;
		world->datagrams[2].addresses.dest = nowhere;
		world->datagrams[3].addresses.dest = nowhere;
		assert_int_equal(transmit(world, 0), COUNT);
		assert_int_equal(world->fake.messages_taken, 2);
		assert_int_equal(world->fake.datagrams_reported, COUNT - 2);
		assert_int_equal(world->fake.port.counters.send_refused, 2);
		assert_int_equal(world->fake.port.refusal.error, gso_batch_errors[i]);
		assert_false(is_avoided(world, 0));
		assert_false(is_avoided(world, 2));
		world_destroy(world);
	}
}

/* Of a GSO batch that is too long for the way, the shorter end is not. */
static void test_way_narrow(void **state)
{
	static const int errors[] = {-EINVAL, -EMSGSIZE};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(errors); i++) {
		struct world *world = world_create(0, 0);

		world->fake.route_error = errors[i];
		world->fake.way_bytes_max = 80;
		assert_int_equal(transmit(world, 0), COUNT);
		assert_int_equal(world->fake.datagrams_reported, COUNT / 2);
		assert_int_equal(world->fake.port.counters.send_refused, COUNT / 2);
		assert_false(is_avoided(world, 0));
		world_destroy(world);
	}
}

/* A socket that is full at that moment leaves the question open, and the datagrams whole. */
static void test_trial_told_to_wait(void **state)
{
	struct world *world = world_create(0, 0);

	(void)state;
	world->fake.route_error = -EIO;
	world->fake.way_datagrams_max = 1;
	world->fake.way_bytes_max = RNIC_PACKET_BYTES_MAX;
	world->fake.take = 1;
	world->fake.error = -EAGAIN;
	assert_int_equal(transmit(world, 2), 1);
	world->fake.take = 0;
	assert_int_equal(transmit(world, 3), 3);
	assert_int_equal(world->fake.datagrams_reported, 4);
	world_destroy(world);
}

/* Packets to a neighbour that does not answer are lost and reported; others leave. */
static void test_silent_neighbour(void **state)
{
	struct rnic_gid silent = fixture_own_gid(33);
	struct world *world = world_create(0, 0);
	const struct port *port = &world->fake.port;

	(void)state;
	world->datagrams[2].addresses.dest = silent;
	world->datagrams[3].addresses.dest = silent;
	neighbours_add(&world->sockets.neighbours, &silent, 0);
	world->sockets.neighbours.look_at_ns = UINT64_MAX; /* we know better than the kernel */
	assert_int_equal(transmit(world, 0), COUNT);
	assert_int_equal(world->fake.datagrams_reported, COUNT - 2);
	assert_int_equal(port->counters.send_refused, 2);
	assert_int_equal(port->report_count, 1);
	assert_int_equal(port->reports[0].error, -EHOSTUNREACH);
	assert_true(rnic_gid_equal(&port->reports[0].dest, &silent));
	assert_true(rnic_gid_equal(&port->reports[0].from, &world->sockets.sockets[0].gid));
	world_destroy(world);
}

/*
 * A socket that stays full makes us ask for such neighbours; a socket that is full for a moment
 * does not.
 */
static void test_full_for_long(void **state)
{
	struct world *world = world_create(0, 0);
	struct fake *fake = &world->fake;
	const struct neighbours *neighbours = &world->sockets.neighbours;

	(void)state;
	for (uint64_t now_ns = 1000000; now_ns < 40000000; now_ns += 3000000) {
		fake->take = fake->messages_taken + (now_ns < 20000000);
		fake->error = -EAGAIN;
		udp_batch_transmit(&world->batch, &world->sockets, &fake->port, fake_send,
				   world->datagrams, COUNT, now_ns);
		assert_int_equal(neighbours->look_at_ns != 0, now_ns > 28000000);
	}
	world_destroy(world);
}

/* Of a lane's send sockets each has its own batches, and only the full one waits. */
static void test_send_sockets(void **state)
{
	const struct rnic_gid gid = fixture_own_gid(33), dest = fixture_own_gid(32);
	struct world *world = world_create(1, -EAGAIN);
	struct udp_lane_sockets given;
	struct udp_lane_fixture lanes;
	char text[PORT_TEXT_BYTES];

	(void)state;
	assert_true(udp_lane_fixture_open(&lanes, &gid, RNIC_UDP_PORT));
	given = udp_lane_fixture_sockets(&lanes, 0x81);
	assert_int_equal(udp_sockets_add(&world->sockets, 1, &gid, &given, text), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		world->datagrams[i] = fixture_datagram(i, &gid, &dest, 100);
		udp_lane_fixture_set_qpn(&world->datagrams[i], i / 2 == 1 ? 0x8a0001 : 0x810001);
	}
	assert_int_equal(transmit(world, 0),
			 2); /* the first batch; the next one's socket is full */
	assert_ptr_equal(world->batch.socket, udp_sockets_sender(&world->sockets, 1, 2));
	assert_int_equal(world->batch.socket->fd, given.send_fds[2]);
	assert_true(world->batch.socket->is_blocked);
	assert_false(udp_sockets_sender(&world->sockets, 1, 1)->is_blocked);
	assert_false(world->sockets.sockets[1].is_blocked);
	assert_int_equal(transmit(world, 2), 4);
	assert_int_equal(world->fake.messages_taken, 3);
	assert_int_equal(world->datagrams[2].addresses.source_port,
			 udp_lane_fixture_port_of(given.send_fds[2]));
	assert_int_equal(world->datagrams[5].addresses.source_port,
			 udp_lane_fixture_port_of(given.send_fds[1]));
	udp_lane_fixture_close(&lanes);
	world_destroy(world);
}

/* Send sockets hear of their datagrams; the lane's receive socket would hear of others'. */
static void test_who_hears(void **state)
{
	const struct rnic_gid gid = fixture_own_gid(34);
	struct world *world = world_create(0, 0);
	struct udp_lane_sockets given;
	struct udp_lane_fixture lanes;
	char text[PORT_TEXT_BYTES];

	(void)state;
	assert_true(udp_lane_fixture_open(&lanes, &gid, RNIC_UDP_PORT));
	given = udp_lane_fixture_sockets(&lanes, 0x80);
	assert_int_equal(udp_sockets_add(&world->sockets, 1, &gid, &given, text), 0);
	given = udp_lane_fixture_sockets(&lanes, RNIC_LANE_ZERO);
	assert_int_equal(udp_sockets_add(&world->sockets, 2, &gid, &given, text), 0);
	udp_errors_look(&world->sockets, &world->fake.port, UDP_ERRORS_LOOK_NS);
	assert_false(world->sockets.sockets[1].hears);
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		assert_true(udp_sockets_sender(&world->sockets, 1, i)->hears);
	assert_true(world->sockets.sockets[2].hears);
	udp_lane_fixture_close(&lanes);
	world_destroy(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_taken),
		cmocka_unit_test(test_told_to_wait),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_error_of_others),
		cmocka_unit_test(test_gso_batches_refused),
		cmocka_unit_test(test_way_refused),
		cmocka_unit_test(test_way_narrow),
		cmocka_unit_test(test_trial_told_to_wait),
		cmocka_unit_test(test_silent_neighbour),
		cmocka_unit_test(test_full_for_long),
		cmocka_unit_test(test_send_sockets),
		cmocka_unit_test(test_who_hears),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
