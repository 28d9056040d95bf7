/* SPDX-License-Identifier: MIT */
/* MODIFY_QP with two steps: both, the first one alone, or none. */
#include "device/objects/object_requests.h"

#include "client_fixture.h"

#include "base/prng.h"
#include "engine/engine.h"
#include "engine/verbs/qp.h"
#include "device/objects/session_objects.h"
#include "device/session/session.h"
#include "wire/gid.h"
#include "unit_test.h"

#include <errno.h>
#include <unistd.h>

#define TO_RTR                                                                                     \
	(RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU | RNIC_QP_ATTR_DEST_QPN | RNIC_QP_ATTR_RQ_PSN |   \
	 RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC | RNIC_QP_ATTR_MIN_RNR_TIMER)
#define TO_RTS                                                                                     \
	(RNIC_QP_ATTR_SQ_PSN | RNIC_QP_ATTR_TIMEOUT | RNIC_QP_ATTR_RETRY_COUNT |                   \
	 RNIC_QP_ATTR_RNR_RETRY | RNIC_QP_ATTR_MAX_RD_ATOMIC)

/* A client with a queue pair in INIT. */
struct fixture {
	struct engine engine;
	struct prng random; /* of the engine */
	struct halves halves;
	struct session *session;
	struct session_qp *qp;
	int peer_fd;
	struct ctl_call call;
};

static struct fixture fixture;

static int call(struct fixture *f, int (*handle)(struct ctl_call *), const void *request,
		size_t bytes)
{
	int result;

	memcpy(f->call.request.payload, request, bytes);
	f->call.reply_fd_count = 0;
	result = handle(&f->call);
	for (unsigned i = 0; i < f->call.reply_fd_count; i++)
		close(f->call.reply_fds[i]);
	return result;
}

static void create_qp(struct fixture *f)
{
	const struct rnic_ctl_create_cq cq = {.entries = 1};
	struct rnic_ctl_create_qp qp = {.type = RNIC_QP_TYPE_RC};
	struct rnic_ctl_create_qp_reply made;

	assert_int_equal(call(f, ctl_alloc_pd, "", 0), 0);
	memcpy(&qp.pd, f->call.reply.payload, sizeof(qp.pd));
	assert_int_equal(call(f, ctl_create_cq, &cq, sizeof(cq)), 0);
	memcpy(&qp.send_cq, f->call.reply.payload, sizeof(qp.send_cq));
	qp.recv_cq = qp.send_cq;
	assert_int_equal(call(f, ctl_create_qp, &qp, sizeof(qp)), 0);
	memcpy(&made, f->call.reply.payload, sizeof(made));
	f->qp = handle_table_get(&f->session->qps, made.qp);
	f->qp->qp->state = RNIC_QP_STATE_INIT;
}

static int set_up(void **state)
{
	struct fixture *f = &fixture;
	const struct engine_config config = {
		.sink = &device_half_sink,
		.sink_context = &f->halves.device.sessions,
		.random = prng_source(&f->random),
		.max_qps = 1,
		.max_mrs = 1,
	};

	memset(f, 0, sizeof(*f));
	prng_init(&f->random, 1);
	f->halves.facts.device = (struct rnic_device_attributes){
		.max_cqe = 1,
		.completion_vectors = 1,
		.max_qp_wr = 1,
		.max_sge = 1,
		.max_inline_bytes = 64,
	};
	f->halves.facts.port.active_mtu = 5;
	f->halves.facts.gids.count = 1;
	f->halves.facts.gids.entries[0].gid = rnic_gid_from_ipv4((const uint8_t[]){10, 0, 0, 1});
	assert_int_equal(engine_init(&f->engine, &config), 0);
	engine_set_gid(&f->engine, 0, &f->halves.facts.gids.entries[0].gid);
	halves_init(&f->halves, &f->engine, NULL);
	f->session = client_fixture_open(
		client_fixture_connect_device(&f->halves, geteuid(), &f->peer_fd), NULL, NULL);
	f->call.session = f->session;
	create_qp(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	halves_fini(&f->halves);
	engine_fini(&f->engine);
	close(f->peer_fd);
	return 0;
}

static int connect_qp(struct fixture *f, uint32_t mask, uint32_t rts_mask)
{
	const struct rnic_ctl_modify_qp request = {
		.qp = f->qp->handle,
		.mask = mask,
		.rts_mask = rts_mask,
		.attributes =
			{
				.path_mtu = 3,
				.dest_qpn = 17,
				.rq_psn = 18,
				.sq_psn = 19,
				.timeout = 14,
				.path =
					{
						.is_global = 1,
						.port = 1,
						.hop_limit = 64,
						.dest_gid = f->halves.facts.gids.entries[0].gid,
					},
			},
	};

	return call(f, ctl_modify_qp, &request, sizeof(request));
}

static void test_both_steps(void **state)
{
	struct fixture *f = *state;
	struct rnic_qp_attributes attributes;

	assert_int_equal(connect_qp(f, TO_RTR, TO_RTS), 0);
	qp_query(f->qp->qp, &attributes);
	assert_int_equal(attributes.state, RNIC_QP_STATE_RTS);
	assert_int_equal(attributes.dest_qpn, 17);
	assert_int_equal(attributes.rq_psn, 18);
	assert_int_equal(attributes.sq_psn, 19);
	assert_int_equal(attributes.timeout, 14);
}

static void test_first_step_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(connect_qp(f, TO_RTR & ~(uint32_t)RNIC_QP_ATTR_AV, TO_RTS), -EINVAL);
	assert_string_not_equal(f->call.reason, "");
	assert_int_equal(f->qp->qp->state, RNIC_QP_STATE_INIT);
}

static void test_second_step_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(connect_qp(f, TO_RTR, RNIC_QP_ATTR_SQ_PSN), -EINVAL);
	assert_string_not_equal(f->call.reason, "");
	assert_int_equal(f->qp->qp->state, RNIC_QP_STATE_RTR);
}

/* The path of either step is held against what the engine cannot know. */
static void test_path_is_checked(void **state)
{
	struct fixture *f = *state;

	f->halves.facts.port.active_mtu = 2;
	assert_int_equal(connect_qp(f, TO_RTR, TO_RTS), -EINVAL);
	assert_non_null(strstr(f->call.reason, "path MTU 1024 does not fit"));
	assert_int_equal(f->qp->qp->state, RNIC_QP_STATE_INIT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_both_steps),
		TEST(test_first_step_refused),
		TEST(test_second_step_refused),
		TEST(test_path_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
