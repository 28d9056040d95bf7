/* SPDX-License-Identifier: MIT */
/*
 * A stranger on the peer's host knows GIDs, QPNs and PSNs, and sends packets with a good ICRC; but
 * not from the peer's UDP port. The peer is played by hand.
 *
 * usage: hostile_ports RNICD
 */
#include "hostile_link.h"

#include "wire/gid.h"
#include "wire/icrc.h"
#include "unit_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEER_PORT     50000
#define STRANGER_PORT 40000
#define PEER_QPN      0x001234
#define FIRST_PSN     100
#define FORGERIES     10000
#define ROUND	      100 /* what any receive buffer holds */
#define UP_TO_INIT    6	  /* steps of a client */
#define WAIT_MS	      20000
#define QUIET_MS      100

struct attack {
	struct hostile_client client;
	struct rnic_gid own, peer;
	int admin_fd;
	int answers_fd; /* the peer's socket at port 4791 */
	int peer_fd;
	int stranger_fd;
};

/* --- packets ---------------------------------------------------------------------------------- */

static struct sockaddr_in socket_address(const struct rnic_gid *gid, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	memcpy(&address.sin_addr, rnic_gid_ipv4(gid), sizeof(address.sin_addr));
	return address;
}

/* The ICRC covers the flag that forbids fragments. */
static int open_socket(const struct rnic_gid *gid, uint16_t port)
{
	const struct sockaddr_in address = socket_address(gid, port);
	const int dont_fragment = IP_PMTUDISC_PROBE;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &dont_fragment, sizeof(dont_fragment)),
		0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* A WRITE of no bytes, which needs no key and asks for an acknowledgement. */
static void send_write(const struct attack *attack, int fd, uint16_t port, uint32_t psn)
{
	const struct sockaddr_in to = socket_address(&attack->own, RNIC_UDP_PORT);
	const int opcode =
		rnic_opcode_find(RNIC_SERVICE_RC, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, 0);
	const struct rnic_packet packet = {
		.addresses = {.source = attack->peer, .dest = attack->own, .source_port = port},
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.ack_request = true,
		.pkey = 0xffff,
		.dest_qpn = attack->client.qpn,
		.psn = rnic_psn(psn),
	};
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	size_t length = rnic_packet_encode_headers(&packet, bytes);

	rnic_icrc_write(bytes + length, rnic_icrc_compute(&packet.addresses, 0, bytes, length));
	length += RNIC_ICRC_BYTES;
	assert_int_equal(sendto(fd, bytes, length, 0, (const struct sockaddr *)&to, sizeof(to)),
			 length);
}

static bool has_answer(const struct attack *attack, int timeout_ms)
{
	struct pollfd answer = {.fd = attack->answers_fd, .events = POLLIN};

	return poll(&answer, 1, timeout_ms) == 1;
}

/* The device acknowledges the PSN as the message of that number, and sends nothing else. */
static void expect_acknowledge(const struct attack *attack, uint32_t psn, uint32_t msn)
{
	static const struct rnic_addresses nowhere;
	struct rnic_packet packet;
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	ssize_t length;

	assert_true(has_answer(attack, WAIT_MS));
	length = recv(attack->answers_fd, bytes, sizeof(bytes), 0);
	assert_true(length > 0);
	assert_int_equal(rnic_packet_decode(&packet, &nowhere, bytes, (size_t)length), 0);
	assert_int_equal(packet.row->operation, RNIC_OPERATION_ACKNOWLEDGE);
	assert_int_equal(packet.dest_qpn, PEER_QPN);
	assert_int_equal(packet.psn.value, psn);
	assert_int_equal(packet.aeth.msn, msn);
	assert_false(has_answer(attack, QUIET_MS));
}

/* --- listings --------------------------------------------------------------------------------- */

static void ask_for_rows(const struct attack *attack, const struct rnic_ctl_show *request,
			 struct hostile_reply *reply, struct rnic_ctl_show_reply *answer)
{
	hostile_must(attack->admin_fd, RNIC_CTL_SHOW, request, sizeof(*request), reply);
	memcpy(answer, reply->payload, sizeof(*answer));
}

static uint64_t counter(const struct attack *attack, const char *name)
{
	struct rnic_ctl_show request = {.kind = RNIC_SHOW_COUNTERS};
	struct rnic_ctl_show_reply answer;
	struct hostile_reply reply;

	do {
		ask_for_rows(attack, &request, &reply, &answer);
		for (uint32_t i = 0; i < answer.row_count; i++) {
			struct rnic_show_counter row;

			memcpy(&row, reply.payload + sizeof(answer) + i * sizeof(row), sizeof(row));
			if (strcmp(row.name, name) == 0)
				return row.value;
		}
		request.cursor = answer.next;
	} while (answer.next != 0);
	fail_msg("no counter %s", name);
	return 0;
}

/* Waits until the device has dropped as many packets for their port, and has answered none. */
static void wait_until_dropped(const struct attack *attack, uint64_t count)
{
	for (uint32_t i = 0; counter(attack, "dropped_bad_port") != count; i++) {
		assert_true(i < WAIT_MS);
		assert_false(has_answer(attack, 1));
	}
}

/* The latest trouble is that of the queue pair, and says which port was wrong. */
static void expect_trouble(const struct attack *attack)
{
	const struct rnic_ctl_show request = {.kind = RNIC_SHOW_TROUBLES};
	struct rnic_ctl_show_reply answer;
	struct rnic_show_trouble row;
	struct hostile_reply reply;

	ask_for_rows(attack, &request, &reply, &answer);
	assert_true(answer.row_count > 0);
	memcpy(&row, reply.payload + sizeof(answer), sizeof(row));
	assert_non_null(strstr(row.subject, "queue pair"));
	assert_non_null(strstr(row.reason, "UDP port 40000 of the peer, not 50000"));
}

/* --- the attack ------------------------------------------------------------------------------- */

static void connect_to_peer(struct attack *attack)
{
	const struct rnic_ctl_modify_qp request = {
		.qp = attack->client.qp,
		.mask = RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU |
			RNIC_QP_ATTR_DEST_QPN | RNIC_QP_ATTR_RQ_PSN |
			RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER,
		.attributes = {.state = RNIC_QP_STATE_RTR,
			       .path_mtu = 3,
			       .dest_qpn = PEER_QPN,
			       .rq_psn = FIRST_PSN,
			       .min_rnr_timer = 1,
			       .path = {.is_global = 1,
					.port = 1,
					.hop_limit = 64,
					.dest_gid = attack->peer}},
	};
	struct hostile_reply reply;

	hostile_must(attack->client.fd, RNIC_CTL_MODIFY_QP, &request, sizeof(request), &reply);
}

static void attack_open(struct attack *attack)
{
	const struct rnic_ctl_hello hello = {
		.version_min = RNIC_CTL_VERSION_MIN,
		.version_max = RNIC_CTL_VERSION_MAX,
		.flags = RNIC_HELLO_ADMIN,
	};
	struct rnic_ctl_gids_reply gids;
	struct hostile_reply reply;

	hostile_client_open(&attack->client, &rnicd, UP_TO_INIT);
	hostile_must(attack->client.fd, RNIC_CTL_QUERY_GIDS, NULL, 0, &reply);
	memcpy(&gids, reply.payload, sizeof(gids));
	attack->own = gids.entries[0].gid;
	attack->peer = attack->own;
	attack->peer.bytes[13] ^= 0x80; /* 127.*.*.* is this host too */
	connect_to_peer(attack);
	attack->admin_fd = hostile_connect(&rnicd);
	hostile_must(attack->admin_fd, RNIC_CTL_HELLO, &hello, sizeof(hello), &reply);
	attack->answers_fd = open_socket(&attack->peer, RNIC_UDP_PORT);
	attack->peer_fd = open_socket(&attack->peer, PEER_PORT);
	attack->stranger_fd = open_socket(&attack->peer, STRANGER_PORT);
}

static void attack_close(struct attack *attack)
{
	close(attack->stranger_fd);
	close(attack->peer_fd);
	close(attack->answers_fd);
	close(attack->admin_fd);
	hostile_client_close(&attack->client);
	hostile_expect_owned(&rnicd, 0, 0);
}

static void test_forged_packets(void **state)
{
	struct attack attack;

	(void)state;
	attack_open(&attack);
	send_write(&attack, attack.peer_fd, PEER_PORT, FIRST_PSN);
	expect_acknowledge(&attack, FIRST_PSN, 1);
	for (uint32_t sent = 0; sent < FORGERIES;) {
		for (uint32_t i = 0; i < ROUND; i++)
			send_write(&attack, attack.stranger_fd, STRANGER_PORT, FIRST_PSN + 1);
		sent += ROUND;
		wait_until_dropped(&attack, sent);
	}
	assert_false(has_answer(&attack, QUIET_MS));
	expect_trouble(&attack);
	/* The peer's next message has the PSN of the forged ones, and is the second. */
	send_write(&attack, attack.peer_fd, PEER_PORT, FIRST_PSN + 1);
	expect_acknowledge(&attack, FIRST_PSN + 1, 2);
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
