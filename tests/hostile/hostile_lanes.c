/* SPDX-License-Identifier: MIT */
/*
 * Programs with the device inside that misuse what the control plane gave them: the statistics
 * page, and the sockets of their lane. Others notice nothing, and the lane serves the next program.
 *
 * usage: hostile_lanes RNICD
 */
#include "tests/hostile/direct_program.h"
#include "tests/hostile/hostile_link.h"
#include "tests/hostile/played_peer.h"

#include "lib/nic/base/prng.h"
#include "proto/wire/packet.h"
#include "tests/unit/all_descriptors.h"
#include "tests/unit/unit_test.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATS_ROUNDS 40
#define PAGES_MAX    1000 /* of a listing */
#define FLOOD	     20000
#define FORGERIES    500
#define QUIET_MS     100
#define LANES_MAX    130

/* ---- the statistics page ---- */

/* Reads a whole listing, which has an end. */
static void list_all(const struct played_peer *played, enum rnic_show_kind kind)
{
	struct rnic_ctl_show request = {.kind = kind};
	struct rnic_ctl_show_reply answer;
	struct hostile_reply reply;
	unsigned pages = 0;

	do {
		played_peer_show(played, &request, &reply, &answer);
		request.cursor = answer.next;
		assert_true(++pages < PAGES_MAX);
	} while (answer.next != 0);
}

/* The statistics page says anything, also while the control plane reads it. */
static void test_statistics_that_lie(void **state)
{
	const struct rnic_gid own = played_peer_own_gid();
	struct lane_program liar;
	struct played_peer played;
	struct prng prng;
	uint8_t *stats;

	(void)state;
	prng_init(&prng, 1);
	lane_program_open(&liar);
	played_peer_open(&played, &own, 0x1234);
	stats = mmap(NULL, sizeof(struct rnic_stats_page), PROT_READ | PROT_WRITE, MAP_SHARED,
		     liar.stats_fd, 0);
	assert_ptr_not_equal(stats, MAP_FAILED);
	for (unsigned round = 0; round < STATS_ROUNDS; round++) {
		for (size_t i = 0; i < sizeof(struct rnic_stats_page); i++)
			stats[i] = round == 0 ? 0xff : (uint8_t)prng_next(&prng);
		/* A name of a counter that does not end, in rounds whose statistics page is one. */
		if (round % 2 == 1) {
			struct rnic_stats_page *honest = (void *)stats;

			honest->magic = RNIC_STATS_MAGIC;
			honest->bytes = sizeof(*honest);
			honest->counter_count =
				round % 4 == 1 ? UINT32_MAX : RNIC_STATS_COUNTERS_MAX;
		}
		list_all(&played, RNIC_SHOW_DEVICE);
		list_all(&played, RNIC_SHOW_COUNTERS);
	}
	munmap(stats, sizeof(struct rnic_stats_page));
	played_peer_close(&played);
	lane_program_close(&liar);
	direct_expect_unharmed();
}

/* ---- the sockets ---- */

static uint32_t qpn_of(const struct lane_program *program)
{
	return program->lane << RNIC_LANE_BITS | 1;
}

/* The peer is in the lane of the program. */
static void play_from_lane(struct played_peer *played, const struct lane_program *program)
{
	const struct rnic_gid own = played_peer_own_gid();

	played_peer_open(played, &own, qpn_of(program));
	played->answers_fd = program->receive_fd;
}

/* Sends a packet of the peer from the send socket of the program that the peer would choose. */
static void write_from(const struct played_peer *played, const struct lane_program *program,
		       uint32_t psn)
{
	const uint32_t socket_number = rnic_lane_send_socket(played->client.qpn);
	const uint16_t port = rnic_lane_send_port(qpn_of(program), played->client.qpn);

	played_peer_write(played, program->send_fds[socket_number], port, psn);
}

/* A program sends as a queue pair of another lane, from its own ports. */
static void test_sender_of_another_lane(void **state)
{
	struct lane_program honest, liar;
	struct played_peer played;

	(void)state;
	lane_program_open(&honest);
	lane_program_open(&liar);
	if (!lane_program_has_ports(&honest)) {
		lane_program_close(&liar);
		lane_program_close(&honest);
		skip();
	}
	assert_int_not_equal(honest.lane, liar.lane);
	play_from_lane(&played, &honest);
	write_from(&played, &honest, PLAYED_FIRST_PSN);
	played_peer_expect_acknowledge(&played, PLAYED_FIRST_PSN, 1);
	for (uint32_t i = 0; i < FORGERIES; i++)
		write_from(&played, &liar, PLAYED_FIRST_PSN + 1);
	assert_false(played_peer_has_answer(&played, QUIET_MS));
	/* The honest one has that PSN, and its message is the second. */
	write_from(&played, &honest, PLAYED_FIRST_PSN + 1);
	played_peer_expect_acknowledge(&played, PLAYED_FIRST_PSN + 1, 2);
	assert_true(played_peer_counter(&played, "dropped_bad_port") >= FORGERIES);
	played_peer_close(&played);
	lane_program_close(&liar);
	lane_program_close(&honest);
	direct_expect_unharmed();
}

/* Fills the receive buffer of the lane with packets for one of its queue pairs. */
static void flood(const struct lane_program *program, const struct played_peer *sender)
{
	struct played_peer target = *sender;
	const struct sockaddr_in from = played_peer_address(&sender->own, 0);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	target.client.qpn = qpn_of(program);
	for (uint32_t i = 0; i < FLOOD; i++)
		played_peer_write(&target, fd, 40000, i);
	close(fd);
}

/*
 * Opens programs until one has the lane, and closes the others. These keep only their connections
 * meanwhile: a program of each lane with all its sockets is too much for a low hard limit.
 */
static void take_lane(uint32_t lane, struct lane_program *taken)
{
	struct direct others[LANES_MAX];
	unsigned count = 0;

	for (;;) {
		assert_true(count < LANES_MAX);
		lane_program_open(taken);
		if (taken->lane == lane)
			break;
		lane_program_close_sockets(taken);
		others[count++] = taken->direct;
	}
	while (count > 0)
		direct_close(&others[--count]);
}

/* A program never reads what comes for its lane. Its lane goes to the next one without that. */
static void test_lane_that_is_never_drained(void **state)
{
	struct lane_program honest, idle, next;
	struct played_peer played;
	struct pollfd left;

	(void)state;
	lane_program_open(&honest);
	lane_program_open(&idle);
	if (!lane_program_has_ports(&honest)) {
		lane_program_close(&idle);
		lane_program_close(&honest);
		skip();
	}
	play_from_lane(&played, &honest);
	flood(&idle, &played);
	left = (struct pollfd){.fd = idle.receive_fd, .events = POLLIN};
	assert_int_equal(poll(&left, 1, 0), 1);
	write_from(&played, &honest, PLAYED_FIRST_PSN);
	played_peer_expect_acknowledge(&played, PLAYED_FIRST_PSN, 1);
	lane_program_close(&idle);
	take_lane(idle.lane, &next);
	left = (struct pollfd){.fd = next.receive_fd, .events = POLLIN};
	assert_int_equal(poll(&left, 1, QUIET_MS), 0);
	played_peer_close(&played);
	lane_program_close(&next);
	lane_program_close(&honest);
	direct_expect_unharmed();
}

/* ---- descriptors over fork ---- */

/*
 * In a child: opens as a program, says which lane it has, and leaves a process behind that holds
 * all descriptors until `end_fd` hangs up.
 */
static void leave_holder(int lane_fd, int end_fd)
{
	struct lane_program program;
	char byte;

	lane_program_open(&program);
	if (fork() == 0) {
		close(lane_fd);
		_exit(read(end_fd, &byte, 1) == 0 ? 0 : 1);
	}
	_exit(write(lane_fd, &program.lane, sizeof(program.lane)) == sizeof(program.lane) ? 0 : 1);
}

/*
 * A program dies, and a child of it keeps the connection, the link and the sockets: the lane is
 * free all the same, and the child's copies are worth nothing.
 */
static void test_descriptors_over_fork(void **state)
{
	struct lane_program next;
	int lanes[2], end[2], status;
	uint32_t lane;
	pid_t program;

	(void)state;
	/* The holder becomes our child. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe(lanes), 0);
	assert_int_equal(pipe(end), 0);
	program = fork();
	assert_true(program >= 0);
	if (program == 0) {
		close(end[1]);
		leave_holder(lanes[1], end[0]);
	}
	assert_int_equal(waitpid(program, &status, 0), program);
	assert_int_equal(status, 0);
	assert_int_equal(read(lanes[0], &lane, sizeof(lane)), sizeof(lane));
	take_lane(lane, &next);
	lane_program_close(&next);
	direct_expect_unharmed();
	assert_int_equal(waitpid(-1, &status, WNOHANG), 0);
	close(end[0]);
	close(end[1]);
	assert_true(waitpid(-1, &status, 0) > 0);
	assert_int_equal(status, 0);
	close(lanes[0]);
	close(lanes[1]);
}

/* A program has sockets: programs in all lanes have more than a login's soft limit. */
static int start_with_descriptors(void **state)
{
	return take_all_descriptors() ? hostile_start(state) : -1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statistics_that_lie),
		cmocka_unit_test(test_sender_of_another_lane),
		cmocka_unit_test(test_lane_that_is_never_drained),
		cmocka_unit_test(test_descriptors_over_fork),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, start_with_descriptors, hostile_stop);
}
