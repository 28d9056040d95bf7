/* SPDX-License-Identifier: MIT */
#include "session/trouble.h"

#include "engine/qp.h"
#include "session/cm_identifier.h"
#include "session/session.h"
#include "session/session_set.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* The engine's and the session's objects as far as troubles look at them. */
struct fixture {
	struct session_set set;
	struct session session;
	struct session_qp session_qp;
	struct qp qp;
};

static struct fixture fixture;

static int set_up(void **state)
{
	memset(&fixture, 0, sizeof(fixture));
	fixture.set.now_ns = 5;
	fixture.session = (struct session){
		.set = &fixture.set, .pid = 77, .uid = 1000, .program = "ib_write_bw"};
	fixture.session_qp.session = &fixture.session;
	fixture.qp.user = &fixture.session_qp;
	fixture.qp.qpn = 0x1234;
	*state = &fixture;
	return 0;
}

static const struct trouble *nth(uint32_t n)
{
	return trouble_nth(&fixture.set.troubles, n);
}

static void test_a_queue_pair(void **state)
{
	struct qp *qp = &fixture.qp;

	(void)state;
	assert_null(nth(0));
	qp->last_error = VERDICT_BAD_QKEY;
	trouble_of_qp(&fixture.set, qp);
	assert_string_equal(nth(0)->subject, "queue pair 0x001234");
	assert_string_equal(nth(0)->program, "ib_write_bw");
	assert_int_equal(nth(0)->pid, 77);
	assert_int_equal(nth(0)->uid, 1000);
	assert_non_null(strstr(nth(0)->reason, "Q_Key"));

	qp->last_error = VERDICT_RETRY_EXCEEDED;
	qp->attributes.dest_qpn = 0x56;
	qp->attributes.path.dest_gid =
		(struct rnic_gid){{[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 7}};
	trouble_of_qp(&fixture.set, qp);
	assert_string_equal(nth(0)->subject, "queue pair 0x001234 to 0x000056 of 192.0.2.7");
	assert_non_null(strstr(nth(0)->reason, "did not answer"));
	assert_non_null(strstr(nth(1)->reason, "Q_Key"));
}

/* Nobody has the target of XRC open. */
static void test_a_queue_pair_of_nobody(void **state)
{
	struct shared_target target = {.qp = &fixture.qp};
	struct xrcd xrcd;

	(void)state;
	list_init(&target.handles);
	fixture.qp.user = &target;
	fixture.qp.xrcd = &xrcd;
	fixture.qp.last_error = VERDICT_BAD_RKEY;
	trouble_of_qp(&fixture.set, &fixture.qp);
	assert_null(nth(0));
}

static void test_a_request(void **state)
{
	(void)state;
	trouble_of_request(&fixture.session, RNIC_CTL_MODIFY_QP, -EINVAL, "there is no such GID");
	assert_string_equal(nth(0)->subject, "MODIFY_QP refused");
	assert_string_equal(nth(0)->reason, "there is no such GID");
	trouble_of_request(&fixture.session, RNIC_CTL_REGISTER_MR, -ENOMEM, "");
	assert_string_equal(nth(0)->reason, strerror(ENOMEM));
}

static void test_what_is_no_fault(void **state)
{
	(void)state;
	trouble_of_request(&fixture.session, RNIC_CTL_CM_GET_EVENT, -EAGAIN, "");
	fixture.session.is_admin = true;
	trouble_of_request(&fixture.session, RNIC_CTL_SHOW, -EINVAL, "there is no listing 99");
	assert_null(nth(0));
}

static void test_a_connection(void **state)
{
	struct session_cm_id id = {
		.session = &fixture.session,
		.peer = {.gid = {{[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 7}},
			 .port = 7174},
		.failure = RNIC_CM_REJECTED,
		.failure_status = 8,
	};

	(void)state;
	trouble_of_connection(&id);
	assert_string_equal(nth(0)->subject, "connection to 192.0.2.7 port 7174");
	assert_non_null(strstr(nth(0)->reason, "nobody listens at that port of the peer"));
	id.failure = RNIC_CM_DISCONNECTED;
	trouble_of_connection(&id);
	assert_null(nth(1));
}

static void test_the_network(void **state)
{
	const struct rnic_gid dest = {{[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 7}};

	(void)state;
	trouble_of_network(&fixture.set, &dest, 4164, -EMSGSIZE);
	assert_string_equal(nth(0)->subject, "packets to 192.0.2.7");
	assert_non_null(
		strstr(nth(0)->reason, "4164 bytes: Message too long; the path carries less"));
	assert_true(nth(0)->is_of_all);
}

static void test_the_same_again_is_one(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		fixture.set.now_ns = 10 + i;
		trouble_of_request(&fixture.session, RNIC_CTL_MODIFY_QP, -EINVAL, "no");
	}
	assert_int_equal(nth(0)->at_ns, 12);
	assert_null(nth(1));
}

static void test_the_oldest_gives_way(void **state)
{
	const uint32_t count = TROUBLES_MAX + 5;

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		fixture.session.pid = (pid_t)i;
		trouble_of_request(&fixture.session, RNIC_CTL_MODIFY_QP, -EINVAL, "no");
	}
	for (uint32_t i = 0; i < TROUBLES_MAX; i++)
		assert_int_equal(nth(i)->pid, count - 1 - i);
	assert_null(nth(TROUBLES_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_queue_pair, set_up),
		cmocka_unit_test_setup(test_a_queue_pair_of_nobody, set_up),
		cmocka_unit_test_setup(test_a_request, set_up),
		cmocka_unit_test_setup(test_what_is_no_fault, set_up),
		cmocka_unit_test_setup(test_a_connection, set_up),
		cmocka_unit_test_setup(test_the_network, set_up),
		cmocka_unit_test_setup(test_the_same_again_is_one, set_up),
		cmocka_unit_test_setup(test_the_oldest_gives_way, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
