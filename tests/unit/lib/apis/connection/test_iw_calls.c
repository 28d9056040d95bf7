/* SPDX-License-Identifier: MIT */
/* The context API without a context, and without a daemon. */
#include "tests/unit/unit_test.h"

#include <rnic/connection.h>

static int no_daemon(void **state)
{
	(void)state;
	return setenv("RNIC_SOCKET", "/nonexistent/rnicd.sock", 1);
}

static void test_nothing_is_made_without_a_daemon(void **state)
{
	struct iw_ctx_conn *ctx = NULL;
	struct iw_pd *pd = NULL;

	(void)state;
	assert_int_equal(iw_ctx_alloc("localhost", 1, NULL, NULL, &ctx), -ENOENT);
	assert_int_equal(iw_open(NULL, 0, 1, &ctx), -ENOENT);
	assert_int_equal(iw_pd_alloc(&pd), -ENOENT);
	assert_null(ctx);
	assert_null(pd);
}

static void test_no_context_is_refused(void **state)
{
	const struct iw_sgl sgl = {0};
	const struct iw_rmr remote = {0};
	struct iw_natives natives;
	struct iw_lmr *made;
	struct iw_lmr lmr = {0};
	struct iw_rmr rmr;
	struct iw_wc wc;
	char buffer[8];

	(void)state;
	assert_int_equal(iw_ctx_alloc(NULL, 0, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(iw_pd_alloc(NULL), -EINVAL);
	assert_int_equal(iw_ctx_natives(NULL, &natives), -EINVAL);
	assert_int_equal(iw_open(NULL, 0, 1, NULL), -EINVAL);
	assert_int_equal(iw_connect(NULL, 0, NULL), -EINVAL);
	assert_int_equal(iw_listen(NULL, NULL), -EINVAL);
	assert_int_equal(iw_accept(NULL, 0, NULL), -EINVAL);
	assert_int_equal(iw_reject(NULL), -EINVAL);
	assert_int_equal(iw_lmr_create(8, 0, &made, NULL), -EINVAL);
	assert_int_equal(iw_lmr_register(buffer, 8, 0, &made, NULL), -EINVAL);
	assert_int_equal(iw_lmr_destroy(NULL, false), -EINVAL);
	assert_int_equal(iw_post_send_adv(&lmr, NULL), -EINVAL);
	assert_int_equal(iw_post_recv_adv(NULL), -EINVAL);
	assert_int_equal(iw_wait_recv_adv(&rmr, NULL), -EINVAL);
	assert_int_equal(post_recv_sgl(&sgl, NULL), -EINVAL);
	assert_int_equal(post_recv_lmr(&lmr, 0, 0, NULL), -EINVAL);
	assert_int_equal(post_send_sgl(&sgl, 0, NULL), -EINVAL);
	assert_int_equal(post_send_lmr(&lmr, 0, 0, 0, NULL), -EINVAL);
	assert_int_equal(post_write_sgl(&sgl, &remote, 0, 0, NULL), -EINVAL);
	assert_int_equal(post_write_lmr(&lmr, 0, &remote, 0, 0, 0, NULL), -EINVAL);
	assert_int_equal(post_read_sgl(&sgl, &remote, 0, 0, NULL), -EINVAL);
	assert_int_equal(post_read_lmr(&lmr, 0, &remote, 0, 0, 0, NULL), -EINVAL);
	assert_int_equal(await_completions(IW_SCQ, 1, &wc, NULL), -EINVAL);
	assert_int_equal(iw_disconnect(NULL), -EINVAL);
	assert_int_equal(iw_await_disconnect(NULL), -EINVAL);
	iw_ctx_free(NULL);
	iw_pd_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_made_without_a_daemon),
		cmocka_unit_test(test_no_context_is_refused),
	};

	return cmocka_run_group_tests(tests, no_daemon, NULL);
}
