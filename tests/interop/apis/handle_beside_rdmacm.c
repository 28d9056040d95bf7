/* SPDX-License-Identifier: MIT */
/*
 * The handle API and librdmacm in one program: both have an rdma_create_qp() and an
 * rdma_destroy_qp(). This file uses those of <rnic/rdma.h>, rdmacm_beside_handle.c the others.
 *
 *	handle_beside_rdmacm ADDRESS
 */
#include "tests/interop/apis/handle_check.h"

/* Makes a queue pair by librdmacm and ends it again; says what failed and returns -1. */
int make_qp_by_librdmacm(const char *address);

int main(int argument_count, char **arguments)
{
	static char memory[64];
	int qp, mr;

	if (argument_count != 2)
		return 2;
	mr = REQUIRE(rdma_reg_mr(memory, sizeof(memory), ALL_RIGHTS));
	qp = REQUIRE(rdma_create_qp(8, 8));
	REQUIRE(make_qp_by_librdmacm(arguments[1]));
	REQUIRE(rdma_post_write(qp, mr, 0, (uintptr_t)memory, rdma_mr_rkey(mr), 64));
	COMPLETES(RDMA_WC_SUCCESS, qp, 0);
	REQUIRE(rdma_destroy_qp(qp));
	REQUIRE(rdma_dereg_mr(mr));
	return 0;
}
