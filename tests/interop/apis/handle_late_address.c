/* SPDX-License-Identifier: MIT */
/*
 * Two processes of a host connect their queue pairs by number, one before and one after a command
 * that changes the host's addresses.
 *
 *	handle_late_address COMMAND
 *
 * Prints what failed and exits with 1, or exits with 0 when nothing did.
 */
#include "tests/interop/apis/handle_check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define DEPTH 8
#define BYTES 100

static char memory[BYTES];

/* The later half, in a child: connects when it is told to, and receives. */
static void be_child(int in, int out)
{
	int mr, qp, peer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	mr = REQUIRE(rdma_reg_mr(memory, BYTES, RDMA_ACCESS_LOCAL_WRITE));
	qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	REQUIRE(rdma_post_recv(qp, mr, 0, BYTES));
	tell(out, qp);
	peer = hear(in);
	REQUIRE(rdma_connect_qp(qp, peer));
	tell(out, qp);
	COMPLETES(RDMA_WC_SUCCESS, qp, 0);
	tell(out, qp);
	hear(in);
	_exit(0);
}

int main(int argc, char **argv)
{
	int up[2], down[2], status, mr, qp;
	pid_t child;

	REQUIRE_TRUE(argc == 2);
	REQUIRE(pipe(up));
	REQUIRE(pipe(down));
	child = REQUIRE(fork());
	if (child == 0)
		be_child(down[0], up[1]);
	close(up[1]);
	mr = REQUIRE(rdma_reg_mr(memory, BYTES, RDMA_ACCESS_LOCAL_WRITE));
	qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	REQUIRE(rdma_connect_qp(qp, hear(up[0])));
	REQUIRE_TRUE(system(argv[1]) == 0);
	tell(down[1], qp);
	hear(up[0]);
	REQUIRE(rdma_post_send(qp, mr, BYTES));
	COMPLETES(RDMA_WC_SUCCESS, qp, 0);
	hear(up[0]);
	tell(down[1], qp);
	REQUIRE_TRUE(waitpid(child, &status, 0) == child && status == 0);
	return 0;
}
