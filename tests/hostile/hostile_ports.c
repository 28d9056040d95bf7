/* SPDX-License-Identifier: MIT */
/*
 * A stranger on the peer's host knows GIDs, QPNs and PSNs, and sends packets with a good ICRC; but
 * not from the peer's UDP port. The peer is played by hand.
 *
 * usage: hostile_ports RNICD
 */
#include "tests/hostile/played_peer.h"

#include "proto/wire/gid.h"
#include "proto/wire/packet.h"
#include "tests/unit/unit_test.h"

#include <sys/socket.h>
#include <unistd.h>

#define PEER_PORT     50000
#define STRANGER_PORT 40000
#define PEER_QPN      0x001234
#define FORGERIES     10000
#define ROUND	      100 /* what any receive buffer holds */
#define WAIT_MS	      20000
#define QUIET_MS      100

struct attack {
	struct played_peer played;
	int peer_fd;
	int stranger_fd;
};

/* --- packets ---------------------------------------------------------------------------------- */

/* The ICRC covers the flag that forbids fragments. */
static int open_socket(const struct rnic_gid *gid, uint16_t port)
{
	const struct sockaddr_in address = played_peer_address(gid, port);
	const int dont_fragment = IP_PMTUDISC_PROBE;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &dont_fragment, sizeof(dont_fragment)),
		0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* --- listings --------------------------------------------------------------------------------- */

/* Waits until the device has dropped as many packets for their port, and has answered none. */
static void wait_until_dropped(const struct attack *attack, uint64_t count)
{
	for (uint32_t i = 0; played_peer_counter(&attack->played, "dropped_bad_port") != count;
	     i++) {
		assert_true(i < WAIT_MS);
		assert_false(played_peer_has_answer(&attack->played, 1));
	}
}

/* The latest trouble is that of the queue pair, and says which port was wrong. */
static void expect_trouble(const struct attack *attack)
{
	const struct rnic_ctl_show request = {.kind = RNIC_SHOW_TROUBLES};
	struct rnic_ctl_show_reply answer;
	struct rnic_show_trouble row;
	struct hostile_reply reply;

	played_peer_show(&attack->played, &request, &reply, &answer);
	assert_true(answer.row_count > 0);
	memcpy(&row, reply.payload + sizeof(answer), sizeof(row));
	assert_non_null(strstr(row.subject, "queue pair"));
	assert_non_null(strstr(row.reason, "UDP port 40000 of the peer, not 50000"));
}

/* --- the attack ------------------------------------------------------------------------------- */

static void attack_open(struct attack *attack)
{
	struct rnic_gid peer = played_peer_own_gid();

	peer.bytes[13] ^= 0x80; /* 127.*.*.* is this host too */
	played_peer_open(&attack->played, &peer, PEER_QPN);
	attack->played.answers_fd = open_socket(&peer, RNIC_UDP_PORT);
	attack->peer_fd = open_socket(&peer, PEER_PORT);
	attack->stranger_fd = open_socket(&peer, STRANGER_PORT);
}

static void attack_close(struct attack *attack)
{
	close(attack->stranger_fd);
	close(attack->peer_fd);
	close(attack->played.answers_fd);
	played_peer_close(&attack->played);
	hostile_expect_owned(&rnicd, 0, 0);
}

static void test_forged_packets(void **state)
{
	struct attack attack;

	(void)state;
	attack_open(&attack);
	played_peer_write(&attack.played, attack.peer_fd, PEER_PORT, PLAYED_FIRST_PSN);
	played_peer_expect_acknowledge(&attack.played, PLAYED_FIRST_PSN, 1);
	for (uint32_t sent = 0; sent < FORGERIES;) {
		for (uint32_t i = 0; i < ROUND; i++)
			played_peer_write(&attack.played, attack.stranger_fd, STRANGER_PORT,
					  PLAYED_FIRST_PSN + 1);
		sent += ROUND;
		wait_until_dropped(&attack, sent);
	}
	assert_false(played_peer_has_answer(&attack.played, QUIET_MS));
	expect_trouble(&attack);
	/* The peer's next message has the PSN of the forged ones, and is the second. */
	played_peer_write(&attack.played, attack.peer_fd, PEER_PORT, PLAYED_FIRST_PSN + 1);
	played_peer_expect_acknowledge(&attack.played, PLAYED_FIRST_PSN + 1, 2);
	attack_close(&attack);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forged_packets),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}
