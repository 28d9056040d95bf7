/* SPDX-License-Identifier: MIT */
/* Two devices on the loopback interface and groups between them. */
#include "lib/nic/port/local/multicast.h"

#include "lib/nic/port/udp/udp_port.h"
#include "proto/base/bits.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <net/if.h>
#include <poll.h>
#include <unistd.h>

#define WAIT_MS	    5000
#define WATCHES_MAX 4
#define BYTES	    100

struct watches {
	struct pollfd fds[WATCHES_MAX];
	nfds_t count;
};

static void add_watch(void *context, int fd, bool for_writing)
{
	struct watches *watches = context;

	(void)for_writing;
	assert_true(watches->count < WATCHES_MAX);
	watches->fds[watches->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* Members of each group, as the port is told. */
static uint32_t member_count = 1;

static uint32_t count_members(void *context, const struct rnic_gid *group)
{
	(void)context;
	assert_true(rnic_gid_is_multicast(group));
	return member_count;
}

static struct port *open_port(const struct rnic_gid *own)
{
	const struct udp_options options = {
		.gids = own,
		.gid_count = 1,
		.netdev_index = if_nametoindex("lo"),
		.segmentation = SEGMENTATION_OFF,
	};
	const struct multicast_copies copies = {count_members, NULL};
	char text[PORT_TEXT_BYTES];
	struct port *udp, *port;

	assert_int_equal(udp_socket_open(&udp, &options, fixture_now_ns(), text), 0);
	assert_int_equal(multicast_open(&port, udp, &copies, text), 0);
	return port;
}

/* The datagrams that arrive within `wait_ms`, once the port's descriptors are ready. */
static uint32_t receive(struct port *port, struct datagram *into, uint32_t max, int wait_ms)
{
	struct watches watches = {0};
	uint32_t count;

	port->ops->watch(port, add_watch, &watches);
	do {
		count = port->ops->receive(port, into, max, fixture_now_ns());
	} while (count == 0 && poll(watches.fds, watches.count, wait_ms) > 0);
	return count;
}

/* Joins a group as the control plane does, and gives the socket to the port. */
static int port_join(struct port *port, const struct rnic_gid *group)
{
	struct udp_socket sock;
	int result = udp_group_open(&sock, group, if_nametoindex("lo"));

	return result == 0 ? multicast_give(port, group, sock.fd) : result;
}

/* A group of this run's own. */
static struct rnic_gid own_group(uint8_t number)
{
	struct rnic_gid group = fixture_own_gid(number);

	group.bytes[12] = 239;
	return group;
}

/* Every member receives a datagram, the sender's device too; a member that left receives none. */
static void members_hear_what_is_sent_to_their_group(void **state)
{
	const struct rnic_gid group = own_group(200);
	struct rnic_gid own[2] = {fixture_own_gid(60), fixture_own_gid(61)};
	struct port *ports[2] = {open_port(&own[0]), open_port(&own[1])};
	struct datagram received[4];

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(port_join(ports[i], &group), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct datagram sent = fixture_datagram(i, &own[0], &group, BYTES);

		fixture_transmit(ports[0], &sent, 1);
		for (uint32_t j = 0; j < 2; j++) {
			assert_int_equal(receive(ports[j], received, 4, WAIT_MS), 1);
			assert_true(fixture_is_datagram(&received[0], i, BYTES));
			assert_memory_equal(&received[0].addresses.dest, &group, sizeof(group));
			assert_memory_equal(&received[0].addresses.source, &own[0], 16);
			assert_int_not_equal(rnic_icrc_check(&received[0].addresses,
							     received[0].bytes, received[0].length,
							     NULL),
					     RNIC_ICRC_BAD);
		}
	}
	assert_int_equal(multicast_leave(ports[1], &group), 0);
	assert_int_equal(multicast_leave(ports[1], &group), -EINVAL);
	for (uint32_t i = 3; i < 4; i++) {
		struct datagram sent = fixture_datagram(i, &own[0], &group, BYTES);

		fixture_transmit(ports[0], &sent, 1);
		/* When the one has it, the other would have it too. */
		assert_int_equal(receive(ports[0], received, 4, WAIT_MS), 1);
		assert_int_equal(receive(ports[1], received, 4, 0), 0);
	}
	for (uint32_t i = 0; i < 2; i++)
		ports[i]->ops->close(ports[i]);
}

/* Sends eight datagrams, four to each group, and waits until `port` has them: `witness` has, too.
 */
static void send_to_groups(struct port *witness, const struct rnic_gid *own,
			   const struct rnic_gid groups[2])
{
	struct datagram sent, received[8];
	uint32_t heard = 0;

	member_count = 1;
	for (uint32_t i = 0; i < 8; i++) {
		sent = fixture_datagram(i, own, &groups[i / 4], BYTES);
		fixture_transmit(witness, &sent, 1);
	}
	while (heard < 8) {
		uint32_t count = receive(witness, received, 8, WAIT_MS);

		assert_true(count > 0);
		heard += count;
	}
}

/* Takes the datagrams sent to the groups, which have `members` each, by calls for 64 at a time. */
static void take_in_portions(struct port *port, const struct rnic_gid groups[2], uint32_t members,
			     uint32_t portion)
{
	struct datagram received[64];
	uint32_t taken[2] = {0};

	member_count = members;
	while (taken[0] + taken[1] < 8) {
		uint32_t count = receive(port, received, 64, WAIT_MS);

		assert_int_equal(count, portion);
		for (uint32_t i = 0; i < count; i++)
			taken[memcmp(&received[i].addresses.dest, &groups[1], 16) == 0]++;
		assert_true(taken[0] <= taken[1] + 1 && taken[1] <= taken[0] + 1);
	}
}

/* The more members there are to serve, the fewer datagrams at a time; groups take turns. */
static void many_members_leave_time_for_others(void **state)
{
	static const struct {
		uint32_t members;
		uint32_t portion;
	} cases[] = {{1, 8}, {4, 8}, {16, 2}, {20, 2}, {32, 1}, {256, 1}};
	const struct rnic_gid groups[2] = {own_group(201), own_group(202)};
	const struct rnic_gid own[2] = {fixture_own_gid(63), fixture_own_gid(64)};
	struct port *port = open_port(&own[0]), *witness = open_port(&own[1]);
	struct datagram received[64], single;
	struct watches watches = {0};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(port_join(port, &groups[i]), 0);
		assert_int_equal(port_join(witness, &groups[i]), 0);
	}
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		send_to_groups(witness, &own[1], groups);
		take_in_portions(port, groups, cases[i].members, cases[i].portion);
	}
	/* Others are heard in the same call, and groups however little is asked for. */
	send_to_groups(witness, &own[1], groups);
	single = fixture_datagram(9, &own[1], &own[0], BYTES);
	fixture_transmit(witness, &single, 1);
	port->ops->watch(port, add_watch, &watches);
	assert_int_equal(poll(&watches.fds[1], 1, WAIT_MS), 1); /* that of the port below */
	member_count = 256;
	assert_int_equal(receive(port, received, 64, 0), 2);
	assert_true(fixture_is_datagram(&received[1], 9, BYTES));
	assert_int_equal(receive(port, received, 1, 0), 1);
	port->ops->close(witness);
	port->ops->close(port);
}

static void there_is_an_end_of_groups(void **state)
{
	struct rnic_gid own = fixture_own_gid(62);
	struct port *port = open_port(&own);
	struct rnic_gid group = own_group(0);
	int result;

	(void)state;
	/* The system's own limit (igmp_max_memberships) counts per socket: one group each. */
	for (uint32_t i = 0; i < MULTICAST_GROUPS_MAX; i++) {
		group.bytes[15] = (uint8_t)i;
		assert_int_equal(port_join(port, &group), 0);
	}
	group.bytes[15] = MULTICAST_GROUPS_MAX;
	assert_int_equal(port_join(port, &group), -ENOSPC);
	group.bytes[15] = 7;
	assert_int_equal(multicast_leave(port, &group), 0);
	result = port_join(port, &own);
	assert_true(result < 0);
	assert_int_equal(port_join(port, &group), 0);
	port->ops->close(port);
}

/*
 * Sockets that another process joined: each member has a copy, the sender's too. The port that gave
 * a socket back hears of that no more, although the other process still has it.
 */
static void sockets_may_be_given(void **state)
{
	const struct rnic_gid group = own_group(203);
	struct rnic_gid own[2] = {fixture_own_gid(65), fixture_own_gid(66)};
	struct port *ports[2] = {open_port(&own[0]), open_port(&own[1])};
	struct datagram sent, received[4];
	struct watches watches = {0};
	struct udp_socket joined[2];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(udp_group_open(&joined[i], &group, if_nametoindex("lo")), 0);
		assert_int_equal(multicast_give(ports[i], &group, dup(joined[i].fd)), 0);
	}
	assert_int_equal(multicast_give(ports[0], &group, dup(joined[0].fd)), -EEXIST);
	sent = fixture_datagram(0, &own[0], &group, BYTES);
	fixture_transmit(ports[0], &sent, 1);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(receive(ports[i], received, 4, WAIT_MS), 1);
		assert_true(fixture_is_datagram(&received[0], 0, BYTES));
		assert_memory_equal(&received[0].addresses.dest, &group, sizeof(group));
	}
	assert_int_equal(multicast_leave(ports[1], &group), 0);
	fixture_transmit(ports[0], &sent, 1);
	assert_int_equal(receive(ports[0], received, 4, WAIT_MS), 1);
	assert_int_equal(receive(ports[1], received, 4, 0), 0);
	ports[1]->ops->watch(ports[1], add_watch, &watches);
	assert_int_equal(poll(watches.fds, watches.count, 0), 0);
	assert_true(recv(joined[1].fd, received, sizeof(received), 0) > 0);
	for (uint32_t i = 0; i < 2; i++) {
		ports[i]->ops->close(ports[i]);
		close(joined[i].fd);
	}
}

/* SO_REUSEADDR would let the programs of all users in. */
static void groups_are_shared_by_port_alone(void **state)
{
	static const int options[][2] = {{SO_REUSEPORT, 1}, {SO_REUSEADDR, 0}};
	const struct rnic_gid group = own_group(204);
	struct udp_socket joined;

	(void)state;
	assert_int_equal(udp_group_open(&joined, &group, if_nametoindex("lo")), 0);
	for (size_t i = 0; i < RNIC_COUNT_OF(options); i++) {
		int value = -1;
		socklen_t bytes = sizeof(value);

		assert_int_equal(getsockopt(joined.fd, SOL_SOCKET, options[i][0], &value, &bytes),
				 0);
		assert_int_equal(value, options[i][1]);
	}
	close(joined.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_hear_what_is_sent_to_their_group),
		cmocka_unit_test(many_members_leave_time_for_others),
		cmocka_unit_test(there_is_an_end_of_groups),
		cmocka_unit_test(sockets_may_be_given),
		cmocka_unit_test(groups_are_shared_by_port_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
