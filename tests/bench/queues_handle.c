/* SPDX-License-Identifier: MIT */
/* By <rnic/rdma.h>, whose rdma_poll_cq() polls both queues. */
#include "tests/bench/queues_bench.h"

#include <rnic/rdma.h>

static uint64_t out, in;
static int qp, out_mr, in_mr;

static void post_receive(void)
{
	queues_require(rdma_post_recv(qp, in_mr, 0, sizeof(in)) >= 0, "rdma_post_recv");
}

static void make_qp(void)
{
	qp = rdma_create_qp(16, 16);
	out_mr = rdma_reg_mr(&out, sizeof(out), RDMA_ACCESS_LOCAL_WRITE);
	in_mr = rdma_reg_mr(&in, sizeof(in), RDMA_ACCESS_LOCAL_WRITE);
	queues_require(qp >= 0 && out_mr >= 0 && in_mr >= 0, "queue pair and regions");
	post_receive();
}

static void handle_serve(uint16_t port)
{
	int listener = rdma_listen_host(NULL, port);

	queues_require(listener >= 0, "rdma_listen_host");
	make_qp();
	queues_say_ready();
	queues_require(rdma_accept_qp(listener, qp, -1) == 0, "rdma_accept_qp");
	rdma_close_listener(listener);
}

static void handle_call(const char *host, uint16_t port)
{
	make_qp();
	queues_require(rdma_connect_host(qp, host, port, 10000) == 0, "rdma_connect_host");
}

static void handle_send(bool is_last)
{
	out = is_last;
	queues_require(rdma_post_send(qp, out_mr, sizeof(out)) >= 0, "rdma_post_send");
}

static bool handle_receive(void)
{
	struct rdma_wc wc;
	bool is_last;
	int count;

	do {
		count = rdma_poll_cq(qp, &wc, 1);
		queues_require(count >= 0 && (count == 0 || wc.status == RDMA_WC_SUCCESS),
			       "rdma_poll_cq");
	} while (count == 0 || wc.opcode != RDMA_WC_RECV);
	is_last = in != 0;
	if (!is_last)
		post_receive();
	return is_last;
}

/* The last message is on its way when its completion is there; the peer may be gone already. */
static void handle_close(void)
{
	struct rdma_wc wc;

	rdma_wait_cq(qp, &wc, 1, 1000);
	rdma_destroy_qp(qp);
}

const struct queues_way queues_handle = {
	"handle", handle_serve, handle_call, handle_send, handle_receive, handle_close,
};
