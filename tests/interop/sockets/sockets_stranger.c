/* SPDX-License-Identifier: MIT */
/*
 * Whoever learns the number of a datagram rsocket's queue pair can send to it, and say that it is
 * somebody else: sockets_stranger ADDRESS
 */
#include "lib/dropin/rsockets/rsocket_wire.h"
#include "tests/unit/unit_test.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#include <sys/time.h>
#include <unistd.h>

#define TIMEOUT_MS    2000
#define STRANGER_PORT 4242

static struct sockaddr_storage address; /* of the device, port 0 */
static socklen_t address_bytes;
static struct rnic_rsocket_address own; /* the same, as headers have it */

static int take_address(const char *text)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		address.ss_family = AF_INET;
		address_bytes = sizeof(*v4);
		own.version = 4;
		return inet_pton(AF_INET, text, own.bytes);
	}
	address.ss_family = AF_INET6;
	address_bytes = sizeof(*v6);
	own.version = 6;
	return inet_pton(AF_INET6, text, &v6->sin6_addr) == 1 &&
	       inet_pton(AF_INET6, text, own.bytes) == 1;
}

/* Another host of the same network. */
static struct rnic_rsocket_address another(void)
{
	struct rnic_rsocket_address other = own;

	other.bytes[own.version == 4 ? 3 : 15] ^= 0x40;
	return other;
}

/* --- the rsocket ----------------------------------------------------------------------------- */

static int open_server(struct sockaddr_storage *where)
{
	const int server = rsocket(address.ss_family, SOCK_DGRAM, 0);
	const struct timeval patience = {.tv_sec = 5};
	socklen_t bytes = sizeof(*where);

	assert_true(server >= 0);
	assert_int_equal(rbind(server, (struct sockaddr *)&address, address_bytes), 0);
	assert_int_equal(rgetsockname(server, (struct sockaddr *)where, &bytes), 0);
	assert_int_equal(rsetsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)),
			 0);
	return server;
}

static uint32_t drops_of(int server)
{
	uint32_t memory[SK_MEMINFO_VARS];
	socklen_t bytes = sizeof(memory);

	assert_int_equal(rgetsockopt(server, SOL_SOCKET, SO_MEMINFO, memory, &bytes), 0);
	assert_int_equal(bytes, sizeof(memory));
	return memory[SK_MEMINFO_DROPS];
}

/* It answers an envelope with the number of its queue pair. */
static uint32_t learn_number(int server, const struct sockaddr_storage *where)
{
	const struct rnic_rsocket_envelope question = {.address = own};
	const int udp = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint8_t bytes[RNIC_RSOCKET_ENVELOPE_MAX_BYTES];
	struct rnic_rsocket_envelope answer;
	size_t length = rnic_rsocket_envelope_encode(&question, bytes);
	char nothing;

	assert_int_equal(bind(udp, (struct sockaddr *)&address, address_bytes), 0);
	assert_int_equal(
		sendto(udp, bytes, length, 0, (const struct sockaddr *)where, address_bytes),
		length);
	assert_int_equal(rrecv(server, &nothing, 1, 0), 0);
	length = (size_t)recv(udp, bytes, sizeof(bytes), 0);
	assert_true(rnic_rsocket_envelope_decode(bytes, length, &answer) > 0);
	assert_int_equal(answer.kind, RNIC_RSOCKET_ENVELOPE_REPLY);
	close(udp);
	return answer.qpn;
}

/* --- the stranger ---------------------------------------------------------------------------- */

static struct rdma_cm_id *open_stranger(const struct sockaddr_storage *where)
{
	struct ibv_qp_init_attr attributes = {
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};
	struct sockaddr *to = (struct sockaddr *)where;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP), 0);
	assert_int_equal(rdma_resolve_addr(id, (struct sockaddr *)&address, to, TIMEOUT_MS), 0);
	assert_int_equal(rdma_resolve_route(id, TIMEOUT_MS), 0);
	assert_int_equal(rdma_create_qp(id, NULL, &attributes), 0);
	return id;
}

static struct ibv_ah *create_way(struct rdma_cm_id *id)
{
	const struct ibv_sa_path_rec *path = id->route.path_rec;
	struct ibv_ah_attr attributes = {
		.is_global = 1,
		.grh = {.dgid = path->dgid, .hop_limit = path->hop_limit},
		.port_num = id->port_num,
	};
	union ibv_gid gid;
	struct ibv_ah *ah;

	do {
		assert_int_equal(
			ibv_query_gid(id->verbs, id->port_num, attributes.grh.sgid_index, &gid), 0);
	} while (memcmp(&gid, &path->sgid, sizeof(gid)) != 0 && ++attributes.grh.sgid_index != 0);
	ah = ibv_create_ah(id->pd, &attributes);
	assert_non_null(ah);
	return ah;
}

static void say(struct rdma_cm_id *id, struct ibv_ah *ah, uint32_t qpn,
		const struct rnic_rsocket_address *sender, const char *text)
{
	const struct rnic_rsocket_label label = {.port = STRANGER_PORT, .address = *sender};
	uint8_t bytes[RNIC_RSOCKET_LABEL_MAX_BYTES + 16];
	const size_t header = rnic_rsocket_label_encode(&label, bytes);
	struct ibv_mr *mr = rdma_reg_msgs(id, bytes, sizeof(bytes));
	struct ibv_wc done;

	assert_non_null(mr);
	memcpy(bytes + header, text, strlen(text));
	assert_int_equal(rdma_post_ud_send(id, NULL, bytes, header + strlen(text), mr,
					   IBV_SEND_SIGNALED, ah, qpn),
			 0);
	assert_int_equal(rdma_get_send_comp(id, &done), 1);
	assert_int_equal(done.status, IBV_WC_SUCCESS);
	rdma_dereg_mr(mr);
}

/* --- the scenario ---------------------------------------------------------------------------- */

static void test_a_false_sender_is_not_believed(void **state)
{
	const struct rnic_rsocket_address other = another();
	struct sockaddr_storage where, from;
	const int server = open_server(&where);
	const uint32_t qpn = learn_number(server, &where);
	struct rdma_cm_id *stranger = open_stranger(&where);
	struct ibv_ah *ah = create_way(stranger);
	socklen_t bytes = sizeof(from);
	char text[16];

	(void)state;
	assert_int_equal(drops_of(server), 0);
	say(stranger, ah, qpn, &other, "a lie");
	say(stranger, ah, qpn, &own, "true");
	assert_int_equal(rrecvfrom(server, text, sizeof(text), 0, (struct sockaddr *)&from, &bytes),
			 4);
	assert_memory_equal(text, "true", 4);
	assert_int_equal(bytes, address_bytes);
	assert_int_equal(((struct sockaddr_in *)&from)->sin_port, htons(STRANGER_PORT));
	assert_int_equal(drops_of(server), 1);
	ibv_destroy_ah(ah);
	rdma_destroy_qp(stranger);
	assert_int_equal(rdma_destroy_id(stranger), 0);
	assert_int_equal(rclose(server), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_false_sender_is_not_believed),
	};

	if (argc != 2 || take_address(argv[1]) != 1)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
