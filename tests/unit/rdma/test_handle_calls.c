/* SPDX-License-Identifier: MIT */
/* The handle API without a daemon: every call returns an error and its reason. */
#include "unit_test.h"

#include <rnic/rdma.h>

static char memory[64];
static struct rdma_wc wc;

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

static void test_impossible_arguments_are_refused(void **state)
{
	(void)state;
	refused(EINVAL, rdma_reg_mr(memory, 0, 0));
	refused(EINVAL, rdma_reg_mr(memory, sizeof(memory), 1 << 20));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_made_without_a_daemon),
		cmocka_unit_test(test_unknown_handles_are_refused),
		cmocka_unit_test(test_impossible_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, no_daemon, NULL);
}
