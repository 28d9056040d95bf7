/* SPDX-License-Identifier: MIT */
/*
 * The extended operations of a queue pair: the program puts requests together call by call between
 * start and complete, which then makes all of them visible, or none.
 *
 * A request goes into the native queue when the next one begins or the batch ends, for only then is
 * it known to be whole; the daemon sees nothing of it until the end. The batch keeps the first
 * error and ignores all that follows; complete then rolls back and returns the error. The caller
 * holds the queue pair's mutex from start to the end.
 */
#include "lib/client/native/rnic_post.h"
#include "lib/client/native/queues/wqe_operands.h"
#include "lib/dropin/verbs/ibv_objects.h"
#include "lib/dropin/verbs/ibv_translate.h"
#include "proto/base/bits.h"
#include "proto/base/operation.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * Headers of rdma-core 44 lack FLUSH; programs may be built with later ones. There the member
 * wr_flush() of struct ibv_qp_ex follows wr_atomic_write().
 */
#define QP_EX_WITH_FLUSH (UINT64_C(1) << 11) /* IBV_QP_EX_WITH_FLUSH */
#define FLUSH_MR	 1		     /* IBV_FLUSH_MR */
#define WR_FLUSH_OFFSET	 (offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(flush_function))

typedef void (*flush_function)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, size_t length,
			       uint8_t type, uint8_t level);

struct rnic_verbs_send_batch {
	struct rnic_send_wqe request; /* what is put together, if is_open */
	struct rnic_sge elements[RNIC_SGE_COUNT_MAX];
	uint32_t element_count;
	bool is_open;
	bool holds_queue;
	int error; /* negative errno */
	uint32_t max_inline_bytes;
	struct rnic_verbs_mw *window; /* that the request binds; NULL: none */
	struct rnic_verbs_mw *bound;  /* the windows of requests in the queue; NULL: none */
	uint8_t inline_bytes[];
};

static struct rnic_verbs_qp *verbs_qp_ex_from_ex(struct ibv_qp_ex *qp)
{
	return RNIC_CONTAINER_OF(qp, struct rnic_verbs_qp, qp_ex);
}

static void batch_fail(struct rnic_verbs_send_batch *batch, int error)
{
	if (batch->error == 0)
		batch->error = error;
}

/* The window's key is the new one when the batch is complete. The end of the list names itself. */
static void batch_note_window(struct rnic_verbs_send_batch *batch, struct rnic_verbs_mw *mw)
{
	mw->bound_rkey = batch->request.rkey;
	if (mw->next_bound != NULL)
		return;
	mw->next_bound = batch->bound == NULL ? mw : batch->bound;
	batch->bound = mw;
}

/* Ends the list of windows; with `is_posted` they have their new keys. */
static void batch_end_windows(struct rnic_verbs_send_batch *batch, bool is_posted)
{
	struct rnic_verbs_mw *mw = batch->bound, *next;

	batch->bound = NULL;
	while (mw != NULL) {
		next = mw->next_bound == mw ? NULL : mw->next_bound;
		mw->next_bound = NULL;
		if (is_posted)
			mw->mw.rkey = mw->bound_rkey;
		mw = next;
	}
}

/* Moves the finished request into the queue. */
static void batch_close_request(struct rnic_verbs_qp *qp)
{
	struct rnic_verbs_send_batch *batch = qp->batch;
	int error;

	if (!batch->is_open)
		return;
	batch->is_open = false;
	if (batch->error != 0)
		return;
	error = rnic_send_append(qp->native, &batch->request, batch->elements,
				 batch->element_count);
	if (error != 0)
		batch_fail(batch, error);
	else if (batch->window != NULL)
		batch_note_window(batch, batch->window);
}

static struct rnic_send_wqe *batch_open_request(struct ibv_qp_ex *ibv, enum rnic_wr_opcode opcode)
{
	const unsigned known = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	struct rnic_verbs_qp *qp = verbs_qp_ex_from_ex(ibv);
	struct rnic_verbs_send_batch *batch = qp->batch;

	batch_close_request(qp);
	batch->request = (struct rnic_send_wqe){
		.wr_id = ibv->wr_id,
		.opcode = (uint8_t)opcode,
		.flags = (uint8_t)(ibv->wr_flags & known),
	};
	batch->element_count = 0;
	batch->is_open = true;
	batch->window = NULL;
	if (!rnic_verbs_are_send_flags_served(ibv->wr_flags))
		batch_fail(batch, -EINVAL);
	return &batch->request;
}

/* ---- the batch ---- */

static void wr_start(struct ibv_qp_ex *ibv)
{
	struct rnic_verbs_qp *qp = verbs_qp_ex_from_ex(ibv);
	struct rnic_verbs_send_batch *batch = qp->batch;

	pthread_mutex_lock(&qp->qp.mutex);
	batch->is_open = false;
	batch->error = rnic_send_begin(qp->native);
	batch->holds_queue = batch->error == 0;
}

static int wr_complete(struct ibv_qp_ex *ibv)
{
	struct rnic_verbs_qp *qp = verbs_qp_ex_from_ex(ibv);
	struct rnic_verbs_send_batch *batch = qp->batch;
	int error;

	batch_close_request(qp);
	error = batch->error;
	if (error == 0)
		rnic_send_end(qp->native);
	else if (batch->holds_queue)
		rnic_send_abort(qp->native);
	batch_end_windows(batch, error == 0);
	pthread_mutex_unlock(&qp->qp.mutex);
	return rnic_verbs_errno(error);
}

static void wr_abort(struct ibv_qp_ex *ibv)
{
	struct rnic_verbs_qp *qp = verbs_qp_ex_from_ex(ibv);

	if (qp->batch->holds_queue)
		rnic_send_abort(qp->native);
	batch_end_windows(qp->batch, false);
	pthread_mutex_unlock(&qp->qp.mutex);
}

/* `type` is a mask of enum ibv_placement_type, `level` an enum ibv_selectivity_level. */
static void wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, size_t length,
		     uint8_t type, uint8_t level)
{
	struct rnic_send_wqe *request = batch_open_request(qp, RNIC_WR_FLUSH);
	uint32_t whole = level == FLUSH_MR ? RNIC_FLUSH_WHOLE_REGION : 0;

	if (length > UINT32_MAX || level > FLUSH_MR ||
	    (type & ~(RNIC_FLUSH_GLOBAL | RNIC_FLUSH_PERSISTENT)) != 0)
		batch_fail(verbs_qp_ex_from_ex(qp)->batch, -EINVAL);
	rnic_wqe_set_remote(request, address, rkey);
	rnic_wqe_set_flush(request, (uint32_t)length, type | whole);
}

/* ---- the operations ---- */

static void wr_send(struct ibv_qp_ex *qp)
{
	batch_open_request(qp, RNIC_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 immediate)
{
	batch_open_request(qp, RNIC_WR_SEND_WITH_IMM)->immediate = ntohl(immediate);
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	batch_open_request(qp, RNIC_WR_SEND_WITH_INVALIDATE)->immediate = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	batch_open_request(qp, RNIC_WR_LOCAL_INVALIDATE)->immediate = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct rnic_verbs_send_batch *batch = verbs_qp_ex_from_ex(qp)->batch;
	struct rnic_send_wqe *request = batch_open_request(qp, RNIC_WR_BIND_MW);
	int error;

	if (mw->type != IBV_MW_TYPE_2) {
		batch_fail(batch, -EINVAL);
		return;
	}
	error = rnic_verbs_bind(mw, rkey, info, request);
	if (error != 0)
		batch_fail(batch, error);
	batch->window = rnic_verbs_mw(mw);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address)
{
	rnic_wqe_set_remote(batch_open_request(qp, RNIC_WR_RDMA_READ), address, rkey);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address)
{
	rnic_wqe_set_remote(batch_open_request(qp, RNIC_WR_RDMA_WRITE), address, rkey);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address,
			      __be32 immediate)
{
	struct rnic_send_wqe *request = batch_open_request(qp, RNIC_WR_RDMA_WRITE_WITH_IMM);

	rnic_wqe_set_remote(request, address, rkey);
	request->immediate = ntohl(immediate);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address,
			      uint64_t compare, uint64_t swap)
{
	struct rnic_send_wqe *request = batch_open_request(qp, RNIC_WR_ATOMIC_COMPARE_SWAP);

	rnic_wqe_set_remote(request, address, rkey);
	rnic_wqe_set_atomic(request, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, uint64_t add)
{
	struct rnic_send_wqe *request = batch_open_request(qp, RNIC_WR_ATOMIC_FETCH_ADD);

	rnic_wqe_set_remote(request, address, rkey);
	rnic_wqe_set_atomic(request, 0, add);
}

/*
 * Stands for every operation that all programs know, and that the program did not create the queue
 * pair with. It ignores further arguments, which the calling conventions of all supported machines
 * allow. For later operations see rnic_verbs_fill_unsupported_qp().
 */
static void wr_not_served(struct ibv_qp_ex *qp)
{
	batch_fail(verbs_qp_ex_from_ex(qp)->batch, -EOPNOTSUPP);
}

/* ---- what belongs to an operation ---- */

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	rnic_wqe_set_datagram(&verbs_qp_ex_from_ex(qp)->batch->request, rnic_verbs_ah(ah)->native,
			      remote_qpn, remote_qkey);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t remote_srqn)
{
	rnic_wqe_set_srq(&verbs_qp_ex_from_ex(qp)->batch->request, remote_srqn);
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t address, uint32_t length)
{
	struct rnic_verbs_send_batch *batch = verbs_qp_ex_from_ex(qp)->batch;

	batch->elements[0] = (struct rnic_sge){.address = address, .length = length, .lkey = lkey};
	batch->element_count = 1;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *list)
{
	struct rnic_verbs_send_batch *batch = verbs_qp_ex_from_ex(qp)->batch;

	if (count > RNIC_SGE_COUNT_MAX) {
		batch_fail(batch, -EINVAL);
		return;
	}
	if (count > 0)
		memcpy(batch->elements, list, count * sizeof(*list));
	batch->element_count = (uint32_t)count;
}

/* The caller may reuse the data at once, so this call copies it, and not the end of the request. */
static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t count,
				    const struct ibv_data_buf *list)
{
	struct rnic_verbs_send_batch *batch = verbs_qp_ex_from_ex(qp)->batch;
	uint32_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		if (list[i].length > batch->max_inline_bytes - bytes) {
			batch_fail(batch, -EINVAL);
			return;
		}
		if (list[i].length > 0)
			memcpy(batch->inline_bytes + bytes, list[i].addr, list[i].length);
		bytes += (uint32_t)list[i].length;
	}
	batch->elements[0] = (struct rnic_sge){
		.address = (uintptr_t)batch->inline_bytes,
		.length = bytes,
	};
	batch->element_count = 1;
	batch->request.flags |= RNIC_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *data, size_t length)
{
	const struct ibv_data_buf whole = {.addr = data, .length = length};

	wr_set_inline_data_list(qp, 1, &whole);
}

/* Its data comes with it, and travels inline: see rnic_verbs_create_qp_ex(). */
static void wr_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, const void *word)
{
	uint64_t copy;

	rnic_wqe_set_remote(batch_open_request(qp, RNIC_WR_ATOMIC_WRITE), address, rkey);
	memcpy(&copy, word, sizeof(copy));
	wr_set_inline_data(qp, &copy, sizeof(copy));
}

/* ---- the operations ---- */

/* The extended operations, and the flag of each. */
static const struct {
	uint64_t flag;
	uint8_t opcode;
} named_operations[] = {
	{IBV_QP_EX_WITH_RDMA_WRITE, RNIC_WR_RDMA_WRITE},
	{IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, RNIC_WR_RDMA_WRITE_WITH_IMM},
	{IBV_QP_EX_WITH_SEND, RNIC_WR_SEND},
	{IBV_QP_EX_WITH_SEND_WITH_IMM, RNIC_WR_SEND_WITH_IMM},
	{IBV_QP_EX_WITH_RDMA_READ, RNIC_WR_RDMA_READ},
	{IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, RNIC_WR_ATOMIC_COMPARE_SWAP},
	{IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, RNIC_WR_ATOMIC_FETCH_ADD},
	{IBV_QP_EX_WITH_LOCAL_INV, RNIC_WR_LOCAL_INVALIDATE},
	{IBV_QP_EX_WITH_BIND_MW, RNIC_WR_BIND_MW},
	{IBV_QP_EX_WITH_SEND_WITH_INV, RNIC_WR_SEND_WITH_INVALIDATE},
	{QP_EX_WITH_FLUSH, RNIC_WR_FLUSH},
	{IBV_QP_EX_WITH_ATOMIC_WRITE, RNIC_WR_ATOMIC_WRITE},
};

uint64_t rnic_verbs_served_send_operations(enum ibv_qp_type type)
{
	uint64_t served = 0;

	for (size_t i = 0; i < RNIC_COUNT_OF(named_operations); i++)
		if (rnic_wr_is_of_type(rnic_wr_operation(named_operations[i].opcode), type))
			served |= named_operations[i].flag;
	return served;
}

static void fill_operations(struct ibv_qp_ex *qp, uint64_t operations)
{
	if ((operations & IBV_QP_EX_WITH_SEND) != 0)
		qp->wr_send = wr_send;
	if ((operations & IBV_QP_EX_WITH_SEND_WITH_IMM) != 0)
		qp->wr_send_imm = wr_send_imm;
	if ((operations & IBV_QP_EX_WITH_SEND_WITH_INV) != 0)
		qp->wr_send_inv = wr_send_inv;
	if ((operations & IBV_QP_EX_WITH_BIND_MW) != 0)
		qp->wr_bind_mw = wr_bind_mw;
	if ((operations & IBV_QP_EX_WITH_LOCAL_INV) != 0)
		qp->wr_local_inv = wr_local_inv;
	if ((operations & IBV_QP_EX_WITH_RDMA_READ) != 0)
		qp->wr_rdma_read = wr_rdma_read;
	if ((operations & IBV_QP_EX_WITH_RDMA_WRITE) != 0)
		qp->wr_rdma_write = wr_rdma_write;
	if ((operations & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) != 0)
		qp->wr_rdma_write_imm = wr_rdma_write_imm;
	if ((operations & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP) != 0)
		qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if ((operations & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD) != 0)
		qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
	if ((operations & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0)
		qp->wr_atomic_write = wr_atomic_write;
}

static void fill_flush(struct rnic_verbs_qp *qp)
{
	const flush_function function = wr_flush;

	memcpy(&qp->view[WR_FLUSH_OFFSET], &function, sizeof(function));
}

static void fill_rest(struct ibv_qp_ex *qp)
{
	if (qp->qp_base.qp_type == IBV_QPT_UD)
		qp->wr_set_ud_addr = wr_set_ud_addr;
	if (qp->qp_base.qp_type == IBV_QPT_XRC_SEND)
		qp->wr_set_xrc_srqn = wr_set_xrc_srqn;
	qp->wr_set_sge = wr_set_sge;
	qp->wr_set_sge_list = wr_set_sge_list;
	qp->wr_set_inline_data = wr_set_inline_data;
	qp->wr_set_inline_data_list = wr_set_inline_data_list;
	qp->wr_start = wr_start;
	qp->wr_complete = wr_complete;
	qp->wr_abort = wr_abort;
}

int rnic_verbs_add_send_batch(struct rnic_verbs_qp *qp, uint64_t send_operations,
			      uint32_t max_inline_bytes)
{
	void (*const not_served)(struct ibv_qp_ex *) = wr_not_served;
	uint8_t *member = (uint8_t *)&qp->qp_ex.wr_atomic_cmp_swp;
	const uint8_t *end = (const uint8_t *)(&qp->qp_ex.wr_atomic_write + 1);

	qp->batch = calloc(1, sizeof(*qp->batch) + max_inline_bytes);
	if (qp->batch == NULL)
		return -ENOMEM;
	qp->batch->max_inline_bytes = max_inline_bytes;
	for (; member < end; member += sizeof(not_served))
		memcpy(member, &not_served, sizeof(not_served));
	fill_operations(&qp->qp_ex, send_operations);
	if ((send_operations & QP_EX_WITH_FLUSH) != 0)
		fill_flush(qp);
	fill_rest(&qp->qp_ex);
	return 0;
}
