/* SPDX-License-Identifier: MIT */
/*
 * A program that makes the calls which its standard input names, one a line, and prints for each
 * how it ended: "reg_mr ok", "reg_mr Cannot allocate memory". Two queue pairs, each connected with
 * itself, do the work of "write N": N writes by turns, and a line for each completion.
 *
 *     verb_program GID_INDEX
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QPS	2
#define ENTRIES 16
#define BYTES	64

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qps[QPS];
static uint8_t buffer[BYTES];

static void must(bool is_done, const char *what)
{
	if (is_done)
		return;
	printf("failed: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static struct ibv_qp *create_qp(void)
{
	struct ibv_qp_init_attr options = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = ENTRIES,
			.max_recv_wr = ENTRIES,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	return ibv_create_qp(pd, &options);
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT,
					 .port_num = 1,
					 .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

	return ibv_modify_qp(qp, &attributes,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* Connects the queue pair with itself. */
static void connect_qp(struct ibv_qp *qp, uint8_t gid_index)
{
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.sgid_index = gid_index, .hop_limit = 64}},
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	must(ibv_query_gid(context, 1, gid_index, &attributes.ah_attr.grh.dgid) == 0, "GID");
	must(to_init(qp) == 0, "INIT");
	must(ibv_modify_qp(qp, &attributes,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER) == 0,
	     "RTR");
	attributes.qp_state = IBV_QPS_RTS;
	must(ibv_modify_qp(qp, &attributes,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
	     "RTS");
}

static void set_up(uint8_t gid_index)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	must(devices != NULL && devices[0] != NULL, "a device");
	context = ibv_open_device(devices[0]);
	must(context != NULL, "ibv_open_device");
	ibv_free_device_list(devices);
	pd = ibv_alloc_pd(context);
	channel = ibv_create_comp_channel(context);
	must(channel != NULL, "channel");
	cq = ibv_create_cq(context, ENTRIES, NULL, channel, 0);
	must(pd != NULL && cq != NULL, "PD and CQ");
	mr = ibv_reg_mr(pd, buffer, sizeof(buffer),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(mr != NULL, "MR");
	for (int i = 0; i < QPS; i++) {
		qps[i] = create_qp();
		must(qps[i] != NULL, "QP");
		connect_qp(qps[i], gid_index);
	}
}

/* --- calls: 0, or an errno ------------------------------------------------------------------- */

static int try_alloc_pd(void)
{
	struct ibv_pd *made = ibv_alloc_pd(context);

	return made != NULL ? ibv_dealloc_pd(made) : errno;
}

static int try_reg_mr(void)
{
	struct ibv_mr *made = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);

	return made != NULL ? ibv_dereg_mr(made) : errno;
}

static int try_create_cq(void)
{
	struct ibv_cq *made = ibv_create_cq(context, ENTRIES, NULL, NULL, 0);

	return made != NULL ? ibv_destroy_cq(made) : errno;
}

static int try_create_qp(void)
{
	struct ibv_qp *made = create_qp();

	return made != NULL ? ibv_destroy_qp(made) : errno;
}

static int try_modify_qp(void)
{
	struct ibv_qp *made = create_qp();
	int error = made != NULL ? to_init(made) : errno;

	if (made != NULL)
		ibv_destroy_qp(made);
	return error;
}

static int try_create_srq(void)
{
	struct ibv_srq_init_attr options = {.attr = {.max_wr = ENTRIES, .max_sge = 1}};
	struct ibv_srq *made = ibv_create_srq(pd, &options);

	return made != NULL ? ibv_destroy_srq(made) : errno;
}

static int try_post_recv(void)
{
	struct ibv_recv_wr receive = {0}, *bad;

	return ibv_post_recv(qps[0], &receive, &bad);
}

static int post_write(struct ibv_qp *qp, uint64_t number)
{
	struct ibv_sge sge = {.addr = (uintptr_t)buffer, .length = BYTES, .lkey = mr->lkey};
	struct ibv_send_wr write = {
		.wr_id = number,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = {.remote_addr = (uintptr_t)buffer, .rkey = mr->rkey},
	};
	struct ibv_send_wr *bad;

	return ibv_post_send(qp, &write, &bad);
}

static int try_post_send(void)
{
	struct ibv_wc completion;
	int error = post_write(qps[0], 0);
	int count = 0;

	while (error == 0 && count == 0)
		count = ibv_poll_cq(cq, 1, &completion);
	return count >= 0 ? error : EIO;
}

static const struct {
	const char *name;
	int (*try)(void);
} calls[] = {
	{"alloc_pd", try_alloc_pd},   {"reg_mr", try_reg_mr},	    {"create_cq", try_create_cq},
	{"create_qp", try_create_qp}, {"modify_qp", try_modify_qp}, {"create_srq", try_create_srq},
	{"post_recv", try_post_recv}, {"post_send", try_post_send},
};

/* --- completions ----------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Posts a write, and waits until its completion lies in the queue. */
static void write_until_done(int number)
{
	struct ibv_cq *found;
	void *user;

	must(ibv_req_notify_cq(cq, 0) == 0, "ibv_req_notify_cq");
	must(post_write(qps[number % QPS], (uint64_t)number) == 0, "ibv_post_send");
	must(ibv_get_cq_event(channel, &found, &user) == 0, "ibv_get_cq_event");
	ibv_ack_cq_events(found, 1);
}

/* Writes by turns, and takes all completions then. */
static void write_and_poll(int count)
{
	struct ibv_wc completions[ENTRIES];
	uint64_t begin_ms;
	int got = 0;

	for (int i = 0; i < count; i++)
		write_until_done(i);
	begin_ms = now_ms();
	while (got < count) {
		int more = ibv_poll_cq(cq, count - got, completions + got);

		must(more >= 0, "ibv_poll_cq");
		got += more;
	}
	for (int i = 0; i < count; i++)
		printf("%d:%s ", (int)completions[i].wr_id,
		       ibv_wc_status_str(completions[i].status));
	printf("in %d ms\n", (int)(now_ms() - begin_ms));
}

static void make_call(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		int error;

		if (strcmp(calls[i].name, name) != 0)
			continue;
		error = calls[i].try();
		printf("%s %s\n", name, error == 0 ? "ok" : strerror(error));
		return;
	}
	printf("there is no call %s\n", name);
}

int main(int argc, char **argv)
{
	char line[64];
	int count;

	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up(argc > 1 ? (uint8_t)atoi(argv[1]) : 0);
	printf("ready 0x%x 0x%x\n", qps[0]->qp_num, qps[1]->qp_num);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "write %d", &count) == 1 && count > 0 && count <= ENTRIES)
			write_and_poll(count);
		else
			make_call(line);
	}
	return EXIT_SUCCESS;
}
