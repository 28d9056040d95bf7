/* SPDX-License-Identifier: MIT */
/* Wrong arguments of address handles, shared receive queues, XRC, what no RoCE device of ours has,
 * imports. */
#include "tests/interop/verbs/refusals.h"

#include <fcntl.h>
#include <stdio.h>

/* ---- address handles and groups ---- */

static struct ibv_ah_attr ah_attributes(const struct bench *bench)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = bench->gid.gid, .sgid_index = (uint8_t)bench->gid.gid_index},
	};
}

static int create_ah_not_global(struct bench *bench)
{
	struct ibv_ah_attr wanted = ah_attributes(bench);

	wanted.is_global = 0;
	return NULL_ERRNO(ibv_create_ah(bench->pd, &wanted));
}

static int create_ah_port(struct bench *bench)
{
	struct ibv_ah_attr wanted = ah_attributes(bench);

	wanted.port_num = 2;
	return NULL_ERRNO(ibv_create_ah(bench->pd, &wanted));
}

static int create_ah_empty_gid(struct bench *bench)
{
	struct ibv_ah_attr wanted = ah_attributes(bench);

	wanted.grh.sgid_index = 200;
	return NULL_ERRNO(ibv_create_ah(bench->pd, &wanted));
}

static int attach_to_no_group(struct bench *bench)
{
	return ERRNO(ibv_attach_mcast(bench->ud, &bench->gid.gid, 0));
}

static int attach_rc(struct bench *bench)
{
	const union ibv_gid group = {{[10] = 0xff, 0xff, 239, 1, 1, 1}};

	return ERRNO(ibv_attach_mcast(bench->rc, &group, 0));
}

static int detach_not_attached(struct bench *bench)
{
	const union ibv_gid group = {{[10] = 0xff, 0xff, 239, 1, 1, 1}};

	return ERRNO(ibv_detach_mcast(bench->ud, &group, 0));
}

/* As many groups as the device says that a program may join, and one more. */
static int attach_one_group_more(struct bench *bench)
{
	union ibv_gid group = {{[10] = 0xff, 0xff, 239, 1, 1, 0}};
	int joined = 0, result;

	while ((result = ibv_attach_mcast(bench->ud, &group, 0)) == 0 && joined < 255)
		group.raw[15] = (uint8_t)++joined;
	while (group.raw[15]-- > 0)
		ibv_detach_mcast(bench->ud, &group, 0);
	return joined == bench->limits.max_mcast_grp ? result : NOT_REFUSED;
}

/* ---- shared receive queues, XRC ---- */

static int create_srq_depth(struct bench *bench)
{
	struct ibv_srq_init_attr wanted = {
		.attr = {.max_wr = (uint32_t)bench->limits.max_srq_wr + 1, .max_sge = 1},
	};

	return NULL_ERRNO(ibv_create_srq(bench->pd, &wanted));
}

static int create_srq_sges(struct bench *bench)
{
	struct ibv_srq_init_attr wanted = {
		.attr = {.max_wr = 1, .max_sge = (uint32_t)bench->limits.max_srq_sge + 1},
	};

	return NULL_ERRNO(ibv_create_srq(bench->pd, &wanted));
}

static int create_srq_ex(struct bench *bench, enum ibv_srq_type type)
{
	struct ibv_srq_init_attr_ex wanted = {
		.attr = {.max_wr = 1, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = type,
		.pd = bench->pd,
	};

	return NULL_ERRNO(ibv_create_srq_ex(bench->context, &wanted));
}

static int create_srq_xrc_without_domain(struct bench *bench)
{
	return create_srq_ex(bench, IBV_SRQT_XRC);
}

static int create_srq_tag_matching(struct bench *bench)
{
	return create_srq_ex(bench, IBV_SRQT_TM);
}

static int modify_srq_limit(struct bench *bench)
{
	struct ibv_srq_attr wanted = {.srq_limit = 1000000};

	return ERRNO(ibv_modify_srq(bench->srq, &wanted, IBV_SRQ_LIMIT));
}

static int resize_srq(struct bench *bench, uint32_t max_wr, uint32_t limit)
{
	struct ibv_srq_attr wanted = {.max_wr = max_wr, .srq_limit = limit};

	return ERRNO(ibv_modify_srq(bench->srq, &wanted, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
}

static int resize_srq_to_none(struct bench *bench)
{
	return resize_srq(bench, 0, 0);
}

static int resize_srq_too_long(struct bench *bench)
{
	return resize_srq(bench, (uint32_t)bench->limits.max_srq_wr + 1, 0);
}

static int resize_srq_below_limit(struct bench *bench)
{
	return resize_srq(bench, 2 * DEPTH, 2 * DEPTH + 1);
}

static int post_srq_recv_too_many(struct bench *bench)
{
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad = NULL;
	int result = 0;

	for (int i = 0; i < 100000 && result == 0; i++)
		result = ibv_post_srq_recv(bench->srq, &wr, &bad);
	return bad == &wr ? result : NOT_REFUSED;
}

static int destroy_srq_in_use(struct bench *bench)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);
	struct ibv_qp *qp;
	int result;

	wanted.srq = bench->srq;
	qp = ibv_create_qp(bench->pd, &wanted);
	result = ERRNO(ibv_destroy_srq(bench->srq));
	ibv_destroy_qp(qp);
	return result;
}

static int open_xrcd_mask(struct bench *bench)
{
	struct ibv_xrcd_init_attr wanted = {.fd = -1, .oflags = O_CREAT};

	return NULL_ERRNO(ibv_open_xrcd(bench->context, &wanted));
}

/* A domain that a file stands for, as open(2) has flags. */
static struct ibv_xrcd *open_domain(struct bench *bench, FILE *file, int flags)
{
	struct ibv_xrcd_init_attr wanted = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fileno(file),
		.oflags = flags,
	};

	return ibv_open_xrcd(bench->context, &wanted);
}

/* With the device inside the program the answer for any file is EOPNOTSUPP. */
static int of_a_file(const struct bench *bench, int result, int expected)
{
	if (!bench->is_direct)
		return result;
	return result == EOPNOTSUPP ? expected : NOT_REFUSED;
}

static int open_xrcd_that_is_not(struct bench *bench)
{
	FILE *file = tmpfile();
	int result = NULL_ERRNO(open_domain(bench, file, 0));

	fclose(file);
	return of_a_file(bench, result, EAGAIN);
}

static int open_xrcd_flags(struct bench *bench)
{
	FILE *file = tmpfile();
	int result = NULL_ERRNO(open_domain(bench, file, O_CREAT | O_APPEND));

	fclose(file);
	return result;
}

static int open_xrcd_exclusively(struct bench *bench)
{
	FILE *file = tmpfile();
	struct ibv_xrcd *first = open_domain(bench, file, O_CREAT);
	int result = NULL_ERRNO(open_domain(bench, file, O_CREAT | O_EXCL));

	fclose(file);
	if (first != NULL && ibv_close_xrcd(first) != 0)
		return NOT_REFUSED;
	return first == NULL && !bench->is_direct ? NOT_REFUSED : of_a_file(bench, result, EINVAL);
}

static int close_xrcd_in_use(struct bench *bench)
{
	struct ibv_qp_init_attr_ex wanted = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = bench->xrcd,
	};
	struct ibv_qp *target = ibv_create_qp_ex(bench->context, &wanted);
	int result = ERRNO(ibv_close_xrcd(bench->xrcd));

	return target == NULL || ibv_destroy_qp(target) != 0 ? NOT_REFUSED : result;
}

/* ---- what no RoCE NIC of ours has, and handles of others ---- */

static int create_flow(struct bench *bench)
{
	struct ibv_flow_attr wanted = {.size = sizeof(wanted), .port = 1};

	return NULL_ERRNO(ibv_create_flow(bench->rc, &wanted));
}

static int create_wq(struct bench *bench)
{
	struct ibv_wq_init_attr wanted = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 1,
		.max_sge = 1,
		.pd = bench->pd,
		.cq = bench->cq,
	};

	return NULL_ERRNO(ibv_create_wq(bench->context, &wanted));
}

static int create_indirection_table(struct bench *bench)
{
	struct ibv_rwq_ind_table_init_attr wanted = {0};

	return NULL_ERRNO(ibv_create_rwq_ind_table(bench->context, &wanted));
}

static int create_counters(struct bench *bench)
{
	struct ibv_counters_init_attr wanted = {0};

	return NULL_ERRNO(ibv_create_counters(bench->context, &wanted));
}

static int post_srq_operation(struct bench *bench)
{
	struct ibv_ops_wr wr = {.opcode = IBV_WR_TAG_SYNC}, *bad;

	return ERRNO(ibv_post_srq_ops(bench->srq, &wr, &bad));
}

static int parent_domain_without_pd(struct bench *bench)
{
	struct ibv_parent_domain_init_attr wanted = {0};

	return NULL_ERRNO(ibv_alloc_parent_domain(bench->context, &wanted));
}

static int thread_domain_mask(struct bench *bench)
{
	struct ibv_td_init_attr wanted = {.comp_mask = 1};

	return NULL_ERRNO(ibv_alloc_td(bench->context, &wanted));
}

static int import_no_device(struct bench *bench)
{
	(void)bench;
	return NULL_ERRNO(ibv_import_device(-1));
}

static int import_no_pd(struct bench *bench)
{
	return NULL_ERRNO(ibv_import_pd(bench->context, 0x7fffffff));
}

static int import_no_mr(struct bench *bench)
{
	return NULL_ERRNO(ibv_import_mr(bench->pd, 0x7fffffff));
}

const struct refusal refusals_shared[] = {
	REFUSAL(create_ah_not_global, EINVAL),
	REFUSAL(create_ah_port, EINVAL),
	REFUSAL(create_ah_empty_gid, EINVAL),
	REFUSAL(attach_to_no_group, EINVAL),
	REFUSAL(attach_rc, EINVAL),
	REFUSAL(detach_not_attached, EINVAL),
	REFUSAL(attach_one_group_more, ENOSPC),
	REFUSAL(create_srq_depth, EINVAL),
	REFUSAL(create_srq_sges, EINVAL),
	REFUSAL(create_srq_xrc_without_domain, EINVAL),
	REFUSAL(create_srq_tag_matching, EOPNOTSUPP),
	REFUSAL(modify_srq_limit, EINVAL),
	REFUSAL(resize_srq_to_none, EINVAL),
	REFUSAL(resize_srq_too_long, EINVAL),
	REFUSAL(resize_srq_below_limit, EINVAL),
	REFUSAL(post_srq_recv_too_many, ENOMEM),
	REFUSAL(destroy_srq_in_use, EBUSY),
	REFUSAL(open_xrcd_mask, EINVAL),
	REFUSAL(open_xrcd_that_is_not, EAGAIN),
	REFUSAL(open_xrcd_flags, EINVAL),
	REFUSAL(open_xrcd_exclusively, EINVAL),
	REFUSAL(close_xrcd_in_use, EBUSY),
	REFUSAL(create_flow, EOPNOTSUPP),
	REFUSAL(create_wq, EOPNOTSUPP),
	REFUSAL(create_indirection_table, EOPNOTSUPP),
	REFUSAL(create_counters, EOPNOTSUPP),
	REFUSAL(post_srq_operation, EOPNOTSUPP),
	REFUSAL(parent_domain_without_pd, EINVAL),
	REFUSAL(thread_domain_mask, EOPNOTSUPP),
	REFUSAL(import_no_device, EBADF),
	REFUSAL(import_no_pd, EINVAL),
	REFUSAL(import_no_mr, EINVAL),
	{0},
};
