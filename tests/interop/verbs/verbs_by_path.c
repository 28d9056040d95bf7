/* SPDX-License-Identifier: MIT */
/*
 * A program that is linked with no libibverbs, and loads the one that its environment names, as
 * NCCL, RCCL and MSCCL++ do: verbs_by_path VARIABLE FUNCTION
 *
 * VARIABLE has the path. FUNCTION is dlvsym, with the versions that NCCL asks for, or dlsym. The
 * program writes to its own memory over a queue pair that is connected to itself, and prints the
 * device's name.
 */
#include "tests/interop/verbs/qp_steps.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_query_port
#undef ibv_reg_mr

#define WAIT_POLLS 100000000
#define HALF_BYTES 100

static struct {
	struct ibv_device **(*get_device_list)(int *);
	void (*free_device_list)(struct ibv_device **);
	const char *(*get_device_name)(struct ibv_device *);
	struct ibv_context *(*open_device)(struct ibv_device *);
	int (*close_device)(struct ibv_context *);
	int (*fork_init)(void);
	int (*query_device)(struct ibv_context *, struct ibv_device_attr *);
	int (*query_port)(struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *);
	int (*query_gid)(struct ibv_context *, uint8_t, int, union ibv_gid *);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *);
	int (*dealloc_pd)(struct ibv_pd *);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, int);
	int (*dereg_mr)(struct ibv_mr *);
	struct ibv_cq *(*create_cq)(struct ibv_context *, int, void *, struct ibv_comp_channel *,
				    int);
	int (*destroy_cq)(struct ibv_cq *);
	struct ibv_qp *(*create_qp)(struct ibv_pd *, struct ibv_qp_init_attr *);
	int (*modify_qp)(struct ibv_qp *, struct ibv_qp_attr *, int);
	int (*destroy_qp)(struct ibv_qp *);
	const char *(*event_type_str)(enum ibv_event_type);
} verbs;

static const struct {
	const char *name;
	const char *version;
	void *place;
} symbols[] = {
	{"ibv_get_device_list", "IBVERBS_1.1", &verbs.get_device_list},
	{"ibv_free_device_list", "IBVERBS_1.1", &verbs.free_device_list},
	{"ibv_get_device_name", "IBVERBS_1.1", &verbs.get_device_name},
	{"ibv_open_device", "IBVERBS_1.1", &verbs.open_device},
	{"ibv_close_device", "IBVERBS_1.1", &verbs.close_device},
	{"ibv_fork_init", "IBVERBS_1.1", &verbs.fork_init},
	{"ibv_query_device", "IBVERBS_1.1", &verbs.query_device},
	{"ibv_query_port", "IBVERBS_1.1", &verbs.query_port},
	{"ibv_query_gid", "IBVERBS_1.1", &verbs.query_gid},
	{"ibv_alloc_pd", "IBVERBS_1.1", &verbs.alloc_pd},
	{"ibv_dealloc_pd", "IBVERBS_1.1", &verbs.dealloc_pd},
	{"ibv_reg_mr", "IBVERBS_1.1", &verbs.reg_mr},
	{"ibv_dereg_mr", "IBVERBS_1.1", &verbs.dereg_mr},
	{"ibv_create_cq", "IBVERBS_1.1", &verbs.create_cq},
	{"ibv_destroy_cq", "IBVERBS_1.1", &verbs.destroy_cq},
	{"ibv_create_qp", "IBVERBS_1.1", &verbs.create_qp},
	{"ibv_modify_qp", "IBVERBS_1.1", &verbs.modify_qp},
	{"ibv_destroy_qp", "IBVERBS_1.1", &verbs.destroy_qp},
	{"ibv_event_type_str", "IBVERBS_1.1", &verbs.event_type_str},
};

static void need(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "verbs_by_path: %s\n", what);
	exit(1);
}

static void load(const char *path, bool with_versions)
{
	void *library = dlopen(path, RTLD_NOW);

	need(library != NULL, library == NULL ? dlerror() : "");
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = with_versions ? dlvsym(library, symbols[i].name, symbols[i].version)
					    : dlsym(library, symbols[i].name);

		need(found != NULL, symbols[i].name);
		memcpy(symbols[i].place, &found, sizeof(found));
	}
	/* NCCL asks for newer ones, too, and does without what is not there. */
	need(dlvsym(library, "ibv_reg_mr_iova2", "IBVERBS_1.8") != NULL, "ibv_reg_mr_iova2");
	need(dlvsym(library, "ibv_query_ece", "IBVERBS_1.10") != NULL, "ibv_query_ece");
	need(dlvsym(library, "ibv_reg_dmabuf_mr", "IBVERBS_1.12") != NULL, "ibv_reg_dmabuf_mr");
}

static void connect_to_itself(struct ibv_qp *qp, const union ibv_gid *gid)
{
	struct ibv_qp_attr attributes = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .hop_limit = 255}},
	};

	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attributes.qp_state = (enum ibv_qp_state)state;
		need(verbs.modify_qp(qp, &attributes,
				     qp_mask_to(attributes.qp_state, IBV_QPT_RC)) == 0,
		     "ibv_modify_qp");
	}
}

/* Writes the first half of the region to the second one. */
static void write_half(struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_sge sge = {.addr = (uintptr_t)mr->addr, .length = HALF_BYTES, .lkey = mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int count = 0;

	wr.wr.rdma.remote_addr = sge.addr + HALF_BYTES;
	wr.wr.rdma.rkey = mr->rkey;
	need(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
	for (uint32_t i = 0; i < WAIT_POLLS && count == 0; i++)
		count = ibv_poll_cq(qp->send_cq, 1, &wc);
	need(count == 1 && wc.status == IBV_WC_SUCCESS, "the WRITE");
}

static void try_device(struct ibv_context *context)
{
	uint8_t bytes[2 * HALF_BYTES] = "written by a library that was named by its path";
	struct ibv_qp_init_attr wanted = {
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};
	struct ibv_pd *pd = verbs.alloc_pd(context);
	struct ibv_port_attr port = {0};
	struct ibv_device_attr device;
	union ibv_gid gid;
	struct ibv_mr *mr;
	struct ibv_qp *qp;

	need(pd != NULL, "ibv_alloc_pd");
	need(verbs.query_device(context, &device) == 0 && device.max_qp > 0, "ibv_query_device");
	need(verbs.query_port(context, 1, (struct _compat_ibv_port_attr *)&port) == 0 &&
		     port.state == IBV_PORT_ACTIVE,
	     "ibv_query_port");
	need(verbs.query_gid(context, 1, 0, &gid) == 0, "ibv_query_gid");
	mr = verbs.reg_mr(pd, bytes, sizeof(bytes),
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(mr != NULL, "ibv_reg_mr");
	wanted.send_cq = wanted.recv_cq = verbs.create_cq(context, 16, NULL, NULL, 0);
	need(wanted.send_cq != NULL, "ibv_create_cq");
	qp = verbs.create_qp(pd, &wanted);
	need(qp != NULL, "ibv_create_qp");
	connect_to_itself(qp, &gid);
	write_half(qp, mr);
	need(memcmp(bytes, bytes + HALF_BYTES, HALF_BYTES) == 0, "what was written");
	need(verbs.destroy_qp(qp) == 0 && verbs.destroy_cq(wanted.send_cq) == 0 &&
		     verbs.dereg_mr(mr) == 0 && verbs.dealloc_pd(pd) == 0,
	     "the end of an object");
}

int main(int argc, char **argv)
{
	struct ibv_device **devices;
	struct ibv_context *context;
	int count;

	need(argc == 3 && getenv(argv[1]) != NULL, "usage: verbs_by_path VARIABLE dlvsym|dlsym");
	load(getenv(argv[1]), strcmp(argv[2], "dlvsym") == 0);
	need(verbs.fork_init() == 0, "ibv_fork_init");
	devices = verbs.get_device_list(&count);
	need(devices != NULL && count > 0, "there is no device");
	context = verbs.open_device(devices[0]);
	need(context != NULL, "ibv_open_device");
	try_device(context);
	printf("%s\n", verbs.get_device_name(devices[0]));
	verbs.free_device_list(devices);
	need(verbs.close_device(context) == 0, "ibv_close_device");
	return 0;
}
