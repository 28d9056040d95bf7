/* SPDX-License-Identifier: MIT */
/* Wrong arguments of questions, memory and completion queues. */
#include "tests/interop/verbs/refusals.h"

#include <sys/mman.h>

/* ---- questions ---- */

static int query_port_0(struct bench *bench)
{
	struct ibv_port_attr attributes;

	return ERRNO(ibv_query_port(bench->context, 0, &attributes));
}

static int query_port_2(struct bench *bench)
{
	struct ibv_port_attr attributes;

	return ERRNO(ibv_query_port(bench->context, 2, &attributes));
}

static int query_gid_port(struct bench *bench)
{
	union ibv_gid gid;

	return MINUS_ONE_ERRNO(ibv_query_gid(bench->context, 2, 0, &gid));
}

static int query_gid_index(struct bench *bench)
{
	union ibv_gid gid;

	return MINUS_ONE_ERRNO(ibv_query_gid(bench->context, 1, 100000, &gid));
}

static int query_gid_ex_flags(struct bench *bench)
{
	struct ibv_gid_entry entry;

	return ERRNO(ibv_query_gid_ex(bench->context, 1, 0, &entry, 1));
}

static int query_gid_ex_index(struct bench *bench)
{
	struct ibv_gid_entry entry;

	return ERRNO(ibv_query_gid_ex(bench->context, 1, 100000, &entry, 0));
}

static int query_gid_ex_empty(struct bench *bench)
{
	struct ibv_port_attr attributes;
	struct ibv_gid_entry entry;

	ibv_query_port(bench->context, 1, &attributes);
	return ERRNO(ibv_query_gid_ex(bench->context, 1, (uint32_t)attributes.gid_tbl_len - 1,
				      &entry, 0));
}

/* It returns a count, or a negative errno. */
static int query_gid_table_room(struct bench *bench)
{
	struct ibv_gid_entry entry;

	return -(int)ibv_query_gid_table(bench->context, &entry, 0, 0);
}

static int query_pkey_index(struct bench *bench)
{
	__be16 pkey;

	return MINUS_ONE_ERRNO(ibv_query_pkey(bench->context, 1, 10000, &pkey));
}

static int query_device_input(struct bench *bench)
{
	const struct ibv_query_device_ex_input input = {.comp_mask = 1};
	struct ibv_device_attr_ex attributes;

	return ERRNO(ibv_query_device_ex(bench->context, &input, &attributes));
}

static int query_clock_unknown(struct bench *bench)
{
	struct ibv_values_ex values = {.comp_mask = 1 << 7};

	return ERRNO(ibv_query_rt_values_ex(bench->context, &values));
}

/* ---- memory ---- */

static int register_with(struct bench *bench, void *address, size_t length, int access)
{
	return NULL_ERRNO(ibv_reg_mr(bench->pd, address, length, access));
}

static int reg_mr_remote_write_alone(struct bench *bench)
{
	return register_with(bench, bench->bytes, BYTES, IBV_ACCESS_REMOTE_WRITE);
}

static int reg_mr_atomic_alone(struct bench *bench)
{
	return register_with(bench, bench->bytes, BYTES, IBV_ACCESS_REMOTE_ATOMIC);
}

static int reg_mr_unknown_access(struct bench *bench)
{
	return register_with(bench, bench->bytes, BYTES, 1 << 18);
}

static int reg_mr_nothing_mapped(struct bench *bench)
{
	void *hole = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int result;

	munmap(hole, BYTES);
	result = register_with(bench, hole, BYTES, IBV_ACCESS_LOCAL_WRITE);
	return result;
}

static int reg_mr_read_only(struct bench *bench)
{
	void *page = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int result = register_with(bench, page, BYTES, IBV_ACCESS_LOCAL_WRITE);

	munmap(page, BYTES);
	return result;
}

static int reg_mr_wraps(struct bench *bench)
{
	return register_with(bench, bench->bytes, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE);
}

/* Longer than what the device takes, and than what is mapped, which is found out first. */
static int reg_mr_too_long(struct bench *bench)
{
	return register_with(bench, bench->bytes, bench->limits.max_mr_size + 1,
			     IBV_ACCESS_LOCAL_WRITE);
}

static int reg_mr_iova_wraps(struct bench *bench)
{
	return NULL_ERRNO(ibv_reg_mr_iova2(bench->pd, bench->bytes, BYTES, UINT64_MAX - 8,
					   IBV_ACCESS_LOCAL_WRITE));
}

static int reg_dmabuf_no_descriptor(struct bench *bench)
{
	return NULL_ERRNO(ibv_reg_dmabuf_mr(bench->pd, 0, BYTES, 0, -1, IBV_ACCESS_LOCAL_WRITE));
}

/* As NCCL asks whether the call is served. */
static int reg_dmabuf_probe(struct bench *bench)
{
	return NULL_ERRNO(ibv_reg_dmabuf_mr(bench->pd, 0, 0, 0, -1, 0));
}

static int reg_dmabuf_closed_descriptor(struct bench *bench)
{
	return NULL_ERRNO(ibv_reg_dmabuf_mr(bench->pd, 0, BYTES, 0, 1 << 20, 0));
}

/* The errno when the answer is of the class. */
static int errno_of_class(int result, enum ibv_rereg_mr_err_code class)
{
	return result == (int)class ? errno : NOT_REFUSED;
}

static int rereg_mr_flags(struct bench *bench)
{
	return errno_of_class(ibv_rereg_mr(bench->mr, 1 << 10, NULL, NULL, 0, 0),
			      IBV_REREG_MR_ERR_INPUT);
}

static int rereg_mr_no_flags(struct bench *bench)
{
	return errno_of_class(ibv_rereg_mr(bench->mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
}

static int rereg_mr_access(struct bench *bench)
{
	return errno_of_class(ibv_rereg_mr(bench->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					   IBV_ACCESS_REMOTE_WRITE),
			      IBV_REREG_MR_ERR_CMD);
}

static int rereg_mr_access_without_flag(struct bench *bench)
{
	return errno_of_class(ibv_rereg_mr(bench->mr, IBV_REREG_MR_CHANGE_PD, bench->pd, NULL, 0,
					   IBV_ACCESS_LOCAL_WRITE),
			      IBV_REREG_MR_ERR_INPUT);
}

static int rereg_mr_nothing_mapped(struct bench *bench)
{
	void *page = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(page, BYTES);
	return errno_of_class(
		ibv_rereg_mr(bench->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, page, BYTES, 0),
		IBV_REREG_MR_ERR_CMD);
}

static int advise_unknown(struct bench *bench)
{
	struct ibv_sge sge = {(uintptr_t)bench->bytes, BYTES, bench->mr->lkey};

	return ERRNO(ibv_advise_mr(bench->pd, (enum ib_uverbs_advise_mr_advice)77, 0, &sge, 1));
}

static int dealloc_pd_in_use(struct bench *bench)
{
	return ERRNO(ibv_dealloc_pd(bench->pd));
}

static int alloc_mw_unknown(struct bench *bench)
{
	return NULL_ERRNO(ibv_alloc_mw(bench->pd, (enum ibv_mw_type)3));
}

static int bind_mw_of_type_2(struct bench *bench)
{
	struct ibv_mw *mw = ibv_alloc_mw(bench->pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind bind = {
		.bind_info = {.mr = bench->mr,
			      .addr = (uintptr_t)bench->bytes,
			      .length = BYTES,
			      .mw_access_flags = IBV_ACCESS_REMOTE_READ},
	};
	int result = ERRNO(ibv_bind_mw(bench->rc, mw, &bind));

	ibv_dealloc_mw(mw);
	return result;
}

static int bind_mw_on_ud(struct bench *bench)
{
	struct ibv_mw *mw = ibv_alloc_mw(bench->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.bind_info = {.mr = bench->mr}};
	int result = ERRNO(ibv_bind_mw(bench->ud, mw, &bind));

	ibv_dealloc_mw(mw);
	return result;
}

static int alloc_dm_too_long(struct bench *bench)
{
	struct ibv_alloc_dm_attr wanted = {.length = (size_t)1 << 40};

	return NULL_ERRNO(ibv_alloc_dm(bench->context, &wanted));
}

static int alloc_dm_mask(struct bench *bench)
{
	struct ibv_alloc_dm_attr wanted = {.length = 64, .comp_mask = 1};

	return NULL_ERRNO(ibv_alloc_dm(bench->context, &wanted));
}

static int copy_beyond_dm(struct bench *bench)
{
	return ERRNO(ibv_memcpy_to_dm(bench->dm, BYTES - 4, bench->bytes, 8));
}

static int reg_dm_beyond(struct bench *bench)
{
	return NULL_ERRNO(ibv_reg_dm_mr(bench->pd, bench->dm, 64, BYTES,
					IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE));
}

static int reg_dm_not_zero_based(struct bench *bench)
{
	return NULL_ERRNO(ibv_reg_dm_mr(bench->pd, bench->dm, 0, 64, IBV_ACCESS_LOCAL_WRITE));
}

/* ---- completion queues ---- */

static int create_cq_of_none(struct bench *bench)
{
	return NULL_ERRNO(ibv_create_cq(bench->context, 0, NULL, NULL, 0));
}

static int create_cq_too_long(struct bench *bench)
{
	return NULL_ERRNO(ibv_create_cq(bench->context, bench->limits.max_cqe + 1, NULL, NULL, 0));
}

static int create_cq_vector(struct bench *bench)
{
	return NULL_ERRNO(
		ibv_create_cq(bench->context, DEPTH, NULL, NULL, bench->context->num_comp_vectors));
}

static int create_cq_vector_negative(struct bench *bench)
{
	return NULL_ERRNO(ibv_create_cq(bench->context, DEPTH, NULL, NULL, -1));
}

static int create_cq_ex_wc_flags(struct bench *bench)
{
	struct ibv_cq_init_attr_ex wanted = {.cqe = DEPTH, .wc_flags = UINT64_C(1) << 40};

	return NULL_ERRNO(ibv_create_cq_ex(bench->context, &wanted));
}

static int create_cq_ex_mask(struct bench *bench)
{
	struct ibv_cq_init_attr_ex wanted = {.cqe = DEPTH, .comp_mask = 1U << 20};

	return NULL_ERRNO(ibv_create_cq_ex(bench->context, &wanted));
}

static int resize_cq_too_long(struct bench *bench)
{
	return ERRNO(ibv_resize_cq(bench->cq, bench->limits.max_cqe + 1));
}

static int resize_cq_to_none(struct bench *bench)
{
	return ERRNO(ibv_resize_cq(bench->cq, 0));
}

/* Two receives are flushed into it, and nobody polls them before it is to hold one. */
static int resize_cq_below_content(struct bench *bench)
{
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_recv_wr second = {.wr_id = 2}, first = {.wr_id = 1, .next = &second}, *bad;
	struct ibv_wc done;
	struct ibv_cq *cq;
	void *user;
	int result, polled = 0;

	ibv_modify_qp(bench->rc, &attributes,
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	attributes.qp_state = IBV_QPS_ERR;
	if (ibv_req_notify_cq(bench->cq, 0) != 0 || ibv_post_recv(bench->rc, &first, &bad) != 0 ||
	    ibv_modify_qp(bench->rc, &attributes, IBV_QP_STATE) != 0 ||
	    ibv_get_cq_event(bench->channel, &cq, &user) != 0)
		return NOT_REFUSED;
	ibv_ack_cq_events(cq, 1);
	result = ERRNO(ibv_resize_cq(bench->cq, 1));
	while (polled < 2)
		polled += ibv_poll_cq(bench->cq, 1, &done);
	return result;
}

static int notify_without_channel(struct bench *bench)
{
	struct ibv_cq *cq = ibv_create_cq(bench->context, DEPTH, NULL, NULL, 0);
	int result = ERRNO(ibv_req_notify_cq(cq, 0));

	ibv_destroy_cq(cq);
	return result;
}

static int destroy_cq_in_use(struct bench *bench)
{
	return ERRNO(ibv_destroy_cq(bench->cq));
}

static int destroy_channel_in_use(struct bench *bench)
{
	return ERRNO(ibv_destroy_comp_channel(bench->channel));
}

static int modify_cq_moderation(struct bench *bench)
{
	struct ibv_modify_cq_attr wanted = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {.cq_count = 16, .cq_period = 100},
	};

	return ERRNO(ibv_modify_cq(bench->cq, &wanted));
}

const struct refusal refusals_memory[] = {
	REFUSAL(query_port_0, EINVAL),
	REFUSAL(query_port_2, EINVAL),
	REFUSAL(query_gid_port, EINVAL),
	REFUSAL(query_gid_index, EINVAL),
	REFUSAL(query_gid_ex_flags, EOPNOTSUPP),
	REFUSAL(query_gid_ex_index, EINVAL),
	REFUSAL(query_gid_ex_empty, ENODATA),
	REFUSAL(query_gid_table_room, EINVAL),
	REFUSAL(query_pkey_index, EINVAL),
	REFUSAL(query_device_input, EINVAL),
	REFUSAL(query_clock_unknown, EOPNOTSUPP),
	REFUSAL(reg_mr_remote_write_alone, EINVAL),
	REFUSAL(reg_mr_atomic_alone, EINVAL),
	REFUSAL(reg_mr_unknown_access, EOPNOTSUPP),
	REFUSAL(reg_mr_nothing_mapped, EFAULT),
	REFUSAL(reg_mr_read_only, EFAULT),
	REFUSAL(reg_mr_wraps, EINVAL),
	REFUSAL(reg_mr_too_long, EFAULT),
	REFUSAL(reg_mr_iova_wraps, EINVAL),
	REFUSAL(reg_dmabuf_no_descriptor, EBADF),
	REFUSAL(reg_dmabuf_probe, EBADF),
	REFUSAL(reg_dmabuf_closed_descriptor, EBADF),
	REFUSAL(rereg_mr_flags, EINVAL),
	REFUSAL(rereg_mr_no_flags, EINVAL),
	REFUSAL(rereg_mr_access, EINVAL),
	REFUSAL(rereg_mr_access_without_flag, EINVAL),
	REFUSAL(rereg_mr_nothing_mapped, EFAULT),
	REFUSAL(advise_unknown, EOPNOTSUPP),
	REFUSAL(dealloc_pd_in_use, EBUSY),
	REFUSAL(alloc_mw_unknown, EINVAL),
	REFUSAL(bind_mw_of_type_2, EINVAL),
	REFUSAL(bind_mw_on_ud, EINVAL),
	REFUSAL(alloc_dm_too_long, ENOMEM),
	REFUSAL(alloc_dm_mask, EOPNOTSUPP),
	REFUSAL(copy_beyond_dm, EINVAL),
	REFUSAL(reg_dm_beyond, EINVAL),
	REFUSAL(reg_dm_not_zero_based, EINVAL),
	REFUSAL(create_cq_of_none, EINVAL),
	REFUSAL(create_cq_too_long, EINVAL),
	REFUSAL(create_cq_vector, EINVAL),
	REFUSAL(create_cq_vector_negative, EINVAL),
	REFUSAL(create_cq_ex_wc_flags, EOPNOTSUPP),
	REFUSAL(create_cq_ex_mask, EOPNOTSUPP),
	REFUSAL(resize_cq_too_long, EINVAL),
	REFUSAL(resize_cq_to_none, EINVAL),
	REFUSAL(resize_cq_below_content, EINVAL),
	REFUSAL(notify_without_channel, EINVAL),
	REFUSAL(destroy_cq_in_use, EBUSY),
	REFUSAL(destroy_channel_in_use, EBUSY),
	REFUSAL(modify_cq_moderation, EOPNOTSUPP),
	{0},
};
