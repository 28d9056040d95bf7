/* SPDX-License-Identifier: MIT */
/*
 * A device process that was taken over claims that packets came from the peers of others: requests
 * for connections that name the queue pairs which live, and all numbers near them. They end no
 * living connection.
 *
 * usage: hostile_sweep RNICD
 */
#include "tests/hostile/cm_client.h"
#include "tests/hostile/direct_program.h"
#include "tests/hostile/forged_request.h"
#include "tests/hostile/hostile_link.h"

#include "proto/mad/cm_message.h"
#include "proto/mad/ip_cm.h"
#include "proto/wire/packet.h"
#include "tests/unit/unit_test.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS	       20000
#define SWEEP_NEAR     64 /* numbers on both sides of each that lives */
#define SWEEP_PAUSE_MS 12 /* of one process the control plane takes 100 a second for lane 0 */
#define CM_UDP_PORT    62016

/* A REQ of a stranger, as a device process passes it on; the sweep fills in the rest. */
static struct rnic_cm_message forged_request(const struct rnic_gid *own)
{
	const struct rnic_ip_cm addresses = {.source = *own, .dest = *own, .source_port = 1};
	struct rnic_cm_message message = {
		.kind = RNIC_CM_REQ,
		.req = {.service_id = rnic_service_id(RNIC_PORT_SPACE_TCP, CM_CLIENT_PORT),
			.path_mtu = 3},
	};

	memcpy(message.req.primary_local_gid, own->bytes, sizeof(own->bytes));
	memcpy(message.req.primary_remote_gid, own->bytes, sizeof(own->bytes));
	rnic_ip_cm_encode(&addresses, message.req.private_data);
	return message;
}

/* Says that `message` came from the device's own address and the connection manager's port. */
static void say_message(const struct direct *direct, const struct rnic_gid *own,
			const struct rnic_cm_message *message)
{
	const struct rnic_addresses addresses = {
		.source = *own, .dest = *own, .source_port = CM_UDP_PORT};
	struct {
		struct rnic_process_packet head;
		uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	} said = {.head = {.source = *own, .dest = *own, .source_port = CM_UDP_PORT}};
	struct pollfd link = {.fd = direct->link_fd, .events = POLLOUT};

	assert_int_equal(poll(&link, 1, WAIT_MS), 1);
	said.head.datagram_bytes =
		forged_request_build(&addresses, RNIC_GENERAL_SERVICES_QPN, message, said.bytes);
	direct_say(direct, RNIC_PROCESS_PACKET, &said,
		   (uint32_t)sizeof(said.head) + said.head.datagram_bytes);
}

/* The identifier of the request that comes next. */
static struct rnic_handle take_request(const struct cm_client *server)
{
	struct rnic_ctl_cm_event event;

	cm_client_wait(server);
	assert_int_equal(recv(server->channel_fd, &event, sizeof(event), 0), sizeof(event));
	return event.id;
}

/* Both ends of a connection, each with a queue pair that answers itself. */
static void open_connection(struct cm_client *server, struct cm_client *client)
{
	struct rnic_handle id, asked;

	cm_client_open(server);
	cm_client_open(client);
	hostile_client_go_on(&server->base, 1, HOSTILE_STEPS);
	hostile_client_go_on(&client->base, 1, HOSTILE_STEPS);
	cm_client_listen(server);
	id = cm_client_make_resolved(client);
	assert_int_equal(cm_client_name_qp(client, RNIC_CTL_CM_CONNECT, id, client->base.qpn), 0);
	asked = take_request(server);
	assert_int_equal(cm_client_name_qp(server, RNIC_CTL_CM_ACCEPT, asked, server->base.qpn), 0);
	while (cm_client_ask(client, RNIC_CTL_CM_ESTABLISH, &(struct rnic_ctl_object){id},
			     sizeof(struct rnic_ctl_object)) != 0)
		cm_client_wait(client);
}

/* Both ends still stand, among what the requests of the sweep have made. */
static void expect_connection(int admin_fd)
{
	struct rnic_ctl_show request = {.kind = RNIC_SHOW_CM};
	struct rnic_ctl_show_reply answer;
	struct hostile_reply reply;
	uint32_t standing = 0;

	do {
		hostile_must(admin_fd, RNIC_CTL_SHOW, &request, sizeof(request), &reply);
		memcpy(&answer, reply.payload, sizeof(answer));
		for (uint32_t i = 0; i < answer.row_count; i++) {
			struct rnic_show_cm row;

			memcpy(&row, reply.payload + sizeof(answer) + i * sizeof(row), sizeof(row));
			standing += strcmp(row.state, "connected") == 0;
		}
		request.cursor = answer.next;
	} while (answer.next != 0);
	assert_int_equal(standing, 2);
}

/* Requests "from" the peer that name `qpn` and the numbers near it, as fast as they are taken. */
static void sweep_near(const struct direct *direct, const struct rnic_gid *own, uint32_t qpn)
{
	struct rnic_cm_message message = forged_request(own);

	for (uint32_t i = 0; i <= 2 * SWEEP_NEAR; i++) {
		message.req.local_qpn = qpn - SWEEP_NEAR + i;
		message.req.local_comm_id = 0x10000 + message.req.local_qpn;
		say_message(direct, own, &message);
		poll(NULL, 0, SWEEP_PAUSE_MS);
	}
}

/* The queue pairs that the sweep names are asked, and answer. */
static void test_a_sweep_of_a_device_process(void **state)
{
	struct cm_client server, client;
	struct lane_program program;
	struct rnic_gid own;
	int admin_fd;

	(void)state;
	open_connection(&server, &client);
	own = cm_client_own_address(&server).address;
	admin_fd = hostile_connect_as_administrator(&rnicd);
	lane_program_open(&program);
	sweep_near(&program.direct, &own, client.base.qpn);
	sweep_near(&program.direct, &own, server.base.qpn);
	/* Two questions to each of the two, of which the second one has the answer to the first. */
	for (int i = 0; hostile_counter(admin_fd, "peer_probes") < 4; i++) {
		assert_true(i < WAIT_MS);
		poll(NULL, 0, 1);
	}
	assert_true(hostile_counter(admin_fd, "cm_named_living") >= 2);
	assert_int_equal(hostile_counter(admin_fd, "cm_peers_asked"), 2);
	assert_int_equal(hostile_counter(admin_fd, "cm_peers_gone"), 0);
	expect_connection(admin_fd);
	close(admin_fd);
	lane_program_close(&program);
	cm_client_close(&client);
	cm_client_close(&server);
	hostile_expect_owned(&rnicd, 0, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sweep_of_a_device_process),
	};

	if (!hostile_arguments(argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, hostile_start, hostile_stop);
}
