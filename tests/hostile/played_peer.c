/* SPDX-License-Identifier: MIT */
#include "tests/hostile/played_peer.h"

#include "proto/wire/gid.h"
#include "proto/wire/icrc.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define UP_TO_INIT 6 /* steps of a client */
#define WAIT_MS	   20000
#define QUIET_MS   100

struct sockaddr_in played_peer_address(const struct rnic_gid *gid, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

	memcpy(&address.sin_addr, rnic_gid_ipv4(gid), sizeof(address.sin_addr));
	return address;
}

size_t played_peer_build_write(const struct played_peer *played, uint16_t port, uint32_t psn,
			       uint8_t bytes[RNIC_PACKET_BYTES_MAX])
{
	const int opcode =
		rnic_opcode_find(RNIC_SERVICE_RC, RNIC_OPERATION_WRITE, RNIC_POSITION_ONLY, 0);
	const struct rnic_packet packet = {
		.addresses = {.source = played->gid, .dest = played->own, .source_port = port},
		.row = rnic_opcode_row((uint8_t)opcode),
		.opcode = (uint8_t)opcode,
		.ack_request = true,
		.pkey = 0xffff,
		.dest_qpn = played->client.qpn,
		.psn = rnic_psn(psn),
	};
	const size_t length = rnic_packet_encode_headers(&packet, bytes);

	rnic_icrc_write(bytes + length, rnic_icrc_compute(&packet.addresses, 0, bytes, length));
	return length + RNIC_ICRC_BYTES;
}

void played_peer_write(const struct played_peer *played, int fd, uint16_t port, uint32_t psn)
{
	const struct sockaddr_in to = played_peer_address(&played->own, RNIC_UDP_PORT);
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	const size_t length = played_peer_build_write(played, port, psn, bytes);

	assert_int_equal(sendto(fd, bytes, length, 0, (const struct sockaddr *)&to, sizeof(to)),
			 length);
}

bool played_peer_has_answer(const struct played_peer *played, int timeout_ms)
{
	struct pollfd answer = {.fd = played->answers_fd, .events = POLLIN};

	return poll(&answer, 1, timeout_ms) == 1;
}

void played_peer_expect_acknowledge(const struct played_peer *played, uint32_t psn, uint32_t msn)
{
	static const struct rnic_addresses nowhere;
	struct rnic_packet packet;
	uint8_t bytes[RNIC_PACKET_BYTES_MAX];
	ssize_t length;

	assert_true(played_peer_has_answer(played, WAIT_MS));
	length = recv(played->answers_fd, bytes, sizeof(bytes), 0);
	assert_true(length > 0);
	assert_int_equal(rnic_packet_decode(&packet, &nowhere, bytes, (size_t)length), 0);
	assert_int_equal(packet.row->operation, RNIC_OPERATION_ACKNOWLEDGE);
	assert_int_equal(packet.dest_qpn, played->qpn);
	assert_int_equal(packet.psn.value, psn);
	assert_int_equal(packet.aeth.msn, msn);
	assert_false(played_peer_has_answer(played, QUIET_MS));
}

void played_peer_show(const struct played_peer *played, const struct rnic_ctl_show *request,
		      struct hostile_reply *reply, struct rnic_ctl_show_reply *answer)
{
	hostile_must(played->admin_fd, RNIC_CTL_SHOW, request, sizeof(*request), reply);
	memcpy(answer, reply->payload, sizeof(*answer));
}

uint64_t played_peer_counter(const struct played_peer *played, const char *name)
{
	return hostile_counter(played->admin_fd, name);
}

static void connect_to_peer(struct played_peer *played)
{
	const struct rnic_ctl_modify_qp request = {
		.qp = played->client.qp,
		.mask = RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU |
			RNIC_QP_ATTR_DEST_QPN | RNIC_QP_ATTR_RQ_PSN |
			RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER,
		.attributes = {.state = RNIC_QP_STATE_RTR,
			       .path_mtu = 3,
			       .dest_qpn = played->qpn,
			       .rq_psn = PLAYED_FIRST_PSN,
			       .min_rnr_timer = 1,
			       .path = {.is_global = 1,
					.port = 1,
					.hop_limit = 64,
					.dest_gid = played->gid}},
	};
	struct hostile_reply reply;

	hostile_must(played->client.fd, RNIC_CTL_MODIFY_QP, &request, sizeof(request), &reply);
}

static struct rnic_gid query_own_gid(const struct hostile_client *client)
{
	struct rnic_ctl_gids_reply gids;
	struct hostile_reply reply;

	hostile_must(client->fd, RNIC_CTL_QUERY_GIDS, NULL, 0, &reply);
	memcpy(&gids, reply.payload, sizeof(gids));
	return gids.entries[0].gid;
}

struct rnic_gid played_peer_own_gid(void)
{
	struct hostile_client client;
	struct rnic_gid gid;

	hostile_client_open(&client, &rnicd, 1);
	gid = query_own_gid(&client);
	hostile_client_close(&client);
	return gid;
}

void played_peer_open(struct played_peer *played, const struct rnic_gid *gid, uint32_t qpn)
{
	hostile_client_open(&played->client, &rnicd, UP_TO_INIT);
	played->own = query_own_gid(&played->client);
	played->gid = *gid;
	played->qpn = qpn;
	played->answers_fd = -1;
	connect_to_peer(played);
	played->admin_fd = hostile_connect_as_administrator(&rnicd);
}

void played_peer_close(struct played_peer *played)
{
	close(played->admin_fd);
	hostile_client_close(&played->client);
}
