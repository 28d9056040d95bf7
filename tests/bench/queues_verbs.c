/* SPDX-License-Identifier: MIT */
/* By libibverbs: the caller polls the send queue and the receive queue in turn. */
#include "tests/bench/queues_bench.h"

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <stdio.h>

static uint64_t out, in;
static struct rdma_cm_id *id;
static struct ibv_mr *in_mr;
static uint64_t sends_under_way;

static void post_receive(void)
{
	queues_require(rdma_post_recv(id, NULL, &in, sizeof(in), in_mr) == 0, "rdma_post_recv");
}

/* An endpoint whose queue pair has two completion queues of its own. */
static struct rdma_cm_id *make_endpoint(const char *host, uint16_t port, int flags)
{
	struct ibv_qp_init_attr wanted = {
		.cap = {.max_send_wr = 16,
			.max_recv_wr = 16,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = sizeof(out)},
		.sq_sig_all = 1,
	};
	struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *found;
	struct rdma_cm_id *endpoint;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	queues_require(rdma_getaddrinfo(host, service, &hints, &found) == 0, "rdma_getaddrinfo");
	queues_require(rdma_create_ep(&endpoint, found, NULL, &wanted) == 0, "rdma_create_ep");
	rdma_freeaddrinfo(found);
	return endpoint;
}

static void make_memory(void)
{
	in_mr = rdma_reg_msgs(id, &in, sizeof(in));
	queues_require(in_mr != NULL, "rdma_reg_msgs");
	post_receive();
}

static void verbs_serve(uint16_t port)
{
	struct rdma_cm_id *listener = make_endpoint(NULL, port, RAI_PASSIVE);

	queues_require(rdma_listen(listener, 1) == 0, "rdma_listen");
	queues_say_ready();
	queues_require(rdma_get_request(listener, &id) == 0, "rdma_get_request");
	make_memory();
	queues_require(rdma_accept(id, NULL) == 0, "rdma_accept");
	rdma_destroy_ep(listener);
}

static void verbs_call(const char *host, uint16_t port)
{
	id = make_endpoint(host, port, 0);
	make_memory();
	queues_require(rdma_connect(id, NULL) == 0, "rdma_connect");
}

static void verbs_send(bool is_last)
{
	out = is_last;
	queues_require(rdma_post_send(id, NULL, &out, sizeof(out), NULL, IBV_SEND_INLINE) == 0,
		       "rdma_post_send");
	sends_under_way++;
}

/* Takes at most one completion; whether there was one. */
static bool poll_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int count = ibv_poll_cq(cq, 1, &wc);

	queues_require(count >= 0 && (count == 0 || wc.status == IBV_WC_SUCCESS), "ibv_poll_cq");
	return count == 1;
}

static void poll_sends(void)
{
	if (poll_one(id->send_cq))
		sends_under_way--;
}

static bool verbs_receive(void)
{
	bool is_last;

	do
		poll_sends();
	while (!poll_one(id->recv_cq));
	is_last = in != 0;
	if (!is_last)
		post_receive();
	return is_last;
}

/* The end of a connection flushes what is under way. */
static void verbs_close(void)
{
	while (sends_under_way > 0)
		poll_sends();
	rdma_disconnect(id);
	rdma_dereg_mr(in_mr);
	rdma_destroy_ep(id);
}

const struct queues_way queues_verbs = {
	"verbs", verbs_serve, verbs_call, verbs_send, verbs_receive, verbs_close,
};
