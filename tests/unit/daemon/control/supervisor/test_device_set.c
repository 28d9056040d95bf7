/* SPDX-License-Identifier: MIT */
#include "tests/unit/daemon/control/supervisor/device_fixture.h"

#include "daemon/shared/base/log.h"
#include "lib/wait/clock.h"
#include "proto/base/causes.h"
#include "tests/hostile/lingering_socket.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct served_client client_of(uint32_t client_id)
{
	return (struct served_client){.client_id = client_id,
				      .uid = FIXTURE_UID,
				      .pid = 77,
				      .pid_fd = -1,
				      .program = "prog"};
}

static char reason[DEVICE_TEXT_BYTES];

static void test_start(void **state)
{
	struct device_child *process = fixture_acquire();
	const struct served_client client = client_of(5);
	const struct rnic_process_start *start;
	const struct rnic_process_client *sent;
	const struct rnic_process_facts *facts;
	const struct rnic_process_gid *gid;
	const struct rnic_facts_page *page = process->facts_page.address;
	int fd;

	(void)state;
	start = fixture_expect(RNIC_PROCESS_START);
	assert_int_equal(fixture->receipt.fd_count, 2);
	assert_int_equal(start->lane, RNIC_LANE_FIRST);
	assert_int_equal(start->uid, FIXTURE_UID);
	assert_int_equal(start->speed_mbps, 4242);
	assert_int_equal(start->memory_bytes, FIXTURE_MEMORY_BYTES / 8);
	fixture_turn(0);
	assert_int_equal(device_set_connect(process, &client, &fd, reason), -EINPROGRESS);
	assert_ptr_equal(fixture_acquire(), process);
	assert_int_equal(fixture->launch_count, 1);

	device_set_take_news(&fixture->set);
	fixture_say_ready(0, "");
	fixture_turn(0);
	assert_true(device_set_take_news(&fixture->set));
	assert_false(device_set_take_news(&fixture->set));
	gid = fixture_expect(RNIC_PROCESS_GID);
	assert_int_equal(gid->index, 1);
	assert_int_equal(gid->gid.bytes[15], 1);
	assert_int_equal(fixture->receipt.fd_count, 9);
	facts = fixture_expect(RNIC_PROCESS_FACTS);
	assert_int_equal(facts->sequence, 1);
	assert_int_equal(facts->path_mtu_bytes, 1024);
	assert_int_equal(facts->gids.entries[1].gid.bytes[15], 1);
	assert_int_equal(page->sequence, 1);
	assert_string_equal(process->udp_port, "socket");

	assert_int_equal(device_set_connect(process, &client, &fd, reason), 0);
	sent = fixture_expect(RNIC_PROCESS_CLIENT);
	assert_int_equal(sent->client_id, 5);
	assert_int_equal(sent->uid, FIXTURE_UID);
	assert_string_equal(sent->program, "prog");
	assert_int_equal(fixture->receipt.fd_count, 1);
	close(fd);
}

static void test_a_device_that_cannot_start(void **state)
{
	struct device_child *process = fixture_acquire(), *next;
	const struct served_client client = client_of(5);
	int fd;

	(void)state;
	fixture_expect(RNIC_PROCESS_START);
	fixture_say_ready(-ENOMEM, "no memory\nfor rings");
	fixture_turn(0);
	assert_int_equal(process->state, DEVICE_CHILD_ENDING);
	assert_int_equal(device_set_connect(process, &client, &fd, reason), -ENODEV);
	assert_string_equal(reason, "no memory?for rings");
	kill(fixture->pids[0], SIGKILL);
	fixture_await(process, DEVICE_CHILD_DEAD);
	assert_int_equal(fixture->lanes_given_back, 1);
	assert_int_equal(device_set_process_count(&fixture->set), 0);

	/* The object stays while a client refers to it, but the next client gets a new process. */
	next = fixture_acquire();
	assert_ptr_not_equal(next, process);
	device_set_release(process);
	fixture_turn(0);
	assert_int_equal(fixture->launch_count, 2);
}

static void test_a_program_that_is_missing(void **state)
{
	const unsigned before = fixture_open_fds();
	struct device_child *process;

	(void)state;
	fixture->launch_error = -ENOENT;
	assert_int_equal(device_set_acquire(&fixture->set, FIXTURE_UID, &process, reason), -ENOENT);
	assert_non_null(strstr(reason, "process, /rnicd-device: No such file or directory"));
	assert_int_equal(fixture->lanes_given_back, 1);
	assert_int_equal(fixture->set.common.memory.process_count, 0);
	assert_int_equal(fixture_open_fds(), before);
}

static void test_death(void **state)
{
	const unsigned before = fixture_open_fds();
	struct device_child *process = fixture_serve(FIXTURE_UID);
	const struct served_client client = client_of(5);
	int fd;

	(void)state;
	kill(fixture->pids[0], SIGKILL);
	close(fixture->link_fds[0]);
	fixture->link_fds[0] = -1;
	fixture_await(process, DEVICE_CHILD_DEAD);
	assert_int_equal(device_set_connect(process, &client, &fd, reason), -ENODEV);
	assert_string_equal(reason, "the device process was ended by signal 9 (Killed)");
	assert_int_equal(fixture->lanes_given_back, 1);
	assert_int_equal(fixture->set.common.memory.process_count, 0);
	device_set_release(process);
	fixture_await_closes();
	fixture_turn(0);
	assert_true(list_is_empty(&fixture->set.processes));
	assert_int_equal(fixture_open_fds(), before);
}

/* The programs are told of every end that the control plane did not want, also with status 0. */
static void test_each_end_is_told(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);

	(void)state;
	kill(fixture->pids[0], SIGUSR1);
	fixture_await(process, DEVICE_CHILD_DEAD);
	device_set_release(process);
	assert_int_equal(fixture->trouble_count, 1);
	assert_string_equal(fixture->trouble.reason,
			    "it ended with status 0; its programs lost their device");
	process = fixture_serve(FIXTURE_UID);
	device_child_happen(process, DEVICE_CHILD_END, NULL);
	kill(fixture->pids[0], SIGUSR1);
	fixture_await(process, DEVICE_CHILD_DEAD);
	device_set_release(process);
	assert_int_equal(fixture->trouble_count, 1);
}

/* A process that never answers START costs one deadline. */
static void test_silence_at_start(void **state)
{
	struct device_child *process = fixture_acquire();
	const struct served_client client = client_of(5);
	int fd;

	(void)state;
	assert_true(device_set_next_deadline_ns(&fixture->set) <=
		    fixture->now_ns + 10 * FIXTURE_SECOND);
	fixture_turn(9 * FIXTURE_SECOND);
	assert_int_equal(device_set_connect(process, &client, &fd, reason), -EINPROGRESS);
	device_set_take_news(&fixture->set);
	fixture_turn(2 * FIXTURE_SECOND);
	assert_true(device_set_take_news(&fixture->set));
	assert_int_equal(device_set_connect(process, &client, &fd, reason), -ENODEV);
	assert_string_equal(reason, "the device process did not start in time");
	fixture_await(process, DEVICE_CHILD_DEAD);
}

/* A process that stopped gets the latest state when it goes on, and not all that was before. */
static void test_a_stopped_device(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);
	const struct served_client client = client_of(5);
	struct rnic_gid gid;
	uint32_t messages = 0;
	int fd, result = 0;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		gid = fixture_gid_of((uint8_t)i);
		device_set_set_gid(&fixture->set, 2, &gid);
		fixture->facts.gids.entries[2].gid = gid;
		device_set_set_facts(&fixture->set, 256 + i);
	}
	assert_true(process->outbox.has_facts);
	for (uint32_t i = 0; i < 3000; i++) {
		struct rnic_process_packet packet = {.datagram_bytes = 8};

		device_set_pass_packet(&fixture->set, process->lane, &packet,
				       (const uint8_t *)"12345678");
	}
	result = device_set_connect(process, &client, &fd, reason);
	assert_int_equal(result, -EINPROGRESS);
	assert_int_equal(process->state, DEVICE_CHILD_SERVING);
	assert_true(device_set_uses_gid(&fixture->set, 1));
	/* Attempts become rare. */
	for (int i = 0; i < 20; i++)
		fixture_turn(FIXTURE_SECOND / 4);
	assert_true(device_set_next_deadline_ns(&fixture->set) - fixture->now_ns >=
		    FIXTURE_SECOND / 5);
	fixture_turn(30 * FIXTURE_SECOND);
	assert_false(device_set_uses_gid(&fixture->set, 1));

	while (process_link_receive(fixture->link_fds[0], &fixture->receipt) == 0) {
		process_receipt_drop(&fixture->receipt);
		messages++;
	}
	assert_true(messages > 10);
	fixture_turn(FIXTURE_SECOND);
	assert_false(process->outbox.has_facts);
	assert_int_equal(device_set_connect(process, &client, &fd, reason), 0);
	close(fd);
	while (process_link_receive(fixture->link_fds[0], &fixture->receipt) == 0) {
		if (fixture->receipt.header.operation == RNIC_PROCESS_FACTS)
			assert_int_equal(((struct rnic_process_facts *)fixture->receipt.payload)
						 ->path_mtu_bytes,
					 256 + 1999);
		process_receipt_drop(&fixture->receipt);
	}
	assert_int_equal(fixture->receipt.header.operation, RNIC_PROCESS_CLIENT);
}

static void test_gids_move_in_order(void **state)
{
	const struct rnic_gid none = {{0}}, one = fixture_gid_of(1), other = fixture_gid_of(9);
	const struct rnic_process_gid *gid;
	const struct rnic_process_facts *facts;
	struct device_child *process = fixture_serve(FIXTURE_UID);

	(void)state;
	/* The GID of slot 1 moves to slot 0, and another one comes into its place. */
	device_set_set_gid(&fixture->set, 0, &one);
	device_set_set_gid(&fixture->set, 1, &other);
	fixture->facts.gids.entries[0].gid = one;
	fixture->facts.gids.entries[1].gid = other;
	device_set_set_facts(&fixture->set, 512);
	gid = fixture_expect(RNIC_PROCESS_GID);
	assert_int_equal(gid->index, 1);
	assert_memory_equal(&gid->gid, &none, sizeof(none));
	assert_int_equal(fixture->receipt.fd_count, 0);
	gid = fixture_expect(RNIC_PROCESS_GID);
	assert_int_equal(gid->index, 0);
	gid = fixture_expect(RNIC_PROCESS_GID);
	assert_int_equal(gid->index, 1);
	assert_memory_equal(&gid->gid, &other, sizeof(other));
	facts = fixture_expect(RNIC_PROCESS_FACTS);
	assert_int_equal(facts->sequence, 2);

	/* A GID whose sockets cannot be had is left out of the facts. */
	fixture->sockets_error = -EADDRNOTAVAIL;
	device_set_set_gid(&fixture->set, 3, &other);
	fixture->facts.gids.entries[3].gid = other;
	device_set_set_facts(&fixture->set, 512);
	facts = fixture_expect(RNIC_PROCESS_FACTS);
	assert_memory_equal(&facts->gids.entries[3].gid, &none, sizeof(none));
	assert_memory_equal(&facts->gids.entries[1].gid, &other, sizeof(other));
	assert_int_equal(process->outbox.sequence, 3);
}

/* The statistics page is written by the device process, the facts page is not. */
static void test_statistics(void **state)
{
	struct device_child *process = fixture_acquire();
	struct stats_objects objects;
	struct rnic_stats_page *stats;

	(void)state;
	stats_totals_add(&fixture->set.common.totals, RNIC_STATS_DEVICE, "sent");
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), 0);
	assert_ptr_equal(
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fixture->receipt.fds[0], 0),
		MAP_FAILED);
	assert_int_equal(ftruncate(fixture->receipt.fds[0], 0), -1);
	assert_int_equal(ftruncate(fixture->receipt.fds[1], 0), -1);
	stats = mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE, MAP_SHARED,
		     fixture->receipt.fds[1], 0);
	assert_ptr_not_equal(stats, MAP_FAILED);
	process_receipt_drop(&fixture->receipt);
	fixture_say_ready(0, "");
	fixture_turn(0);

	/* The process has not applied the facts, and may use any GID that it knows. */
	stats->magic = RNIC_STATS_MAGIC;
	assert_true(device_set_uses_gid(&fixture->set, 1));
	assert_false(device_set_uses_gid(&fixture->set, 2));
	stats->facts_sequence = 1;
	assert_false(device_set_uses_gid(&fixture->set, 1));
	stats->gids_used = 1 << 1;
	assert_true(device_set_uses_gid(&fixture->set, 1));

	stats->qp_count = 3;
	objects = device_set_objects(&fixture->set);
	assert_int_equal(objects.qps, 3);
	stats->counters[0].kind = RNIC_STATS_DEVICE;
	memcpy(stats->counters[0].name, "sent", 5);
	stats->counters[0].value = 41;
	stats->counter_count = 1;
	assert_int_equal(device_set_totals(&fixture->set)->entries[0].value, 41);
	stats->counters[0].value = 42;
	kill(fixture->pids[0], SIGKILL);
	fixture_await(process, DEVICE_CHILD_DEAD);
	assert_int_equal(device_set_totals(&fixture->set)->entries[0].value, 42);
	objects = device_set_objects(&fixture->set);
	assert_int_equal(objects.qps, 0);
	munmap(stats, sizeof(*stats));
}

static void test_users(void **state)
{
	static const uid_t allowed[] = {1005, 1006};
	struct device_child *processes[4];

	(void)state;
	assert_int_equal(device_set_acquire(&fixture->set, 1, &processes[0], reason), 0);
	assert_int_equal(device_set_acquire(&fixture->set, 2, &processes[1], reason), 0);
	assert_ptr_not_equal(processes[0], processes[1]);
	assert_int_equal(processes[1]->uid, 2);

	fixture->set.owner = 1004;
	fixture->set.allowed = allowed;
	fixture->set.allowed_count = 2;
	assert_int_equal(device_set_acquire(&fixture->set, 1004, &processes[0], reason), 0);
	assert_int_equal(device_set_acquire(&fixture->set, 0, &processes[1], reason), 0);
	assert_int_equal(device_set_acquire(&fixture->set, 1006, &processes[2], reason), 0);
	assert_ptr_equal(processes[0], processes[1]);
	assert_ptr_equal(processes[0], processes[2]);
	assert_int_equal(processes[0]->uid, 1004);
	assert_int_equal(device_set_acquire(&fixture->set, 1007, &processes[3], reason), -EPERM);
	assert_string_equal(
		reason,
		"this rnicd serves user 1004 and root; rnicd --allow 1007 serves user 1007 too");
}

/* Without lanes for others, a daemon serves in the owner's device process or not at all. */
static void test_one_lane(void **state)
{
	struct device_child *processes[2];

	(void)state;
	fixture->set.has_one_lane = true;
	assert_int_equal(device_set_acquire(&fixture->set, 1, &processes[0], reason), -EPERM);
	assert_non_null(strstr(reason, "serves root alone"));
	assert_int_equal(device_set_acquire(&fixture->set, 0, &processes[0], reason), 0);
	assert_int_equal(processes[0]->uid, 0);

	fixture->set.owner = 1004;
	assert_int_equal(device_set_acquire(&fixture->set, 1004, &processes[0], reason), 0);
	assert_int_equal(device_set_acquire(&fixture->set, 0, &processes[1], reason), 0);
	assert_ptr_equal(processes[0], processes[1]);
	assert_int_equal(device_set_acquire(&fixture->set, 1, &processes[1], reason), -EPERM);
}

static void test_idle_end(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);

	(void)state;
	fixture_turn(60 * FIXTURE_SECOND);
	assert_int_equal(process->state, DEVICE_CHILD_SERVING);
	device_set_release(process);
	fixture_turn(4 * FIXTURE_SECOND);
	assert_int_equal(process->state, DEVICE_CHILD_SERVING);
	/* A client in time keeps it. */
	assert_ptr_equal(fixture_acquire(), process);
	fixture_turn(60 * FIXTURE_SECOND);
	device_set_release(process);
	fixture_turn(6 * FIXTURE_SECOND);
	assert_int_equal(process->state, DEVICE_CHILD_ENDING);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), -EPIPE);
	assert_ptr_not_equal(fixture_acquire(), process);
	/* The child of the test does not end by itself. */
	fixture_turn(FIXTURE_SECOND);
	assert_int_equal(process->state, DEVICE_CHILD_KILLED);
	process->references++; /* so that the object stays */
	fixture_await(process, DEVICE_CHILD_DEAD);
	device_set_release(process);
	assert_int_equal(device_set_process_count(&fixture->set), 1);
}

static void test_groups(void **state)
{
	struct rnic_process_group join = {.group = {{0xff, 0x0e}}};
	const struct rnic_process_group *joined;

	(void)state;
	fixture_serve(FIXTURE_UID);
	fixture_say(RNIC_PROCESS_JOIN, &join, sizeof(join));
	fixture_turn(0);
	joined = fixture_expect(RNIC_PROCESS_JOINED);
	assert_int_equal(joined->status, 0);
	assert_int_equal(joined->group.bytes[0], 0xff);
	assert_int_equal(fixture->receipt.fd_count, 1);
	fixture->group_error = -EADDRNOTAVAIL;
	fixture_say(RNIC_PROCESS_LEAVE, &join, sizeof(join));
	fixture_say(RNIC_PROCESS_JOIN, &join, sizeof(join));
	fixture_turn(0);
	joined = fixture_expect(RNIC_PROCESS_JOINED);
	assert_int_equal(joined->status, -EADDRNOTAVAIL);
	assert_int_equal(fixture->receipt.fd_count, 0);
}

/* JOINs whose answers are not read: the process is not read either. */
static void test_answers_not_read(void **state)
{
	const struct rnic_process_group join = {.group = {{0xff, 0x0e}}};
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_JOIN, .payload = &join, .payload_bytes = sizeof(join)};
	struct device_child *process = fixture_serve(FIXTURE_UID);
	const unsigned before = fixture_open_fds();

	(void)state;
	for (int i = 0; i < 100000 && !process->outbox.has_answer; i++) {
		process_link_send(fixture->link_fds[0], &letter);
		fixture_turn(FIXTURE_SECOND / 1000);
	}
	assert_true(process->outbox.has_answer);
	for (int i = 0; i < 1000; i++)
		process_link_send(fixture->link_fds[0], &letter);
	fixture_turn(0);
	fixture_turn(0);
	device_set_note_events(&fixture->set);
	assert_int_equal(device_set_turn(&fixture->set, fixture->now_ns), 0);
	assert_true(fixture_open_fds() <= before + 1);
	/* Its end is seen all the same. */
	close(fixture->link_fds[0]);
	fixture->link_fds[0] = -1;
	fixture_await(process, DEVICE_CHILD_ENDING);
}

static void test_packets_and_troubles(void **state)
{
	struct {
		struct rnic_process_packet packet;
		uint8_t datagram[12];
	} sent = {.packet = {.datagram_bytes = 12, .source_port = 61000}};
	struct rnic_process_trouble trouble = {
		.client_id = 3,
		.cause = RNIC_CAUSE_BAD_RKEY,
		.reason = "\x1b[31mred",
	};

	(void)state;
	fixture_serve(FIXTURE_UID);
	fixture_say(RNIC_PROCESS_PACKET, &sent, sizeof(sent.packet) + 12);
	fixture_say(RNIC_PROCESS_TROUBLE, &trouble, sizeof(trouble));
	fixture_turn(0);
	assert_int_equal(fixture->packet_count, 1);
	assert_int_equal(fixture->packet.source_port, 61000);
	assert_int_equal(fixture->trouble_count, 1);
	assert_string_equal(fixture->trouble.reason, "?[31mred");
	device_set_pass_packet(&fixture->set, RNIC_LANE_FIRST, &sent.packet, sent.datagram);
	fixture_expect(RNIC_PROCESS_PACKET);
	device_set_pass_packet(&fixture->set, RNIC_LANE_LAST, &sent.packet, sent.datagram);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), -EAGAIN);
}

/* Starts a process that cannot be killed, and goes on until it is abandoned. */
static struct device_child *abandon_one(void)
{
	const uint32_t given_back = fixture->lanes_given_back;
	struct device_child *process = fixture_serve(FIXTURE_UID);

	device_child_happen(process, DEVICE_CHILD_VIOLATION, "it breaks the protocol");
	assert_int_equal(process->state, DEVICE_CHILD_KILLED);
	fixture_turn(2 * FIXTURE_SECOND - 1);
	assert_int_equal(process->state, DEVICE_CHILD_KILLED);
	assert_int_equal(fixture->lanes_given_back, given_back);
	assert_true(device_set_next_deadline_ns(&fixture->set) <= fixture->now_ns + 1);
	fixture_turn(1);
	assert_int_equal(process->state, DEVICE_CHILD_ABANDONED);
	assert_int_equal(fixture->lanes_given_back, given_back + 1);
	assert_int_equal(device_set_process_count(&fixture->set), 0);
	return process;
}

/*
 * A process that hangs in the kernel keeps no lane and no client waiting. A user may have four of
 * them, until one ends after all.
 */
static void test_processes_that_hang_in_the_kernel(void **state)
{
	struct device_child *processes[4], *next;
	const struct served_client client = client_of(5);
	int fd;

	(void)state;
	fixture->is_undying = true;
	for (size_t i = 0; i < COUNT_OF(processes); i++)
		processes[i] = abandon_one();
	assert_int_equal(device_set_connect(processes[0], &client, &fd, reason), -ENODEV);
	assert_int_equal(device_set_acquire(&fixture->set, FIXTURE_UID, &next, reason), -EAGAIN);
	assert_string_equal(reason, "4 device processes of user 1000 hang in the kernel");
	assert_int_equal(fixture->launch_count, 4);

	/* Another user is served. */
	fixture->is_undying = false;
	assert_int_equal(device_set_acquire(&fixture->set, FIXTURE_UID + 1, &next, reason), 0);
	device_set_release(next);

	fixture_let_die(1);
	fixture_turn(0);
	assert_int_equal(processes[1]->state, DEVICE_CHILD_DEAD);
	assert_int_equal(fixture->lanes_given_back, 4); /* not once more */
	device_set_release(processes[1]);
	assert_int_equal(device_set_acquire(&fixture->set, FIXTURE_UID, &next, reason), 0);
	device_set_release(next);
}

/* A process that floods the control plane is read in bounds, and goes on. */
static void test_flood(void **state)
{
	const struct rnic_process_group leave = {.group = {{0xff}}};
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_LEAVE, .payload = &leave, .payload_bytes = sizeof(leave)};
	struct device_child *process = fixture_serve(FIXTURE_UID);
	uint32_t sent = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		while (process_link_send(fixture->link_fds[0], &letter) == 0)
			sent++;
		fixture_turn(0);
	}
	assert_true(sent > 1000);
	assert_true(sent < 5000);
	assert_true(process->inbox.is_muted);
	assert_true(device_set_next_deadline_ns(&fixture->set) <=
		    fixture->now_ns + FIXTURE_SECOND / 100);
	fixture_turn(FIXTURE_SECOND / 100);
	assert_false(process->inbox.is_muted);
	assert_int_equal(process->state, DEVICE_CHILD_SERVING);
}

#define GARBAGE_MESSAGES 4000

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(random_state >> 33) % below;
}

static uint64_t number_of(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 10) : usual;
}

/* Most often the fields contradict neither each other nor the request; returns the tail's bytes. */
static uint32_t make_plausible(const struct device_child *process, uint16_t operation,
			       uint8_t *payload)
{
	struct rnic_process_rows_reply rows = {
		.request_id = process->rows.request_id,
		.kind = draw(20) == 0 ? draw(9) : RNIC_SHOW_QPS,
		.row_count = draw(4),
		.row_bytes = draw(32),
	};
	const uint32_t datagram_bytes = draw(64);
	const uint32_t cause = draw(20) == 0 ? draw(256) : RNIC_CAUSE_REFUSED;

	switch (operation) {
	case RNIC_PROCESS_ROWS_REPLY:
		rows.next = draw(3) == 0 ? rows.row_count + (draw(20) == 0) : 0;
		memcpy(payload, &rows, sizeof(rows));
		return rows.row_count * rows.row_bytes;
	case RNIC_PROCESS_PACKET:
		memcpy(payload + offsetof(struct rnic_process_packet, datagram_bytes),
		       &datagram_bytes, sizeof(datagram_bytes));
		return datagram_bytes;
	case RNIC_PROCESS_TROUBLE:
		payload[7] = 0xff; /* a negative errno */
		memcpy(payload + offsetof(struct rnic_process_trouble, cause), &cause,
		       sizeof(cause));
		payload[offsetof(struct rnic_process_trouble, reason) - 1] = 0;
		payload[sizeof(struct rnic_process_trouble) - 1] = 0;
		return 0;
	default:
		return 0;
	}
}

/* A message with a right header and a random payload, or with a random length, or random. */
static size_t make_message(const struct device_child *process, uint8_t *bytes)
{
	static const uint16_t sizes[RNIC_PROCESS_OPERATION_COUNT] = {
		[RNIC_PROCESS_START] = sizeof(struct rnic_process_start),
		[RNIC_PROCESS_READY] = sizeof(struct rnic_process_ready),
		[RNIC_PROCESS_ROWS_REPLY] = sizeof(struct rnic_process_rows_reply),
		[RNIC_PROCESS_PACKET] = sizeof(struct rnic_process_packet),
		[RNIC_PROCESS_JOIN] = sizeof(struct rnic_process_group),
		[RNIC_PROCESS_LEAVE] = sizeof(struct rnic_process_group),
		[RNIC_PROCESS_TROUBLE] = sizeof(struct rnic_process_trouble),
		[RNIC_PROCESS_CLIENT_GONE] = sizeof(struct rnic_process_client_gone),
	};
	static const uint16_t usual[] = {RNIC_PROCESS_PACKET, RNIC_PROCESS_JOIN, RNIC_PROCESS_LEAVE,
					 RNIC_PROCESS_TROUBLE, RNIC_PROCESS_ROWS_REPLY};
	struct rnic_process_header header = {
		.magic = RNIC_PROCESS_MAGIC,
		.version = RNIC_PROCESS_VERSION,
		.operation = draw(20) == 0 ? (uint16_t)draw(RNIC_PROCESS_OPERATION_COUNT + 1)
					   : usual[draw(COUNT_OF(usual))],
	};
	uint32_t length = sizeof(header);

	if (header.operation < RNIC_PROCESS_OPERATION_COUNT)
		length += sizes[header.operation];
	for (uint32_t i = 0; i < length + 256; i++)
		bytes[i] = draw(3) == 0 ? (uint8_t)draw(256) : 0;
	if (draw(20) != 0)
		length += make_plausible(process, header.operation, bytes + sizeof(header));
	if (draw(40) == 0)
		length += draw(64);
	header.bytes = draw(40) == 0 ? draw(UINT16_MAX) : length;
	if (draw(40) != 0)
		memcpy(bytes, &header, sizeof(header));
	return length;
}

/* Asks for rows when none are under way, and takes those that came. */
static void ask_for_rows(struct device_child *process)
{
	static uint32_t request_id;
	struct pending_query *rows = &process->rows;

	if (rows->state == PENDING_QUERY_ANSWERED) {
		assert_int_equal(rows->head.kind, RNIC_SHOW_QPS);
		pending_query_clear(rows);
	}
	if (rows->state == PENDING_QUERY_FREE)
		pending_query_ask(rows, 1, ++request_id, RNIC_SHOW_QPS, 0,
				  fixture->now_ns + FIXTURE_SECOND);
}

/* The process serves, is heard, and gets the answer that is for it and nothing else. */
static void assert_unharmed(const struct device_child *process, int link_fd)
{
	const struct rnic_process_group join = {.group = fixture_gid_of((uint8_t)draw(256))};
	const struct process_letter letter = {
		.operation = RNIC_PROCESS_JOIN, .payload = &join, .payload_bytes = sizeof(join)};
	const struct rnic_process_group *joined = (const void *)fixture->receipt.payload;

	assert_int_equal(process_link_send(link_fd, &letter), 0);
	fixture_turn(0);
	assert_int_equal(process->state, DEVICE_CHILD_SERVING);
	assert_int_equal(process_link_receive(link_fd, &fixture->receipt), 0);
	assert_int_equal(fixture->receipt.header.operation, RNIC_PROCESS_JOINED);
	assert_memory_equal(&joined->group, &join.group, sizeof(join.group));
	assert_int_equal(joined->status, 0);
	assert_int_equal(fixture->receipt.fd_count, 1);
	process_receipt_drop(&fixture->receipt);
	assert_int_equal(process_link_receive(link_fd, &fixture->receipt), -EAGAIN);
}

/* Sends one message as the process; returns whether the process still serves. */
static bool send_garbage(struct device_child *process)
{
	uint8_t bytes[2048];
	size_t length;

	ask_for_rows(process);
	length = make_message(process, bytes);
	if (write(fixture->link_fds[0], bytes, length) < 0)
		assert_true(errno == EAGAIN || errno == EPIPE);
	fixture_turn(FIXTURE_SECOND / 1000);
	while (process->state == DEVICE_CHILD_SERVING &&
	       process_link_receive(fixture->link_fds[0], &fixture->receipt) == 0)
		process_receipt_drop(&fixture->receipt);
	return process->state == DEVICE_CHILD_SERVING;
}

/*
 * A process that was taken over sends garbage, and is ended or not; the process of another user
 * serves on. RNIC_GARBAGE_MESSAGES is how many, RNIC_GARBAGE_SEED repeats a run.
 */
static void test_garbage(void **state)
{
	const uint64_t count = number_of("RNIC_GARBAGE_MESSAGES", GARBAGE_MESSAGES);
	const unsigned before = fixture_open_fds();
	struct device_child *other = fixture_serve(FIXTURE_UID + 1), *process;
	const int other_fd = fcntl(fixture->link_fds[0], F_DUPFD_CLOEXEC, 0);
	uint64_t ends = 0;

	(void)state;
	random_state = number_of("RNIC_GARBAGE_SEED", clock_now_ns());
	print_message("RNIC_GARBAGE_SEED=%llu\n", (unsigned long long)random_state);
	log_set_level(LOG_LEVEL_ERROR);
	process = fixture_serve(FIXTURE_UID);
	for (uint64_t i = 0; i < count; i++) {
		if (send_garbage(process))
			continue;
		ends++;
		assert_unharmed(other, other_fd);
		fixture_await(process, DEVICE_CHILD_DEAD);
		device_set_release(process);
		process = fixture_serve(FIXTURE_UID);
	}
	assert_unharmed(other, other_fd);
	log_set_level(LOG_LEVEL_INFO);
	assert_true(ends > count / 100 && ends < count / 2);
	assert_true(fixture->trouble_count > count / 100);
	assert_true(fixture->packet_count > count / 100);
	close(other_fd);
	assert_true(fixture_open_fds() <= before + 4 + 2 * FIXTURE_LAUNCHES);
	device_set_release(other);
}

/*
 * A device process attaches a descriptor whose last close waits for an hour: to a message that is
 * not received any more, or is forbidden.
 */
static void test_descriptors_in_the_link(void **state)
{
	const struct rnic_process_group leave = {.status = 0};
	struct process_letter letter = {.operation = RNIC_PROCESS_LEAVE,
					.payload = &leave,
					.payload_bytes = sizeof(leave),
					.fd_count = 1};

	(void)state;
	alarm(20);
	for (int is_received = 0; is_received < 2; is_received++) {
		struct device_child *process = fixture_serve(FIXTURE_UID);
		int peer_fd, lingering = make_lingering_socket(&peer_fd);

		letter.fds = &lingering;
		assert_int_equal(process_link_send(fixture->link_fds[0], &letter), 0);
		close(lingering);
		kill(fixture->pids[0], is_received ? 0 : SIGKILL);
		if (!is_received)
			device_child_happen(process, DEVICE_CHILD_END, NULL);
		fixture_await(process, DEVICE_CHILD_DEAD);
		device_set_release(process);
		fixture_turn(0);
		close(peer_fd);
	}
	alarm(0);
}

/* The end of the daemon does not wait for a process that does not end. */
static void test_close(void **state)
{
	struct device_child *process = fixture_serve(FIXTURE_UID);

	(void)state;
	device_set_release(process);
	device_set_close(&fixture->set);
	assert_int_equal(fixture->lanes_given_back, 1);
	assert_int_equal(process_link_receive(fixture->link_fds[0], &fixture->receipt), -EPIPE);
	assert_int_equal(kill(fixture->pids[0], 0), -1);
	fixture->launch_count = 0;
	fixture->set.common.epoll_fd = -1;
}

#define TEST(function)                                                                             \
	cmocka_unit_test_setup_teardown(function, device_fixture_open, device_fixture_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_start),
		TEST(test_a_device_that_cannot_start),
		TEST(test_a_program_that_is_missing),
		TEST(test_death),
		TEST(test_each_end_is_told),
		TEST(test_silence_at_start),
		TEST(test_a_stopped_device),
		TEST(test_gids_move_in_order),
		TEST(test_statistics),
		TEST(test_users),
		TEST(test_one_lane),
		TEST(test_idle_end),
		TEST(test_groups),
		TEST(test_answers_not_read),
		TEST(test_packets_and_troubles),
		TEST(test_processes_that_hang_in_the_kernel),
		TEST(test_flood),
		TEST(test_garbage),
		TEST(test_descriptors_in_the_link),
		TEST(test_close),
	};

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* as a parent may leave it */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
