/* SPDX-License-Identifier: MIT */
/* Destroying an address handle that many datagrams name takes many turns, and the answer waits. */
#include "daemon/device/objects/object_requests.h"
#include "daemon/device/objects/session_objects.h"
#include "lib/nic/engine/engine_limits.h"

#include "tests/unit/daemon/device/session/client_fixture.h"

#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"
#include "lib/nic/base/prng.h"
#include "lib/nic/engine/engine.h"
#include "lib/nic/engine/verbs/qp.h"
#include "proto/shm/ring.h"
#include "proto/wire/gid.h"
#include "tests/unit/unit_test.h"

#include <sys/socket.h>
#include <unistd.h>

#define QPS   2
#define DEPTH (LIMIT_TURN_DESTROY_AH_ENTRIES * 2)

/* A client with an address handle, and the server of its requests. */
struct fixture {
	struct engine engine;
	struct prng random; /* of the engine */
	struct family family;
	struct session *session;
	struct session_qp *qps[QPS];
	struct rnic_handle ah;
	int peer_fd;
	struct ctl_call call;
};

static struct fixture fixture;

static void call(struct fixture *f, int (*handle)(struct ctl_call *), const void *request,
		 size_t bytes)
{
	memcpy(f->call.request.payload, request, bytes);
	f->call.reply_fd_count = 0;
	assert_int_equal(handle(&f->call), 0);
	for (unsigned i = 0; i < f->call.reply_fd_count; i++)
		close(f->call.reply_fds[i]);
}

static void create_objects(struct fixture *f)
{
	const struct rnic_ctl_create_cq cq = {.entries = 1};
	struct rnic_ctl_create_qp qp = {
		.type = RNIC_QP_TYPE_UD,
		.capacities = {.max_send_wr = DEPTH, .max_send_sge = 1},
	};
	struct rnic_ctl_create_ah ah = {.path = {.is_global = 1, .port = 1}};
	struct rnic_ctl_create_qp_reply made;

	call(f, ctl_alloc_pd, "", 0);
	memcpy(&ah.pd, f->call.reply.payload, sizeof(ah.pd));
	ah.path.dest_gid = f->family.facts.gids.entries[0].gid;
	call(f, ctl_create_ah, &ah, sizeof(ah));
	memcpy(&f->ah, f->call.reply.payload, sizeof(f->ah));
	call(f, ctl_create_cq, &cq, sizeof(cq));
	qp.pd = ah.pd;
	memcpy(&qp.send_cq, f->call.reply.payload, sizeof(qp.send_cq));
	qp.recv_cq = qp.send_cq;
	for (unsigned i = 0; i < QPS; i++) {
		client_fixture_place_queues(&f->call, &qp);
		call(f, ctl_create_qp, &qp, sizeof(qp));
		memcpy(&made, f->call.reply.payload, sizeof(made));
		f->qps[i] = handle_table_get(&f->session->qps, made.qp);
		f->qps[i]->qp->state = RNIC_QP_STATE_INIT;
	}
}

static int set_up(void **state)
{
	struct fixture *f = &fixture;
	const struct engine_config config = {
		.sink = &device_sink,
		.sink_context = &f->family.device.sessions,
		.random = prng_source(&f->random),
		.max_qps = QPS,
		.max_mrs = 1,
	};

	memset(f, 0, sizeof(*f));
	prng_init(&f->random, 1);
	f->family.facts.device = (struct rnic_device_attributes){
		.max_cqe = 1,
		.completion_vectors = 1,
		.max_qp_wr = DEPTH,
		.max_sge = 1,
		.max_inline_bytes = LIMIT_INLINE_BYTES,
	};
	f->family.facts.gids.count = 1;
	f->family.facts.gids.entries[0].gid = rnic_gid_from_ipv4((const uint8_t[]){10, 0, 0, 1});
	assert_int_equal(engine_init(&f->engine, &config), 0);
	engine_set_gid(&f->engine, 0, &f->family.facts.gids.entries[0].gid);
	family_init(&f->family, &f->engine, NULL);
	f->session = client_fixture_open(
		client_fixture_connect_device(&f->family, geteuid(), &f->peer_fd), NULL, NULL);
	f->call.session = f->session;
	create_objects(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	family_fini(&f->family);
	engine_fini(&f->engine);
	close(f->peer_fd);
	return 0;
}

/* Fills the rings with datagrams that name the handle, without ringing for them. */
static void post(struct fixture *f)
{
	for (unsigned i = 0; i < QPS; i++) {
		const struct session_qp *qp = f->qps[i];
		struct rnic_send_wqe *entries =
			(struct rnic_send_wqe *)(uintptr_t)qp->send_ring.entries;

		for (unsigned k = 0; k < DEPTH; k++)
			entries[k] = (struct rnic_send_wqe){
				.opcode = RNIC_WR_SEND,
				.datagram = {f->ah.slot, f->ah.generation, 2, 0},
			};
		rnic_word_publish(&client_fixture_control(qp)->send_producer, DEPTH);
	}
}

static uint32_t taken(const struct fixture *f)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < QPS; i++)
		sum += f->qps[i]->send_consumer;
	return sum;
}

static void ask(const struct fixture *f, uint16_t operation, const void *payload, uint32_t bytes)
{
	struct {
		struct rnic_ctl_header header;
		uint8_t payload[64];
	} request = {
		.header =
			{
				.magic = RNIC_CTL_MAGIC,
				.version = RNIC_CTL_VERSION_MAX,
				.operation = operation,
				.bytes = (uint32_t)sizeof(struct rnic_ctl_header) + bytes,
			},
	};

	memcpy(request.payload, payload, bytes);
	assert_int_equal(send(f->peer_fd, &request, request.header.bytes, 0), request.header.bytes);
}

/* The operation that was answered with success; 0: none was. */
static uint16_t answered(const struct fixture *f)
{
	struct ctl_buffer reply;

	if (recv(f->peer_fd, &reply, sizeof(reply), MSG_DONTWAIT) <= 0)
		return 0;
	assert_int_equal(reply.header.status, 0);
	return reply.header.operation;
}

static void test_datagrams_are_taken_first(void **state)
{
	struct fixture *f = *state;
	uint32_t before, turns = 0;

	post(f);
	ask(f, RNIC_CTL_DESTROY_AH, &f->ah, sizeof(f->ah));
	ask(f, RNIC_CTL_QUERY_PORT, "", 0);
	do {
		assert_int_equal(answered(f), 0);
		before = taken(f);
		assert_true(family_serve(&f->family));
		assert_true(taken(f) - before <= LIMIT_TURN_DESTROY_AH_ENTRIES);
		assert_int_equal(family_have_work(&f->family),
				 f->session->connection->peer.requests.call != NULL);
		turns++;
	} while (f->session->connection->peer.requests.call != NULL);
	assert_int_equal(taken(f), QPS * DEPTH);
	assert_true(turns >= QPS * DEPTH / LIMIT_TURN_DESTROY_AH_ENTRIES);
	assert_int_equal(answered(f), RNIC_CTL_DESTROY_AH);
	assert_null(handle_table_get(&f->session->ahs, f->ah));
	while (answered(f) != RNIC_CTL_QUERY_PORT)
		family_serve(&f->family);
	/* They have the handle's path, and do not fail. */
	for (unsigned i = 0; i < QPS; i++)
		for (uint32_t k = 0; k < DEPTH; k++)
			assert_int_equal(send_queue_at(&f->qps[i]->qp->send_queue, k)->opcode,
					 RNIC_WR_SEND);
}

static void test_who_leaves_in_between(void **state)
{
	struct fixture *f = *state;

	post(f);
	ask(f, RNIC_CTL_DESTROY_AH, &f->ah, sizeof(f->ah));
	assert_true(family_serve(&f->family));
	assert_true(device_has_resumes(&f->family.device));
	served_peer_end(&f->session->connection->peer);
	family_serve(&f->family);
	while (f->family.device.connections.peers.count > 0)
		family_reap(&f->family);
	assert_false(family_have_work(&f->family));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_datagrams_are_taken_first),
		TEST(test_who_leaves_in_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
