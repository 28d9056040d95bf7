/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/lane_groups.h"

#include "proto/wire/gid.h"
#include "tests/unit/daemon/control/lanes/lane_group_fixture.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)

static char text[PORT_TEXT_BYTES];

static struct lane_groups *groups_open(uint64_t now_ns)
{
	const struct lane_groups_config config = {
		.gid_slots = 2, .segmentation = SEGMENTATION_ON, .owner = geteuid()};
	struct lane_groups *groups = calloc(1, sizeof(*groups));

	assert_non_null(groups);
	lane_groups_init(groups, &config, now_ns, text);
	/* Where the hard limit is low, the lanes are fewer and the tests are the same. */
	if (groups->sockets_each == LANE_GROUP_SOCKETS_MAX)
		assert_string_equal(text, "");
	else
		assert_non_null(strstr(text, "because of few descriptors"));
	assert_true(lane_groups_are_steered(groups));
	return groups;
}

static void groups_close(struct lane_groups *groups)
{
	lane_groups_close(groups);
	free(groups);
}

static int take_lane(struct lane_groups *groups, uint32_t account, uint8_t *lane)
{
	const struct lane_user user = {.account = account, .is_owner = true};

	return lane_groups_take(groups, &user, lane, text);
}

static void test_lane_at_all_addresses(void **state)
{
	struct rnic_gid gids[] = {fixture_own_gid(1), fixture_own_gid(2)};
	struct lane_groups *groups = groups_open(0);
	struct udp_lane_sockets sockets[2];
	struct lane_datagram datagram = lane_fixture_datagram(0x800000, 7);
	uint8_t lane;
	int sender;

	(void)state;
	assert_int_equal(lane_groups_set_gid(groups, 0, &gids[0], 0, text), 0);
	assert_int_equal(lane_groups_set_gid(groups, 5, &gids[1], 0, text), 0);
	assert_true(lane_groups_has(groups, 5));
	assert_false(lane_groups_has(groups, 1));
	assert_false(lane_groups_has(groups, UINT32_MAX));
	assert_int_equal(take_lane(groups, 1000, &lane), 0);
	assert_int_equal(lane, RNIC_LANE_FIRST);
	assert_int_equal(lane_groups_take_sockets(groups, 0, lane, &sockets[0], text), 0);
	assert_int_equal(lane_groups_take_sockets(groups, 5, lane, &sockets[1], text), 0);
	sender = lane_fixture_socket(&groups->groups[5]);
	lane_fixture_send(sender, &groups->groups[5], &datagram, 1);
	assert_true(lane_fixture_wait(sockets[1].receive_fd));
	for (uint32_t i = 0; i < 2; i++)
		udp_lane_sockets_close(&sockets[i]);
	assert_true(lane_groups_give_back(groups, lane));
	assert_int_equal(lane_groups_drained(groups), 1);
	assert_int_equal(take_lane(groups, 1000, &lane), 0);
	assert_int_equal(lane, RNIC_LANE_FIRST + 1);
	/* The count outlives the group. */
	assert_int_equal(lane_groups_set_gid(groups, 5, NULL, 0, text), 0);
	lane_groups_follow(groups, LANE_GROUPS_REST_NS);
	assert_int_equal(lane_groups_drained(groups), 1);
	close(sender);
	groups_close(groups);
}

/* What a holder leaves of a socket: readable for ever, or deaf for all but one. */
static void shut_down(int fd)
{
	assert_int_equal(shutdown(fd, SHUT_RDWR), -1);
	assert_int_equal(errno, ENOTCONN);
}

static void connect_to_itself(int fd)
{
	struct sockaddr_in address;
	socklen_t bytes = sizeof(address);

	assert_int_equal(getsockname(fd, (void *)&address, &bytes), 0);
	assert_int_equal(connect(fd, (void *)&address, bytes), 0);
}

/* A lane whose socket was spoiled goes to nobody else, whenever that happened. */
static void test_spoiled_sockets(void **state)
{
	static void (*const spoil[])(int fd) = {shut_down, connect_to_itself};
	struct rnic_gid gid = fixture_own_gid(4);

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(spoil); i++) {
		const bool is_late = i >= COUNT_OF(spoil);
		struct lane_groups *groups = groups_open(0);
		struct udp_lane_sockets sockets;
		uint8_t lane, other;

		assert_int_equal(lane_groups_set_gid(groups, 0, &gid, 0, text), 0);
		assert_int_equal(take_lane(groups, 1, &lane), 0);
		assert_int_equal(lane_groups_take_sockets(groups, 0, lane, &sockets, text), 0);
		if (is_late)
			assert_true(lane_groups_give_back(groups, lane));
		spoil[i % COUNT_OF(spoil)](sockets.receive_fd);
		udp_lane_sockets_close(&sockets);
		if (!is_late)
			assert_false(lane_groups_give_back(groups, lane));
		for (uint32_t user = 2; take_lane(groups, user, &other) == 0; user++)
			assert_int_not_equal(other, lane);
		assert_int_equal(take_lane(groups, 1, &other), 0);
		assert_int_equal(other, lane);
		groups_close(groups);
	}
}

/* An address can go and come back while a lane's holder still has its old sockets. */
static void test_rest(void **state)
{
	struct rnic_gid gid = fixture_own_gid(3);
	struct lane_groups *groups = groups_open(0);
	struct udp_lane_sockets old, new;
	uint8_t lane;

	(void)state;
	assert_int_equal(take_lane(groups, 1000, &lane), 0);
	assert_int_equal(lane_groups_set_gid(groups, 0, &gid, 0, text), 0);
	assert_int_equal(lane_groups_take_sockets(groups, 0, lane, &old, text), 0);
	assert_int_equal(lane_groups_set_gid(groups, 0, NULL, 0, text), 0);
	assert_false(lane_groups_has(groups, 0));
	assert_int_equal(lane_groups_follow(groups, SECOND_NS), 0);
	assert_int_equal(lane_groups_next_deadline_ns(groups), LANE_GROUPS_REST_NS);
	assert_int_equal(lane_groups_set_gid(groups, 1, &gid, SECOND_NS, text), 0);
	assert_int_equal(lane_groups_next_deadline_ns(groups), UINT64_MAX);
	assert_int_equal(lane_groups_take_sockets(groups, 1, lane, &new, text), 0);
	udp_lane_sockets_close(&new);
	/* After the rest the holder alone keeps the address, and is named once. */
	assert_int_equal(lane_groups_set_gid(groups, 1, NULL, SECOND_NS, text), 0);
	assert_int_equal(lane_groups_follow(groups, SECOND_NS + LANE_GROUPS_REST_NS), lane);
	assert_int_equal(lane_groups_follow(groups, SECOND_NS + LANE_GROUPS_REST_NS), 0);
	assert_int_equal(lane_groups_set_gid(groups, 1, &gid, 20 * SECOND_NS, text), -EADDRINUSE);
	assert_false(lane_groups_has(groups, 1));
	udp_lane_sockets_close(&old);
	assert_int_equal(lane_groups_set_gid(groups, 1, &gid, 20 * SECOND_NS, text), 0);
	groups_close(groups);
}

/*
 * Who still has a socket of a closed group is found when the holders have had their time, though
 * the group rested no longer; who has closed it, and who has ended meanwhile, is not.
 */
static void test_kept_sockets(void **state)
{
	struct rnic_gid gid = fixture_own_gid(5);
	struct lane_groups *groups = groups_open(0);
	struct udp_lane_sockets sockets[3];
	const uint64_t end_ns = LANE_GROUPS_REST_NS;
	uint8_t lanes[COUNT_OF(sockets)];

	(void)state;
	assert_int_equal(lane_groups_set_gid(groups, 0, &gid, 0, text), 0);
	for (uint32_t i = 0; i < COUNT_OF(sockets); i++) {
		assert_int_equal(take_lane(groups, 1000 + i, &lanes[i]), 0);
		assert_int_equal(lane_groups_take_sockets(groups, 0, lanes[i], &sockets[i], text),
				 0);
	}
	assert_int_equal(lane_groups_set_gid(groups, 0, NULL, 0, text), 0);
	for (uint8_t i = 0; i < LANE_GROUPS_RESTING_MAX; i++) {
		gid = fixture_own_gid((uint8_t)(20 + i));
		assert_int_equal(lane_groups_set_gid(groups, 0, &gid, 1, text), 0);
		assert_int_equal(lane_groups_set_gid(groups, 0, NULL, 1, text), 0);
	}
	udp_lane_sockets_close(&sockets[0]);
	assert_true(lane_groups_give_back(groups, lanes[1]));
	assert_int_equal(lane_groups_follow(groups, end_ns - 1), 0);
	assert_int_equal(lane_groups_next_deadline_ns(groups), end_ns);
	assert_int_equal(lane_groups_follow(groups, end_ns), lanes[2]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(lane_groups_follow(groups, end_ns + SECOND_NS + i), 0);
	for (uint32_t i = 1; i < COUNT_OF(sockets); i++)
		udp_lane_sockets_close(&sockets[i]);
	groups_close(groups);
}

/* More addresses go than groups may rest: those that rest for longest close. */
static void test_many_rest(void **state)
{
	struct lane_groups *groups = groups_open(0);
	struct lane_groups *other = groups_open(0);

	(void)state;
	for (uint8_t i = 0; i <= LANE_GROUPS_RESTING_MAX; i++) {
		struct rnic_gid gid = fixture_own_gid((uint8_t)(10 + i));

		assert_int_equal(lane_groups_set_gid(groups, 0, &gid, i, text), 0);
		assert_int_equal(lane_groups_set_gid(groups, 0, NULL, i, text), 0);
	}
	assert_int_equal(lane_groups_follow(groups, LANE_GROUPS_RESTING_MAX), 0);
	for (uint8_t i = 0; i <= LANE_GROUPS_RESTING_MAX; i++) {
		struct rnic_gid gid = fixture_own_gid((uint8_t)(10 + i));

		assert_int_equal(lane_groups_set_gid(other, i, &gid, 0, text),
				 i == 0 ? 0 : -EADDRINUSE);
	}
	groups_close(groups);
	groups_close(other);
}

static void test_few_descriptors(void **state)
{
	const struct lane_groups_config config = {.gid_slots = 2, .owner = geteuid()};
	struct rlimit files = {300, 300}, none = {3, 300};
	struct lane_groups *groups = calloc(1, sizeof(*groups));
	char name[LANE_GROUPS_TEXT_BYTES];
	uint8_t lane;

	(void)state;
	assert_non_null(groups);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	lane_groups_init(groups, &config, 0, text);
	print_message("%s\n", text);
	assert_non_null(strstr(text, "users at a time that are served: 9, because of few"));
	assert_int_equal(lane_groups_count(groups), 9);
	/* Two addresses, two groups that rest, and what a holder costs. */
	assert_int_equal(lane_groups_descriptors_max(groups),
			 (4 + LANE_GROUPS_HOLDER_DESCRIPTORS) * (9 + 1));
	lane_groups_text(groups, name);
	assert_string_equal(name, "9");
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(take_lane(groups, 1000, &lane), 0);
	assert_int_equal(take_lane(groups, 1000, &lane), -ENOSPC);
	lane_groups_close(groups);
	/* Nothing can be opened any more. */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	lane_groups_init(groups, &config, 0, text);
	assert_false(lane_groups_are_steered(groups));
	assert_int_equal(lane_groups_count(groups), 1);
	lane_groups_text(groups, name);
	assert_non_null(strstr(name, "one, "));
	assert_non_null(strstr(text, "one device process"));
	assert_int_equal(take_lane(groups, 1000, &lane), 0);
	assert_int_equal(take_lane(groups, 1000, &lane), -ENOSPC);
	lane_groups_close(groups);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	free(groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lane_at_all_addresses),
		cmocka_unit_test(test_spoiled_sockets),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_kept_sockets),
		cmocka_unit_test(test_many_rest),
		cmocka_unit_test(test_few_descriptors),
	};

	return cmocka_run_group_tests(tests, lane_fixture_be_ordinary, NULL);
}
