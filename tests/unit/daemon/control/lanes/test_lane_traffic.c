/* SPDX-License-Identifier: MIT */
/*
 * A flood to thousands of queue pairs of eight lanes, while lanes end and are given to the next
 * holder: each datagram ends up in its lane, exactly once. A sender in a thread of its own keeps
 * few datagrams under way in each lane, so that no buffer overflows.
 */
#include "daemon/control/lanes/lane_group.h"
#include "daemon/control/lanes/lane_table.h"

#include "tests/unit/daemon/control/lanes/lane_group_fixture.h"
#include "tests/unit/lib/nic/port/port_fixture.h"
#include "tests/unit/unit_test.h"

#include <linux/sock_diag.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define LANES	       8
#define BATCH	       64 /* datagrams of one UDP_SEGMENT send: all to one lane */
#define DATAGRAMS      1000000u
#define BATCHES	       (DATAGRAMS / BATCH)
#define UNDER_WAY_MAX  8u /* batches in one lane */
#define QPNS_EACH      1000u
#define CHANGE_BATCHES 32u /* before a lane loses or gets a holder */
#define QUIET_NS       UINT64_C(5000000000)

struct lane {
	struct udp_lane_sockets sockets; /* receive_fd is -1: the lane is free */
	_Atomic uint32_t sent;		 /* batches */
	_Atomic uint32_t accounted;
	uint32_t received; /* datagrams */
	uint32_t drained;
	uint32_t dropped; /* by the kernel, while the lane was free */
	uint32_t drops_at_take;
};

struct traffic {
	struct lane_group group;
	struct lane_table table;
	struct udp_lane_sockets sender; /* lane 0x90's: it sends as device processes do */
	struct lane lanes[LANES];
	uint8_t has_come[DATAGRAMS / 8];
	_Atomic bool must_end;
	uint32_t holders;
};

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static bool has_credit(const struct lane *lane)
{
	return atomic_load(&lane->sent) - atomic_load(&lane->accounted) < UNDER_WAY_MAX;
}

static void *send_all(void *context)
{
	struct traffic *traffic = context;
	struct lane_datagram batch[BATCH];
	uint32_t state = 1;

	for (uint32_t i = 0; i < BATCHES; i++) {
		uint32_t index = random_next(&state) % LANES;
		struct lane *lane = &traffic->lanes[index];
		uint32_t lane_byte = RNIC_LANE_FIRST + index;

		for (uint32_t j = 0; j < BATCH; j++) {
			uint32_t qpn = lane_byte << 16 | random_next(&state) % QPNS_EACH * 61;

			batch[j] = lane_fixture_datagram(qpn, i * BATCH + j);
		}
		while (!has_credit(lane) && !atomic_load(&traffic->must_end))
			sched_yield();
		if (atomic_load(&traffic->must_end))
			break;
		atomic_fetch_add(&lane->sent, 1);
		if (lane_fixture_send(traffic->sender.send_fds[lane_byte % RNIC_LANE_SEND_SOCKETS],
				      &traffic->group, batch, BATCH) != sizeof(batch))
			break;
	}
	return NULL;
}

/* The kernel counts a batch that it drops whole as one. */
static uint32_t drops_of(int fd)
{
	uint32_t values[SK_MEMINFO_VARS] = {0};
	socklen_t bytes = sizeof(values);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_MEMINFO, values, &bytes), 0);
	return values[SK_MEMINFO_DROPS];
}

static int group_fd(const struct traffic *traffic, uint32_t index)
{
	return traffic->group.fds[1 + index];
}

static void count_received(struct traffic *traffic, uint32_t index, struct lane_datagram *datagrams,
			   uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = datagrams[i].number;

		assert_int_equal(datagrams[i].bth[5], RNIC_LANE_FIRST + index);
		assert_true(number < DATAGRAMS);
		assert_false(traffic->has_come[number / 8] >> number % 8 & 1);
		traffic->has_come[number / 8] |= (uint8_t)(1 << number % 8);
	}
	traffic->lanes[index].received += count;
}

static void account(struct traffic *traffic, uint32_t index)
{
	struct lane *lane = &traffic->lanes[index];
	uint32_t drops = drops_of(group_fd(traffic, index)) - lane->drops_at_take;

	if (lane->sockets.receive_fd >= 0)
		assert_int_equal(drops, 0);
	atomic_store(&lane->accounted,
		     (lane->received + lane->drained + lane->dropped) / BATCH + drops);
}

static void drain_lane(struct traffic *traffic, uint32_t index)
{
	uint64_t before = traffic->group.drained;

	lane_group_give_back(&traffic->group, (uint8_t)(RNIC_LANE_FIRST + index));
	traffic->lanes[index].drained += (uint32_t)(traffic->group.drained - before);
}

static void receive_lane(struct traffic *traffic, uint32_t index)
{
	struct lane_datagram datagrams[2 * BATCH];
	struct lane *lane = &traffic->lanes[index];
	uint32_t count;

	if (lane->sockets.receive_fd >= 0)
		while ((count = lane_fixture_receive(lane->sockets.receive_fd, datagrams,
						     2 * BATCH)) > 0)
			count_received(traffic, index, datagrams, count);
	else
		drain_lane(traffic, index);
	account(traffic, index);
}

/* Gives the lane that is free for longest, if any, to a holder. */
static void take_lane(struct traffic *traffic)
{
	const struct lane_user user = {.account = traffic->holders, .is_owner = true};
	uint64_t before = traffic->group.drained;
	char text[PORT_TEXT_BYTES];
	struct lane *lane;
	uint8_t number;
	uint32_t drops;

	if (lane_table_choose(&traffic->table, &user, &number, text) != 0)
		return;
	lane_table_take(&traffic->table, &user, number);
	lane = &traffic->lanes[number - RNIC_LANE_FIRST];
	assert_int_equal(lane->sockets.receive_fd, -1);
	assert_int_equal(lane_group_take(&traffic->group, number, &lane->sockets, text), 0);
	lane->drained += (uint32_t)(traffic->group.drained - before);
	drops = drops_of(lane->sockets.receive_fd);
	lane->dropped += (drops - lane->drops_at_take) * BATCH;
	lane->drops_at_take = drops;
	traffic->holders++;
}

static void give_back_lane(struct traffic *traffic, uint32_t index)
{
	struct lane *lane = &traffic->lanes[index];

	if (lane->sockets.receive_fd < 0)
		return;
	udp_lane_sockets_close(&lane->sockets);
	drain_lane(traffic, index);
	lane_table_give_back(&traffic->table, (uint8_t)(RNIC_LANE_FIRST + index));
}

static uint32_t accounted_batches(const struct traffic *traffic)
{
	uint32_t batches = 0;

	for (uint32_t i = 0; i < LANES; i++)
		batches += atomic_load(&traffic->lanes[i].accounted);
	return batches;
}

/* Receives until all batches are accounted for, or until none came for long. */
static void receive_all(struct traffic *traffic)
{
	uint64_t last_ns = fixture_now_ns();
	uint32_t state = 2, last = 0, change_at = CHANGE_BATCHES;
	bool is_taking = false;

	while (last < BATCHES) {
		for (uint32_t i = 0; i < LANES; i++)
			receive_lane(traffic, i);
		if (last >= change_at) {
			if (is_taking)
				take_lane(traffic);
			else
				give_back_lane(traffic, random_next(&state) % LANES);
			is_taking = !is_taking;
			change_at = last + CHANGE_BATCHES;
		}
		if (accounted_batches(traffic) != last) {
			last = accounted_batches(traffic);
			last_ns = fixture_now_ns();
		} else if (fixture_now_ns() - last_ns > QUIET_NS) {
			break;
		} else {
			sched_yield();
		}
	}
	atomic_store(&traffic->must_end, true);
}

static uint32_t count_come(const struct traffic *traffic)
{
	uint32_t come = 0;

	for (size_t i = 0; i < sizeof(traffic->has_come); i++)
		come += (uint32_t)__builtin_popcount(traffic->has_come[i]);
	return come;
}

/* All datagrams are accounted for, and most have met a holder. */
static void check_counts(const struct traffic *traffic)
{
	uint32_t received = 0, unheld = 0;

	for (uint32_t i = 0; i < LANES; i++) {
		const struct lane *lane = &traffic->lanes[i];
		uint32_t drops = drops_of(group_fd(traffic, i)) - lane->drops_at_take;

		assert_int_equal(lane->received + lane->drained + lane->dropped + drops * BATCH,
				 lane->sent * BATCH);
		received += lane->received;
		unheld += lane->drained + lane->dropped + drops * BATCH;
	}
	assert_int_equal(received + unheld, DATAGRAMS);
	assert_int_equal(count_come(traffic), received);
	assert_true(received > unheld);
	print_message("%u datagrams arrived, %u came for a lane without a holder; %u holders\n",
		      received, unheld, traffic->holders);
}

static void test_traffic(void **state)
{
	struct rnic_gid gid = fixture_own_gid(1);
	struct traffic *traffic = calloc(1, sizeof(*traffic));
	char text[PORT_TEXT_BYTES];
	struct lane_datagram datagram;
	pthread_t thread;

	(void)state;
	assert_non_null(traffic);
	lane_fixture_open(&traffic->group, &gid, 0, LANE_GROUP_SOCKETS_MAX);
	assert_int_equal(lane_group_take(&traffic->group, 0x90, &traffic->sender, text), 0);
	for (uint32_t i = 0; i < LANES; i++)
		traffic->lanes[i].sockets.receive_fd = -1;
	lane_table_init(&traffic->table, LANES);
	for (uint32_t i = 0; i < LANES; i++)
		take_lane(traffic);
	assert_int_equal(pthread_create(&thread, NULL, send_all, traffic), 0);
	receive_all(traffic);
	pthread_join(thread, NULL);
	check_counts(traffic);
	for (uint32_t i = 0; i <= LANE_TABLE_LANES; i++)
		if (i == 0 || i > LANES)
			assert_int_equal(lane_fixture_receive(traffic->group.fds[i], &datagram, 1),
					 0);
	for (uint32_t i = 0; i < LANES; i++)
		udp_lane_sockets_close(&traffic->lanes[i].sockets);
	udp_lane_sockets_close(&traffic->sender);
	lane_group_close(&traffic->group);
	free(traffic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traffic),
	};

	return cmocka_run_group_tests(tests, lane_fixture_be_ordinary, NULL);
}
