/* SPDX-License-Identifier: MIT */
#include "lib/apis/rdma/handle_objects.h"

/* The local place of a request's data, and for WRITE and READ the remote one. */
struct transfer {
	enum rdma_wc_opcode opcode;
	int local_mr;
	uint64_t local_offset;
	uint64_t length;
	uint64_t remote_addr;
	uint32_t rkey;
};

/* --- under the lock of the queue pair -------------------------------------------------------- */

static bool is_for_receiving(const struct transfer *transfer)
{
	return transfer->opcode == RDMA_WC_RECV;
}

static int handle_post_receive(struct rnic_handle_qp *qp, const struct rnic_sge *sge)
{
	const struct rnic_recv_wr wr = {
		.wr_id = qp->receives.posted,
		.sge_list = sge,
		.sge_count = sge->length > 0,
	};
	const struct rnic_recv_wr *bad;

	return rnic_post_recv(qp->native, &wr, &bad);
}

static int handle_post_send(struct rnic_handle_qp *qp, const struct transfer *transfer,
			    const struct rnic_sge *sge)
{
	static const uint8_t opcodes[] = {
		[RDMA_WC_SEND] = RNIC_WR_SEND,
		[RDMA_WC_WRITE] = RNIC_WR_RDMA_WRITE,
		[RDMA_WC_READ] = RNIC_WR_RDMA_READ,
	};
	const struct rnic_send_wr wr = {
		.wr_id = qp->sends.posted,
		.sge_list = sge,
		.sge_count = sge->length > 0,
		.opcode = opcodes[transfer->opcode],
		.flags = RNIC_SEND_SIGNALED,
		.remote_address = transfer->remote_addr,
		.rkey = transfer->rkey,
	};
	const struct rnic_send_wr *bad;
	int error = 0;

	if (qp->link == RNIC_HANDLE_CONNECTING)
		return -ENOTCONN;
	if (qp->link == RNIC_HANDLE_UNCONNECTED)
		error = rnic_handle_link_to_itself(qp);
	return error != 0 ? error : rnic_post_send(qp->sender, &wr, &bad);
}

/* Returns the request's number. */
static int handle_post_post(struct rnic_handle_qp *qp, const struct transfer *transfer,
			    const struct rnic_sge *sge)
{
	struct rnic_posted_ring *ring = is_for_receiving(transfer) ? &qp->receives : &qp->sends;
	const struct rnic_posted posted = {
		.wr_id = qp->next_wr_id,
		.opcode = (uint8_t)transfer->opcode,
		.length = sge->length,
	};
	int error;

	if (qp->is_destroyed)
		return -EBADF;
	if (!rnic_posted_ring_has_room(ring, posted.wr_id))
		return -EAGAIN;
	error = is_for_receiving(transfer) ? handle_post_receive(qp, sge)
					   : handle_post_send(qp, transfer, sge);
	if (error != 0)
		return error;
	rnic_posted_ring_push(ring, posted);
	qp->next_wr_id = rnic_wr_id_after(posted.wr_id);
	return posted.wr_id;
}

int rnic_handle_probe(struct rnic_handle_qp *qp)
{
	/* The device ignores the key of a request without data (IBTA 1.4, 9.7.4.1.5). */
	static const struct transfer nothing = {.opcode = RDMA_WC_WRITE};
	const struct rnic_posted probe = {.wr_id = RNIC_PROBE_WR_ID, .opcode = RDMA_WC_WRITE};
	int error;

	if (!rnic_posted_ring_has_room(&qp->sends, RNIC_PROBE_WR_ID))
		return 0;
	error = handle_post_send(qp, &nothing, &(struct rnic_sge){0});
	if (error == 0)
		rnic_posted_ring_push(&qp->sends, probe);
	return error;
}

/* --- without it ------------------------------------------------------------------------------ */

static int handle_post_check(const struct rnic_handle_qp *qp,
			     const struct rnic_handle_region *region,
			     const struct transfer *transfer)
{
	const bool is_written_to = is_for_receiving(transfer) || transfer->opcode == RDMA_WC_READ;

	if (region->domain != qp->domain)
		return -ENODEV;
	if (transfer->local_offset > region->length ||
	    transfer->length > region->length - transfer->local_offset)
		return -EINVAL;
	if (transfer->length > RNIC_MESSAGE_BYTES_MAX)
		return -EMSGSIZE;
	if (is_written_to && (region->access_flags & RDMA_ACCESS_LOCAL_WRITE) == 0)
		return -EACCES;
	return 0;
}

static int post_from(struct rnic_handle_qp *qp, const struct rnic_handle_region *region,
		     const struct transfer *transfer)
{
	const struct rnic_sge sge = {
		.address = region->address + transfer->local_offset,
		.length = (uint32_t)transfer->length,
		.lkey = region->lkey,
	};
	int result = handle_post_check(qp, region, transfer);

	if (result != 0)
		return result;
	pthread_mutex_lock(&qp->lock);
	result = handle_post_post(qp, transfer, &sge);
	pthread_mutex_unlock(&qp->lock);
	return result;
}

static int post_to(int qp_num, const struct transfer *transfer)
{
	const int cancellation = rnic_handle_enter();
	struct rnic_handle *region = rnic_handle_hold(RNIC_HANDLE_REGION, transfer->local_mr);
	struct rnic_handle *qp = rnic_handle_hold(RNIC_HANDLE_QP, qp_num);
	int result = -EBADF;

	if (region != NULL && qp != NULL)
		result = post_from((struct rnic_handle_qp *)qp, (struct rnic_handle_region *)region,
				   transfer);
	rnic_handle_release(qp);
	rnic_handle_release(region);
	return rnic_handle_leave(cancellation, result);
}

int rnic_rdma_post_write(int qp_num, int local_mr, uint64_t local_offset, uint64_t remote_addr,
			 uint32_t rkey, uint64_t length)
{
	return post_to(qp_num, &(struct transfer){
				       .opcode = RDMA_WC_WRITE,
				       .local_mr = local_mr,
				       .local_offset = local_offset,
				       .length = length,
				       .remote_addr = remote_addr,
				       .rkey = rkey,
			       });
}

int rnic_rdma_post_read(int qp_num, int local_mr, uint64_t local_offset, uint64_t remote_addr,
			uint32_t rkey, uint64_t length)
{
	return post_to(qp_num, &(struct transfer){
				       .opcode = RDMA_WC_READ,
				       .local_mr = local_mr,
				       .local_offset = local_offset,
				       .length = length,
				       .remote_addr = remote_addr,
				       .rkey = rkey,
			       });
}

int rnic_rdma_post_send(int qp_num, int local_mr, uint64_t length)
{
	return post_to(qp_num, &(struct transfer){
				       .opcode = RDMA_WC_SEND,
				       .local_mr = local_mr,
				       .length = length,
			       });
}

int rnic_rdma_post_recv(int qp_num, int local_mr, uint64_t local_offset, uint64_t length)
{
	return post_to(qp_num, &(struct transfer){
				       .opcode = RDMA_WC_RECV,
				       .local_mr = local_mr,
				       .local_offset = local_offset,
				       .length = length,
			       });
}
