/* SPDX-License-Identifier: MIT */
/* The handle API without a daemon: every call returns an error and its reason. */
#include "tests/unit/unit_test.h"

#include <rnic/rdma.h>

static char memory[64];
static struct rdma_wc wc;
static void *place;

static int no_daemon(void **state)
{
	(void)state;
	return setenv("RNIC_SOCKET", "/nonexistent/rnicd.sock", 1);
}

static void refused(int expected, int result)
{
	assert_int_equal(result, -1);
	assert_int_equal(errno, expected);
	errno = 0;
}

static void test_nothing_is_made_without_a_daemon(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		refused(ENOENT, rdma_reg_mr(memory, sizeof(memory), RDMA_ACCESS_LOCAL_WRITE));
		refused(ENOENT, rdma_alloc_mr(&place, sizeof(memory), RDMA_ACCESS_LOCAL_WRITE));
		assert_null(place);
		refused(ENOENT, rdma_create_qp(64, 64));
		refused(ENOENT, rdma_listen_host(NULL, 0));
	}
}

static void test_unknown_handles_are_refused(void **state)
{
	(void)state;
	for (int handle = -1; handle < 2; handle++) {
		refused(EBADF, rdma_dereg_mr(handle));
		refused(EBADF, rdma_destroy_qp(handle));
		refused(EBADF, rdma_close_listener(handle));
		refused(EBADF, rdma_listener_port(handle));
		refused(EBADF, rdma_connect_qp(handle, 1));
		refused(EBADF, rdma_connect_host(handle, "localhost", 1, 0));
		refused(EBADF, rdma_accept_qp(handle, handle, 0));
		refused(EBADF, rdma_post_write(handle, handle, 0, 0, 0, 1));
		refused(EBADF, rdma_post_read(handle, handle, 0, 0, 0, 1));
		refused(EBADF, rdma_post_send(handle, handle, 1));
		refused(EBADF, rdma_post_recv(handle, handle, 0, 1));
		refused(EBADF, rdma_poll_cq(handle, &wc, 1));
		refused(EBADF, rdma_wait_cq(handle, &wc, 1, 0));
		assert_int_equal(rdma_mr_rkey(handle), 0);
		assert_int_equal(errno, EBADF);
	}
}

static void test_errors_have_words(void **state)
{
	const int errors[] = {EBADF, EINVAL, ENOENT, EAGAIN, EISCONN, ENOSPC};

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		assert_string_not_equal(rdma_strerror(errors[i]), strerror(errors[i]));
	assert_string_equal(rdma_strerror(EXDEV), strerror(EXDEV));
}

static void test_impossible_arguments_are_refused(void **state)
{
	(void)state;
	refused(EINVAL, rdma_reg_mr(memory, 0, 0));
	refused(EINVAL, rdma_reg_mr(memory, sizeof(memory), 1 << 20));
	refused(EINVAL, rdma_alloc_mr(&place, 0, 0));
	refused(EINVAL, rdma_alloc_mr(NULL, 1, 0));
	refused(EINVAL, rdma_create_qp(0, 64));
	refused(EINVAL, rdma_create_qp(64, -1));
	refused(EINVAL, rdma_listen_host(NULL, -1));
	refused(EINVAL, rdma_listen_host(NULL, 65536));
	refused(EINVAL, rdma_connect_host(0, "localhost", 0, 0));
	refused(EINVAL, rdma_connect_host(0, NULL, 1, 0));
	refused(EINVAL, rdma_connect_qp(0, 1 << 24));
	refused(EINVAL, rdma_poll_cq(0, NULL, 1));
	refused(EINVAL, rdma_poll_cq(0, &wc, 0));
	refused(EINVAL, rdma_wait_cq(0, &wc, -1, 0));
}

/* As in the example of the API's document, which looks at no result. */
static void test_failed_poll_shows_no_success(void **state)
{
	(void)state;
	memset(&wc, 0, sizeof(wc));
	assert_int_equal(wc.status, RDMA_WC_SUCCESS);
	refused(EBADF, rdma_poll_cq(-1, &wc, 1));
	assert_int_equal(wc.status, RDMA_WC_GENERAL_ERR);
	assert_int_equal(wc.wr_id, -1);
	memset(&wc, 0, sizeof(wc));
	refused(EBADF, rdma_wait_cq(-1, &wc, 1, 0));
	assert_int_equal(wc.status, RDMA_WC_GENERAL_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_made_without_a_daemon),
		cmocka_unit_test(test_unknown_handles_are_refused),
		cmocka_unit_test(test_failed_poll_shows_no_success),
		cmocka_unit_test(test_errors_have_words),
		cmocka_unit_test(test_impossible_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, no_daemon, NULL);
}
