/* SPDX-License-Identifier: MIT */
/* Ports that are given the sockets of lanes: two lanes at one address. */
#include "lib/nic/port/udp/udp_port.h"

#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/lib/nic/port/udp/udp_lane_fixture.h"
#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <unistd.h>

#define LANES	     2
#define EACH	     40 /* datagrams to each lane in a test */
#define BYTES	     1036
#define QPN_OF(lane) ((uint32_t)(lane) << 16 | 0x1234)

struct world {
	struct udp_lane_fixture lanes;
	struct udp_lane_sockets sockets[LANES]; /* the ports own them; for their numbers */
	uint16_t source_ports[LANES][RNIC_LANE_SEND_SOCKETS];
	struct port *ports[LANES];
	struct fixture_inbox inboxes[LANES];
};

/* A port with no GID yet, as device processes open it. NULL: this machine cannot. */
static struct port *open_empty(void **state, uint16_t udp_port)
{
	const struct udp_options options = {
		.udp_port = udp_port,
		.segmentation = SEGMENTATION_ON,
	};
	char text[PORT_TEXT_BYTES];
	struct port *port = NULL;
	int result = port_open_udp(&port, *(enum udp_port_kind *)*state, &options, fixture_now_ns(),
				   text);

	if (result == -ENOSYS || result == -EPERM || result == -EOPNOTSUPP) {
		print_message("skipped: %s\n", text);
		return NULL;
	}
	assert_int_equal(result, 0);
	return port;
}

static void give(struct world *world, uint32_t i, uint8_t lane)
{
	char text[PORT_TEXT_BYTES];

	world->sockets[i] = udp_lane_fixture_sockets(&world->lanes, lane);
	for (uint32_t j = 0; j < RNIC_LANE_SEND_SOCKETS; j++) {
		int fd = world->sockets[i].send_fds[j];

		world->source_ports[i][j] =
			fd < 0 ? world->lanes.udp_port : udp_lane_fixture_port_of(fd);
	}
	assert_int_equal(world->ports[i]->ops->set_gid(world->ports[i], 3, &world->lanes.gid,
						       &world->sockets[i], text),
			 0);
}

/* ports[i] has the lane `first` + i. NULL: this machine cannot, and a line says why. */
static struct world *world_open(void **state, const struct rnic_gid *gid, uint8_t first)
{
	struct world *world = calloc(1, sizeof(*world));
	uint16_t udp_port = rnic_gid_is_ipv4(gid) ? RNIC_UDP_PORT : fixture_udp_port();

	assert_non_null(world);
	if (!udp_lane_fixture_open(&world->lanes, gid, udp_port)) {
		free(world);
		return NULL;
	}
	for (uint32_t i = 0; i < LANES; i++) {
		world->ports[i] = open_empty(state, udp_port);
		if (world->ports[i] == NULL) {
			udp_lane_fixture_close(&world->lanes);
			free(world);
			return NULL;
		}
		give(world, i, (uint8_t)(first + i));
	}
	return world;
}

static void world_close(struct world *world)
{
	for (uint32_t i = 0; i < LANES; i++)
		world->ports[i]->ops->close(world->ports[i]);
	udp_lane_fixture_close(&world->lanes);
	free(world);
}

/* Fills `datagrams` with EACH to every lane in turn, `run` of a lane in a row. */
static void fill(struct world *world, struct datagram datagrams[LANES * EACH], uint8_t first,
		 uint32_t run)
{
	for (uint32_t i = 0; i < LANES * EACH; i++) {
		uint8_t lane = (uint8_t)(first + i / run % LANES);

		datagrams[i] = fixture_datagram(i, &world->lanes.gid, &world->lanes.gid, BYTES);
		udp_lane_fixture_set_qpn(&datagrams[i], QPN_OF(lane));
	}
}

/* Each lane has its own datagrams and no other, from the one source port, with the right ICRC. */
static void check_inbox(struct world *world, uint32_t sender, uint32_t i, uint8_t lane)
{
	struct fixture_inbox *inbox = &world->inboxes[i];
	uint16_t source_port = world->source_ports[sender][rnic_lane_send_socket(QPN_OF(lane))];

	fixture_receive(world->ports[i], inbox, EACH, 64);
	assert_int_equal(inbox->count, EACH);
	for (uint32_t j = 0; j < EACH; j++) {
		const struct datagram *datagram = &inbox->datagrams[j];

		assert_int_equal(rnic_bth_dest_qpn(datagram->bytes), QPN_OF(lane));
		assert_int_equal(datagram->addresses.source_port, source_port);
		assert_true(rnic_gid_equal(&datagram->addresses.dest, &world->lanes.gid));
		assert_int_not_equal(rnic_icrc_check(&datagram->addresses, datagram->bytes,
						     datagram->length, NULL),
				     RNIC_ICRC_BAD);
	}
	inbox->count = 0;
}

static void exchange(void **state, const struct rnic_gid *gid, uint8_t first)
{
	static const uint32_t runs[] = {1, 2, 10, EACH};
	struct world *world = world_open(state, gid, first);
	struct datagram datagrams[LANES * EACH];

	if (world == NULL)
		skip();
	for (size_t i = 0; i < RNIC_COUNT_OF(runs); i++)
		for (uint32_t sender = 0; sender < LANES; sender++) {
			fill(world, datagrams, first, runs[i]);
			fixture_transmit(world->ports[sender], datagrams, LANES * EACH);
			for (uint32_t j = 0; j < LANES; j++)
				check_inbox(world, sender, j, (uint8_t)(first + j));
		}
	world_close(world);
}

static void test_exchange_ipv4(void **state)
{
	const struct rnic_gid gid = fixture_own_gid(71);

	exchange(state, &gid, 0x80);
}

static void test_exchange_ipv6(void **state)
{
	const struct rnic_gid gid = fixture_gid("::1");

	exchange(state, &gid, 0x81);
}

/* Lane 0 sends from its receive socket. */
static void test_lane_zero(void **state)
{
	const struct rnic_gid gid = fixture_own_gid(72);

	exchange(state, &gid, RNIC_LANE_ZERO);
}

/*
 * The other holder keeps its duplicate of the receive socket, with what comes for the lane; the
 * port that gave the socket back hears of that no more, and can have it again.
 */
static void test_given_back(void **state)
{
	const struct rnic_gid gid = fixture_own_gid(73);
	struct world *world = world_open(state, &gid, 0x80);
	struct port *port;
	struct datagram datagram, received[4];
	char text[PORT_TEXT_BYTES];
	uint8_t bytes[8192];

	if (world == NULL)
		skip();
	port = world->ports[1];
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(port->ops->set_gid(port, 3, NULL, NULL, text), 0);
		datagram = fixture_datagram(0, &gid, &gid, BYTES);
		udp_lane_fixture_set_qpn(&datagram, QPN_OF(0x81));
		fixture_transmit(world->ports[0], &datagram, 1);
		assert_int_equal(port->ops->receive(port, received, 4, fixture_now_ns()), 0);
		assert_false(fixture_is_due(port, 0));
		assert_int_equal(recv(world->lanes.fds[2], bytes, sizeof(bytes), 0),
				 BYTES + RNIC_ICRC_BYTES);
		give(world, 1, 0x81);
		fixture_transmit(world->ports[0], &datagram, 1);
		fixture_receive(port, &world->inboxes[1], 1, 4);
		assert_int_equal(world->inboxes[1].count, 1);
		world->inboxes[1].count = 0;
	}
	world_close(world);
}

/* What is no socket is refused, and closed. */
static void test_unusable_sockets(void **state)
{
	const struct rnic_gid gid = fixture_own_gid(74);
	struct udp_lane_sockets sockets = {.receive_fd = open("/dev/null", O_RDONLY | O_CLOEXEC)};
	struct port *port = open_empty(state, 0);
	char text[PORT_TEXT_BYTES];

	if (port == NULL)
		skip();
	for (uint32_t i = 0; i < RNIC_LANE_SEND_SOCKETS; i++)
		sockets.send_fds[i] = -1;
	assert_true(port->ops->set_gid(port, 0, &gid, &sockets, text) < 0);
	assert_int_equal(close(sockets.receive_fd), -1);
	assert_int_equal(port->ops->set_gid(port, 0, &gid, NULL, text), 0);
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
		TEST_OVER_BOTH(test_exchange_ipv4),    TEST_OVER_BOTH(test_exchange_ipv6),
		TEST_OVER_BOTH(test_lane_zero),	       TEST_OVER_BOTH(test_given_back),
		TEST_OVER_BOTH(test_unusable_sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
