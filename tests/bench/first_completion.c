/* SPDX-License-Identifier: MIT */
/*
 * A queue pair that is connected to itself writes once. Prints the time of the completion, by the
 * monotonic clock in nanoseconds: whoever started the program knows when that was.
 *
 * usage: first_completion
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <rnic/rdma.h>

/* The daemon's own words follow, if the daemon refused. */
static int explain(const char *what)
{
	perror(what);
	fprintf(stderr, "%s\n", rnic_refusal_reason());
	return 1;
}

int main(void)
{
	static char memory[4096];
	int region = rdma_reg_mr(memory, sizeof(memory),
				 RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE);
	int qp = rdma_create_qp(1, 1);
	struct rdma_wc done;
	struct timespec now;

	if (region < 0 || qp < 0)
		return explain("a region and a queue pair");
	if (rdma_connect_qp(qp, qp))
		return explain("connect");
	if (rdma_post_write(qp, region, 0, (uintptr_t)memory + 64, rdma_mr_rkey(region), 64) < 0)
		return explain("post");
	if (rdma_wait_cq(qp, &done, 1, 10000) != 1)
		return explain("wait");
	if (done.status != RDMA_WC_SUCCESS) {
		fprintf(stderr, "the WRITE fails with status %d\n", done.status);
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("{\"done_ns\": %" PRId64 "}\n",
	       (int64_t)now.tv_sec * 1000000000 + (int64_t)now.tv_nsec);
	return 0;
}
