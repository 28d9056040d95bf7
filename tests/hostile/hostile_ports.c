/* SPDX-License-Identifier: MIT */
/*
 * A stranger on the peer's host knows GIDs, QPNs and PSNs, and sends packets with a good ICRC. The
 * peer is played by hand. A peer without rnicd has a port of its own that the stranger does not
 * know. The ports of a peer with rnicd everybody knows: root's rnicd holds them on its host, which
 * is the host of the test.
 *
 * usage: hostile_ports RNICD
 */
#include "tests/hostile/forged_request.h"
#include "tests/hostile/forged_source.h"
#include "tests/hostile/played_peer.h"

#include "proto/base/lane.h"
#include "proto/mad/cm_message.h"
#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "proto/wire/packet.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEER_PORT     50000
#define STRANGER_PORT 40000
#define PEER_QPN      0x001234
#define FORGERIES     10000
#define ROUND	      100 /* what any receive buffer holds */
#define WAIT_MS	      20000
#define QUIET_MS      100

#define LANE_QPN	0xc01234 /* of a peer that is an rnicd's */
#define LANE_PORT_FIRST 61000
#define LANE_PORT_LAST	62016 /* of the connection manager */
#define OTHER_PORT	50001 /* that nobody holds */
#define HOLES_BYTES	50    /* of a report of eight holes: as long as one can be */

struct attack {
	struct played_peer played;
	int peer_fd;
	int stranger_fd;
};

/* Whether the test has a network namespace of its own. */
static bool is_alone;

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

static void wait_for_counter(const struct attack *attack, const char *name, uint64_t value)
{
	for (uint32_t i = 0; played_peer_counter(&attack->played, name) != value; i++) {
		assert_true(i < WAIT_MS);
		poll(NULL, 0, 1);
	}
}

/* A packet of the peer to the queue pair under attack, with nothing behind the header. */
static struct rnic_packet forged_packet(const struct attack *attack, enum rnic_service service,
					enum rnic_operation operation, uint16_t source_port)
{
	const int opcode = rnic_opcode_find(service, operation, RNIC_POSITION_ONLY, 0);

	return (struct rnic_packet){
		.addresses = {.source = attack->played.gid,
			      .dest = attack->played.own,
			      .source_port = source_port},
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.pkey = 0xffff,
		.dest_qpn = attack->played.client.qpn,
	};
}

/* Puts the ICRC behind the packet, and returns the length with it. */
static size_t seal(const struct rnic_packet *packet, uint8_t *bytes, size_t length)
{
	rnic_icrc_write(bytes + length, rnic_icrc_compute(&packet->addresses, 0, bytes, length));
	return length + RNIC_ICRC_BYTES;
}

static void send_datagram(const struct attack *attack, int fd, const uint8_t *bytes, size_t length)
{
	const struct sockaddr_in to = played_peer_address(&attack->played.own, RNIC_UDP_PORT);

	assert_int_equal(sendto(fd, bytes, length, 0, (const struct sockaddr *)&to, sizeof(to)),
			 length);
}

/* Hardware sends notifications from any port, so those of a stranger count: apart, and no more. */
static void send_notifications(const struct attack *attack, uint64_t dropped_bad_port)
{
	struct rnic_packet packet =
		forged_packet(attack, RNIC_SERVICE_CNP, RNIC_OPERATION_CONGESTION, STRANGER_PORT);
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	size_t length;

	packet.becn = true;
	length = seal(&packet, bytes, rnic_packet_encode_headers(&packet, bytes));
	for (uint32_t sent = 0; sent < FORGERIES; sent += ROUND) {
		for (uint32_t i = 0; i < ROUND; i++)
			send_datagram(attack, attack->stranger_fd, bytes, length);
		wait_for_counter(attack, "cnps_other_port", sent + ROUND);
	}
	assert_int_equal(played_peer_counter(&attack->played, "dropped_bad_port"),
			 dropped_bad_port);
}

/*
 * Sends an offer, a report of `count` holes that have all packets there are, or a question or
 * answer of exact credits, in the name of the peer (lib/nic/engine/reliability/holes.h,
 * exact_credits.h).
 */
static void send_holes(const struct attack *attack, int fd, uint16_t port, uint8_t kind,
		       uint8_t count)
{
	struct rnic_packet packet =
		forged_packet(attack, RNIC_SERVICE_MANUFACTURER, RNIC_OPERATION_HOLES, port);
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	size_t length;

	packet.psn = rnic_psn(PLAYED_FIRST_PSN);
	packet.payload_bytes = HOLES_BYTES;
	length = rnic_packet_encode_headers(&packet, bytes);
	memset(bytes + length, 0xff, HOLES_BYTES);
	bytes[length] = kind;
	bytes[length + 1] = count;
	length += HOLES_BYTES + rnic_pad_bytes(HOLES_BYTES);
	send_datagram(attack, fd, bytes, seal(&packet, bytes, length));
}

/*
 * Offers, reports, questions and answers of any form acknowledge nothing, place nothing, and draw
 * nothing where nothing is missing; those of a stranger are dropped.
 */
static void test_forged_holes(void **state)
{
	struct attack attack;

	(void)state;
	attack_open(&attack);
	played_peer_write(&attack.played, attack.peer_fd, PEER_PORT, PLAYED_FIRST_PSN);
	played_peer_expect_acknowledge(&attack.played, PLAYED_FIRST_PSN, 1);
	for (uint32_t sent = 0; sent < FORGERIES;) {
		for (uint32_t i = 0; i < ROUND; i++) {
			const uint8_t kind = (uint8_t)(i % 5), count = (uint8_t)(sent + i);

			send_holes(&attack, attack.peer_fd, PEER_PORT, kind, count);
			send_holes(&attack, attack.stranger_fd, STRANGER_PORT, kind, count);
		}
		sent += ROUND;
		wait_until_dropped(&attack, sent);
	}
	assert_false(played_peer_has_answer(&attack.played, QUIET_MS));
	played_peer_write(&attack.played, attack.peer_fd, PEER_PORT, PLAYED_FIRST_PSN + 1);
	played_peer_expect_acknowledge(&attack.played, PLAYED_FIRST_PSN + 1, 2);
	attack_close(&attack);
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
	send_notifications(&attack, FORGERIES);
	/* The peer's next message has the PSN of the forged ones, and is the second. */
	played_peer_write(&attack.played, attack.peer_fd, PEER_PORT, PLAYED_FIRST_PSN + 1);
	played_peer_expect_acknowledge(&attack.played, PLAYED_FIRST_PSN + 1, 2);
	attack_close(&attack);
}

/* --- the ports of an rnicd -------------------------------------------------------------------- */

static uint32_t expected_psn(const struct attack *attack)
{
	const struct rnic_ctl_show request = {.kind = RNIC_SHOW_QPS};
	struct rnic_ctl_show_reply answer;
	struct hostile_reply reply;
	struct rnic_show_qp row;

	played_peer_show(&attack->played, &request, &reply, &answer);
	assert_int_equal(answer.row_count, 1);
	memcpy(&row, reply.payload + sizeof(answer), sizeof(row));
	assert_int_equal(row.qpn, attack->played.client.qpn);
	return row.expected_psn;
}

/* A request for a connection, from `port`. Returns its length. */
static size_t build_request(const struct attack *attack, uint16_t port,
			    uint8_t bytes[RNIC_PACKET_BYTES_MAX])
{
	const struct rnic_cm_message message = {
		.kind = RNIC_CM_REQ, .transaction_id = 1, .req = {.local_comm_id = 1}};
	const struct rnic_addresses addresses = {
		.source = attack->played.gid, .dest = attack->played.own, .source_port = port};

	return forged_request_build(&addresses, RNIC_GENERAL_SERVICES_QPN, &message, bytes);
}

/* Sends the peer's next message and a request of the peer's connection manager. */
static void send_both(const struct attack *attack, int fd, uint16_t port, uint32_t psn)
{
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	size_t length = played_peer_build_write(&attack->played, port, psn, bytes);

	forged_source_send(fd, &attack->played.own, bytes, length);
	length = build_request(attack, port, bytes);
	forged_source_send(fd, &attack->played.own, bytes, length);
}

/* A socket of the device's user, with the device's address, as the device itself has. */
static int open_as_the_device(const struct attack *attack, uint16_t port)
{
	const struct rnic_gid *gid = &attack->played.own;
	const bool is_ipv4 = rnic_gid_is_ipv4(gid);
	struct sockaddr_in ipv4 = {0};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const int on = 1, dont_fragment = IP_PMTUDISC_PROBE;
	int fd = socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (is_ipv4)
		ipv4 = played_peer_address(gid, port);
	memcpy(&ipv6.sin6_addr, gid->bytes, sizeof(gid->bytes));
	assert_true(fd >= 0);
	assert_int_equal(
		setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &dont_fragment, sizeof(dont_fragment)),
		0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)), 0);
	assert_int_equal(is_ipv4 ? bind(fd, (const struct sockaddr *)&ipv4, sizeof(ipv4))
				 : bind(fd, (const struct sockaddr *)&ipv6, sizeof(ipv6)),
			 0);
	return fd;
}

static uint64_t counter_of(const struct attack *attack, const char *name)
{
	return played_peer_counter(&attack->played, name);
}

/* Each port of the device is refused in every way. Returns how many were not. */
static uint32_t forge_from_all_ports(const struct attack *attack)
{
	uint32_t bound = 0;

	for (uint16_t port = LANE_PORT_FIRST; port <= LANE_PORT_LAST; port++) {
		for (uint32_t way = 0; way < forged_source_ways(); way++) {
			int fd = forged_source_open(way, port, &attack->played.own);

			if (fd == -EADDRINUSE)
				continue;
			assert_true(fd >= 0);
			if (bound++ == 0)
				print_message("a stranger has port %u, way %u\n", port, way);
			send_both(attack, fd, port, PLAYED_FIRST_PSN + 1);
			close(fd);
		}
	}
	return bound;
}

/* The forgeries are good, but for the port: another one does not serve, and the right one would. */
static void check_forgeries(const struct attack *attack)
{
	static const uint16_t others[] = {OTHER_PORT, RNIC_UDP_PORT};
	const uint64_t dropped = counter_of(attack, "dropped_bad_port");
	const uint64_t refused = counter_of(attack, "cm_bad_port");

	for (uint32_t i = 0; i < 2; i++) {
		int fd = forged_source_open(0, others[i], &attack->played.own);

		assert_true(fd >= 0);
		send_both(attack, fd, others[i], PLAYED_FIRST_PSN + 1);
		wait_for_counter(attack, "dropped_bad_port", dropped + i + 1);
		wait_for_counter(attack, "cm_bad_port", refused + i + 1);
		close(fd);
	}
	assert_int_equal(expected_psn(attack), PLAYED_FIRST_PSN + 1);
}

/* The device itself, with its user's sockets at the right ports. */
static void send_as_the_device(const struct attack *attack, uint32_t psn)
{
	const uint16_t port = rnic_lane_send_port(LANE_QPN, attack->played.client.qpn);
	const uint64_t refused = counter_of(attack, "cm_bad_port");
	const uint64_t answered = counter_of(attack, "cm_sent_rejects");
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	size_t length = played_peer_build_write(&attack->played, port, psn, bytes);
	int fd = open_as_the_device(attack, port);

	forged_source_send(fd, &attack->played.own, bytes, length);
	close(fd);
	for (uint32_t i = 0; expected_psn(attack) != psn + 1; i++) {
		assert_true(i < WAIT_MS);
		poll(NULL, 0, 1);
	}
	fd = open_as_the_device(attack, LANE_PORT_LAST);
	length = build_request(attack, LANE_PORT_LAST, bytes);
	forged_source_send(fd, &attack->played.own, bytes, length);
	close(fd);
	for (uint32_t i = 0; counter_of(attack, "cm_sent_rejects") == answered; i++) {
		assert_true(i < WAIT_MS);
		poll(NULL, 0, 1);
	}
	assert_int_equal(counter_of(attack, "cm_bad_port"), refused);
}

static void check_ports_of_rnicd(void)
{
	struct attack attack;
	struct rnic_gid own;

	hostile_skip_unless_root();
	own = played_peer_own_gid();
	played_peer_open(&attack.played, &own, LANE_QPN);
	send_as_the_device(&attack, PLAYED_FIRST_PSN);
	assert_int_equal(forge_from_all_ports(&attack), 0);
	assert_int_equal(expected_psn(&attack), PLAYED_FIRST_PSN + 1);
	check_forgeries(&attack);
	send_as_the_device(&attack, PLAYED_FIRST_PSN + 1);
	played_peer_close(&attack.played);
}

static int start_ipv4(void **state)
{
	(void)state;
	hostile_start_at(NULL, "rnicd");
	return 0;
}

static int start_ipv6(void **state)
{
	(void)state;
	if (is_alone)
		hostile_start_at(FORGED_IPV6_ADDRESS, "rnicd");
	return 0;
}

static int stop_ipv6(void **state)
{
	return is_alone ? hostile_stop(state) : 0;
}

static void test_ports_of_rnicd_ipv4(void **state)
{
	(void)state;
	check_ports_of_rnicd();
}

static void test_ports_of_rnicd_ipv6(void **state)
{
	(void)state;
	if (!is_alone)
		skip();
	check_ports_of_rnicd();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_forged_packets, hostile_start, hostile_stop),
		cmocka_unit_test_setup_teardown(test_forged_holes, hostile_start, hostile_stop),
		cmocka_unit_test_setup_teardown(test_ports_of_rnicd_ipv4, start_ipv4, hostile_stop),
		cmocka_unit_test_setup_teardown(test_ports_of_rnicd_ipv6, start_ipv6, stop_ipv6),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	is_alone = forged_source_leave_the_network();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
