/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/device_link.h"

#include "tests/unit/daemon/control/supervisor/device_fixture.h"
#include "proto/wire/gid.h"
#include "proto/wire/headers.h"
#include "tests/unit/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static char reason[DEVICE_TEXT_BYTES];

/* An address comes a little later when there are no descriptors for its sockets. */
static void test_gid_without_descriptors(void **state)
{
	static const int errors[] = {-EMFILE, -ENFILE, -ENOMEM};
	const struct rnic_gid other = fixture_gid_of(9);
	const struct rnic_process_facts *facts;
	const struct rnic_process_gid *gid;

	(void)state;
	fixture_serve(FIXTURE_UID);
	for (uint32_t i = 0; i < COUNT_OF(errors); i++) {
		fixture->sockets_error = errors[i];
		device_set_set_gid(&fixture->set, 2 + i, &other);
		fixture->facts.gids.entries[2 + i].gid = other;
		device_set_set_facts(&fixture->set, 512);
		fixture_turn(FIXTURE_SECOND);
		assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt),
				 -EAGAIN);
		assert_true(device_set_next_deadline_ns(&fixture->set) <=
			    fixture->now_ns + FIXTURE_SECOND);
		fixture->sockets_error = 0;
		fixture_turn(FIXTURE_SECOND);
		gid = fixture_expect(RNIC_PROCESS_GID);
		assert_int_equal(gid->index, 2 + i);
		assert_int_equal(fixture->receipt.fd_count, 9);
		facts = fixture_expect(RNIC_PROCESS_FACTS);
		assert_memory_equal(&facts->gids.entries[2 + i].gid, &other, sizeof(other));
	}
}

/* Old sockets may be bound to the old interface, so the same address gets other ones. */
static void test_another_interface(void **state)
{
	const struct rnic_process_facts *facts;
	const struct rnic_process_gid *gid;
	const struct rnic_gid address = fixture_gid_of(1);

	(void)state;
	fixture_serve(FIXTURE_UID);
	device_set_set_netdev(&fixture->set, 12);
	device_set_set_facts(&fixture->set, 1024);
	gid = fixture_expect(RNIC_PROCESS_GID);
	assert_true(gid->index == 1 && rnic_gid_is_zero(&gid->gid));
	gid = fixture_expect(RNIC_PROCESS_GID);
	assert_true(gid->index == 1 && rnic_gid_equal(&gid->gid, &address));
	assert_int_equal(fixture->receipt.fd_count, 9);
	facts = fixture_expect(RNIC_PROCESS_FACTS);
	assert_int_equal(facts->netdev_index, 12);

	/* Once. */
	device_set_set_facts(&fixture->set, 512);
	fixture_expect(RNIC_PROCESS_FACTS);
}

/* The process of a lane is ended, and others are not. */
static void test_end_of_lane(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);

	(void)state;
	device_set_end_lane(&fixture->set, (uint8_t)(process->lane + 1), "another");
	device_set_end_lane(&fixture->set, (uint8_t)(process->lane - 1), "another");
	assert_int_equal(process->state, DEVICE_CHILD_SERVING);
	device_set_end_lane(&fixture->set, process->lane, "it keeps a socket");
	assert_int_equal(process->state, DEVICE_CHILD_KILLED);
	assert_string_equal(process->reason, "it keeps a socket");
}

/* Hands in so many packets, and lets as many turns pass as the control plane needs for them. */
static void hand_in(uint32_t qpn, uint32_t count)
{
	struct {
		struct rnic_process_packet packet;
		uint8_t datagram[RNIC_BTH_BYTES];
	} sent = {.packet = {.datagram_bytes = RNIC_BTH_BYTES}};
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_PACKET,
		.payload = &sent.packet,
		.payload_bytes = sizeof(sent.packet),
		.tail = sent.datagram,
		.tail_bytes = sizeof(sent.datagram),
	};

	rnic_bth_encode(&(struct rnic_bth){.dest_qpn = qpn}, sent.datagram);
	for (uint32_t done = 0; done < count;) {
		done += process_link_send(fixture->link_fds[0], &letter) == 0;
		fixture_turn(0);
	}
	for (uint32_t i = 0; i < count; i++)
		fixture_turn(0);
}

/*
 * A process may hand in so many packets at once, and some more in each 10 ms; what is too much is
 * lost, and counted.
 */
static void test_too_many_packets(void **state)
{
	enum { ROUNDS = 20 };
	static const struct {
		bool has_lanes;
		uint32_t qpn;
		uint32_t handed_in; /* in each round */
		uint32_t taken;	    /* in all rounds */
	} cases[] = {
		{false, 0x800000, 600, ROUNDS * 500},
		{true, 0x810000, 90, 512 + (ROUNDS - 1) * 50},
		{true, 1, 90, 32 + ROUNDS - 1},
	};
	struct device_child *process = fixture_serve(FIXTURE_UID);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		fixture_turn(FIXTURE_SECOND);
		fixture->packet_count = 0;
		fixture->set.common.lost_packets = 0;
		fixture->set.common.has_lanes = cases[i].has_lanes;
		for (int round = 0; round < ROUNDS; round++) {
			hand_in(cases[i].qpn, cases[i].handed_in);
			assert_false(process->inbox.is_muted);
			fixture_turn(FIXTURE_SECOND / 100);
		}
		assert_int_equal(fixture->packet_count, cases[i].taken);
		assert_int_equal(fixture->set.common.lost_packets,
				 ROUNDS * cases[i].handed_in - cases[i].taken);
	}
}

/* Packets of others leave room for what a process must know, though it reads nothing. */
static void test_packets_leave_room(void **state)
{
	enum { PACKETS = 3000 };
	const struct rnic_process_packet packet = {.datagram_bytes = 8};
	const struct served_client client = {.client_id = 5, .pid_fd = -1, .program = "prog"};
	struct device_child *process = fixture_serve(FIXTURE_UID);
	uint32_t arrived = 0;
	int fd;

	(void)state;
	for (uint32_t i = 0; i < PACKETS; i++)
		device_set_pass_packet(&fixture->set, process->lane, &packet,
				       (const uint8_t *)"12345678");
	device_set_set_facts(&fixture->set, 2048);
	assert_false(process->outbox.has_facts);
	assert_int_equal(device_set_connect(process, &client, &fd, reason), 0);
	close(fd);
	while (process_link_receive(fixture->link_fds[0], &fixture->receipt) == 0) {
		arrived += fixture->receipt.header.operation == RNIC_PROCESS_PACKET;
		process_receipt_drop(&fixture->receipt);
	}
	assert_int_equal(fixture->receipt.header.operation, RNIC_PROCESS_CLIENT);
	assert_true(arrived > 10);
	assert_int_equal(arrived + fixture->set.common.lost_packets, PACKETS);
	device_set_pass_packet(&fixture->set, RNIC_LANE_LAST, &packet, (const uint8_t *)"12345678");
	assert_int_equal(arrived + fixture->set.common.lost_packets, PACKETS + 1);
}

/*
 * A process uses one GID after the other, and applies facts after each begin. While the control
 * plane looks, the process lacks facts or shows the GID. The control plane must see one of the two.
 */
#define USE_ROUNDS 1000u

struct user_of_gids {
	struct rnic_stats_page stats;
	_Atomic uint64_t asked; /* the sequence of the facts that the process is to apply */
};

static void *use_gids(void *argument)
{
	struct user_of_gids *user = argument;

	for (uint64_t sequence = 1; sequence <= USE_ROUNDS * RNIC_GIDS_MAX; sequence++) {
		const uint32_t gid = UINT32_C(1) << (sequence - 1) % RNIC_GIDS_MAX;

		while (user->asked != sequence)
			sched_yield();
		atomic_store_explicit(&user->stats.gids_used, gid, memory_order_relaxed);
		atomic_store_explicit(&user->stats.facts_sequence, sequence, memory_order_release);
	}
	return NULL;
}

static void test_used_gids_stay(void **state)
{
	struct user_of_gids user = {.stats = {.magic = RNIC_STATS_MAGIC}};
	struct device_child process = {
		.state = DEVICE_CHILD_SERVING,
		.common = &fixture->set.common,
		.outbox = {.behind_since_ns = UINT64_MAX},
	};
	struct device_outbox *outbox = &process.outbox;
	uint32_t looks = 0;
	pthread_t thread;

	(void)state;
	stats_reader_begin(&process.stats, &user.stats, 0);
	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++)
		outbox->known[i] = fixture_gid_of((uint8_t)(i + 1));
	assert_int_equal(pthread_create(&thread, NULL, use_gids, &user), 0);
	for (uint32_t i = 0; i < USE_ROUNDS * RNIC_GIDS_MAX; i++) {
		outbox->sequence++;
		user.asked = outbox->sequence;
		do {
			if (++looks % 16 == 0)
				sched_yield(); /* there may be one processor */
			assert_true(device_link_uses_gid(&process, i % RNIC_GIDS_MAX));
		} while (stats_reader_facts_sequence(&process.stats) < outbox->sequence);
		assert_true(device_link_uses_gid(&process, i % RNIC_GIDS_MAX));
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
}

#define TEST(function)                                                                             \
	cmocka_unit_test_setup_teardown(function, device_fixture_open, device_fixture_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_gid_without_descriptors), TEST(test_end_of_lane),
		TEST(test_too_many_packets),	    TEST(test_packets_leave_room),
		TEST(test_used_gids_stay),	    TEST(test_another_interface),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
