/* SPDX-License-Identifier: MIT */
#include "lib/dropin/verbs/ibv_translate.h"

#include "lib/client/native/queues/wqe_operands.h"
#include "proto/base/link_rate.h"
#include "proto/base/operation.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is " #theirs)

SAME(RNIC_QP_TYPE_RC, IBV_QPT_RC);
SAME(RNIC_QP_TYPE_UC, IBV_QPT_UC);
SAME(RNIC_QP_TYPE_UD, IBV_QPT_UD);
SAME(RNIC_QP_TYPE_XRC_INITIATOR, IBV_QPT_XRC_SEND);
SAME(RNIC_QP_TYPE_XRC_TARGET, IBV_QPT_XRC_RECV);

SAME(RNIC_QP_STATE_RESET, IBV_QPS_RESET);
SAME(RNIC_QP_STATE_INIT, IBV_QPS_INIT);
SAME(RNIC_QP_STATE_RTR, IBV_QPS_RTR);
SAME(RNIC_QP_STATE_RTS, IBV_QPS_RTS);
SAME(RNIC_QP_STATE_SQD, IBV_QPS_SQD);
SAME(RNIC_QP_STATE_SQE, IBV_QPS_SQE);
SAME(RNIC_QP_STATE_ERR, IBV_QPS_ERR);

SAME(RNIC_QP_ATTR_STATE, IBV_QP_STATE);
SAME(RNIC_QP_ATTR_CURRENT_STATE, IBV_QP_CUR_STATE);
SAME(RNIC_QP_ATTR_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY);
SAME(RNIC_QP_ATTR_ACCESS_FLAGS, IBV_QP_ACCESS_FLAGS);
SAME(RNIC_QP_ATTR_PKEY_INDEX, IBV_QP_PKEY_INDEX);
SAME(RNIC_QP_ATTR_PORT, IBV_QP_PORT);
SAME(RNIC_QP_ATTR_QKEY, IBV_QP_QKEY);
SAME(RNIC_QP_ATTR_AV, IBV_QP_AV);
SAME(RNIC_QP_ATTR_PATH_MTU, IBV_QP_PATH_MTU);
SAME(RNIC_QP_ATTR_TIMEOUT, IBV_QP_TIMEOUT);
SAME(RNIC_QP_ATTR_RETRY_COUNT, IBV_QP_RETRY_CNT);
SAME(RNIC_QP_ATTR_RNR_RETRY, IBV_QP_RNR_RETRY);
SAME(RNIC_QP_ATTR_RQ_PSN, IBV_QP_RQ_PSN);
SAME(RNIC_QP_ATTR_MAX_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
SAME(RNIC_QP_ATTR_ALTERNATE_PATH, IBV_QP_ALT_PATH);
SAME(RNIC_QP_ATTR_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
SAME(RNIC_QP_ATTR_SQ_PSN, IBV_QP_SQ_PSN);
SAME(RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME(RNIC_QP_ATTR_PATH_MIGRATION_STATE, IBV_QP_PATH_MIG_STATE);
SAME(RNIC_QP_ATTR_CAPACITIES, IBV_QP_CAP);
SAME(RNIC_QP_ATTR_DEST_QPN, IBV_QP_DEST_QPN);
SAME(RNIC_QP_ATTR_RATE_LIMIT, IBV_QP_RATE_LIMIT);

SAME(RNIC_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
SAME(RNIC_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
SAME(RNIC_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
SAME(RNIC_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
SAME(RNIC_ACCESS_MW_BIND, IBV_ACCESS_MW_BIND);
SAME(RNIC_ACCESS_ZERO_BASED, IBV_ACCESS_ZERO_BASED);
SAME(RNIC_ACCESS_ON_DEMAND, IBV_ACCESS_ON_DEMAND);
SAME(RNIC_ACCESS_HUGETLB, IBV_ACCESS_HUGETLB);
SAME(RNIC_ACCESS_RELAXED_ORDERING, IBV_ACCESS_RELAXED_ORDERING);
SAME(RNIC_ACCESS_OPTIONAL_RANGE, IBV_ACCESS_OPTIONAL_RANGE);

SAME(RNIC_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE);
SAME(RNIC_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM);
SAME(RNIC_WR_SEND, IBV_WR_SEND);
SAME(RNIC_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM);
SAME(RNIC_WR_RDMA_READ, IBV_WR_RDMA_READ);
SAME(RNIC_WR_ATOMIC_COMPARE_SWAP, IBV_WR_ATOMIC_CMP_AND_SWP);
SAME(RNIC_WR_ATOMIC_FETCH_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(RNIC_WR_LOCAL_INVALIDATE, IBV_WR_LOCAL_INV);
SAME(RNIC_WR_BIND_MW, IBV_WR_BIND_MW);
SAME(RNIC_WR_SEND_WITH_INVALIDATE, IBV_WR_SEND_WITH_INV);
SAME(RNIC_WR_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE);

SAME(RNIC_SEND_FENCE, IBV_SEND_FENCE);
SAME(RNIC_SEND_SIGNALED, IBV_SEND_SIGNALED);
SAME(RNIC_SEND_SOLICITED, IBV_SEND_SOLICITED);
SAME(RNIC_SEND_INLINE, IBV_SEND_INLINE);

SAME(RNIC_WC_SUCCESS, IBV_WC_SUCCESS);
SAME(RNIC_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR);
SAME(RNIC_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR);
SAME(RNIC_WC_LOC_EEC_OP_ERR, IBV_WC_LOC_EEC_OP_ERR);
SAME(RNIC_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
SAME(RNIC_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR);
SAME(RNIC_WC_MW_BIND_ERR, IBV_WC_MW_BIND_ERR);
SAME(RNIC_WC_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR);
SAME(RNIC_WC_LOC_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR);
SAME(RNIC_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
SAME(RNIC_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
SAME(RNIC_WC_REM_OP_ERR, IBV_WC_REM_OP_ERR);
SAME(RNIC_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR);
SAME(RNIC_WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR);
SAME(RNIC_WC_LOC_RDD_VIOL_ERR, IBV_WC_LOC_RDD_VIOL_ERR);
SAME(RNIC_WC_REM_INV_RD_REQ_ERR, IBV_WC_REM_INV_RD_REQ_ERR);
SAME(RNIC_WC_REM_ABORT_ERR, IBV_WC_REM_ABORT_ERR);
SAME(RNIC_WC_INV_EECN_ERR, IBV_WC_INV_EECN_ERR);
SAME(RNIC_WC_INV_EEC_STATE_ERR, IBV_WC_INV_EEC_STATE_ERR);
SAME(RNIC_WC_FATAL_ERR, IBV_WC_FATAL_ERR);
SAME(RNIC_WC_RESP_TIMEOUT_ERR, IBV_WC_RESP_TIMEOUT_ERR);
SAME(RNIC_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR);

SAME(RNIC_WC_SEND, IBV_WC_SEND);
SAME(RNIC_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE);
SAME(RNIC_WC_RDMA_READ, IBV_WC_RDMA_READ);
SAME(RNIC_WC_COMPARE_SWAP, IBV_WC_COMP_SWAP);
SAME(RNIC_WC_FETCH_ADD, IBV_WC_FETCH_ADD);
SAME(RNIC_WC_BIND_MW, IBV_WC_BIND_MW);
SAME(RNIC_WC_LOCAL_INVALIDATE, IBV_WC_LOCAL_INV);
SAME(RNIC_WC_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE);
SAME(RNIC_WC_RECV, IBV_WC_RECV);
SAME(RNIC_WC_RECV_RDMA_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
SAME(RNIC_WC_GRH, IBV_WC_GRH);
SAME(RNIC_WC_WITH_IMM, IBV_WC_WITH_IMM);
SAME(RNIC_WC_WITH_INVALIDATE, IBV_WC_WITH_INV);

SAME(RNIC_EVENT_CQ_ERR, IBV_EVENT_CQ_ERR);
SAME(RNIC_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL);
SAME(RNIC_EVENT_QP_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
SAME(RNIC_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
SAME(RNIC_EVENT_COMM_EST, IBV_EVENT_COMM_EST);
SAME(RNIC_EVENT_SQ_DRAINED, IBV_EVENT_SQ_DRAINED);
SAME(RNIC_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG);
SAME(RNIC_EVENT_PATH_MIG_ERR, IBV_EVENT_PATH_MIG_ERR);
SAME(RNIC_EVENT_DEVICE_FATAL, IBV_EVENT_DEVICE_FATAL);
SAME(RNIC_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ACTIVE);
SAME(RNIC_EVENT_PORT_ERR, IBV_EVENT_PORT_ERR);
SAME(RNIC_EVENT_LID_CHANGE, IBV_EVENT_LID_CHANGE);
SAME(RNIC_EVENT_PKEY_CHANGE, IBV_EVENT_PKEY_CHANGE);
SAME(RNIC_EVENT_SM_CHANGE, IBV_EVENT_SM_CHANGE);
SAME(RNIC_EVENT_SRQ_ERR, IBV_EVENT_SRQ_ERR);
SAME(RNIC_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_LIMIT_REACHED);
SAME(RNIC_EVENT_QP_LAST_WQE_REACHED, IBV_EVENT_QP_LAST_WQE_REACHED);
SAME(RNIC_EVENT_CLIENT_REREGISTER, IBV_EVENT_CLIENT_REREGISTER);
SAME(RNIC_EVENT_GID_CHANGE, IBV_EVENT_GID_CHANGE);

SAME(RNIC_SRQ_ATTR_MAX_WR, IBV_SRQ_MAX_WR);
SAME(RNIC_SRQ_ATTR_LIMIT, IBV_SRQ_LIMIT);

SAME(RNIC_PORT_DOWN, IBV_PORT_DOWN);
SAME(RNIC_PORT_ACTIVE, IBV_PORT_ACTIVE);

SAME(sizeof(struct rnic_sge), sizeof(struct ibv_sge));
SAME(offsetof(struct rnic_sge, address), offsetof(struct ibv_sge, addr));
SAME(offsetof(struct rnic_sge, length), offsetof(struct ibv_sge, length));
SAME(offsetof(struct rnic_sge, lkey), offsetof(struct ibv_sge, lkey));
SAME(sizeof(struct rnic_gid), sizeof(union ibv_gid));

int rnic_verbs_errno(int error)
{
	if (error != 0)
		errno = -error;
	return -error;
}

int rnic_verbs_minus_one(int error)
{
	if (error == 0)
		return 0;
	errno = -error;
	return -1;
}

void *rnic_verbs_null(int error)
{
	errno = error;
	return NULL;
}

/*
 * MEM_MGT_EXTENSIONS: windows of type 2, LOCAL_INV and SEND_WITH_INV. The kernel's users may also
 * register regions by a work request; libibverbs has no verb for that.
 *
 * IBV_ATOMIC_HCA holds for every kind of memory: one thread carries out all atomics of a user's
 * programs. In memory that the device maps they are atomic beside the program's own too; in other
 * memory the device reads and then writes the word.
 */
void rnic_verbs_device_attr(const struct rnic_device_attributes *from, struct ibv_device_attr *to)
{
	*to = (struct ibv_device_attr){
		.node_guid = htobe64(from->node_guid),
		.sys_image_guid = htobe64(from->node_guid),
		.max_mr_size = from->max_mr_bytes,
		.page_size_cap = from->page_sizes,
		.vendor_id = from->vendor_id,
		.vendor_part_id = from->vendor_part_id,
		.hw_ver = from->hardware_version,
		.max_qp = (int)from->max_qp,
		.max_qp_wr = (int)from->max_qp_wr,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
				    IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
				    IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS,
		.max_sge = (int)from->max_sge,
		.max_sge_rd = (int)from->max_sge,
		.max_cq = (int)from->max_cq,
		.max_cqe = (int)from->max_cqe,
		.max_mr = (int)from->max_mr,
		.max_pd = (int)from->max_pd,
		.max_qp_rd_atom = (int)from->max_qp_rd_atomic,
		.max_res_rd_atom = (int)(from->max_qp_rd_atomic * from->max_qp),
		.max_qp_init_rd_atom = (int)from->max_qp_rd_atomic,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_mw = (int)from->max_mw,
		.max_mcast_grp = (int)from->max_mcast_groups,
		.max_mcast_qp_attach = RNIC_MCAST_MEMBERS_MAX,
		.max_total_mcast_qp_attach = (int)from->max_mcast_groups * RNIC_MCAST_MEMBERS_MAX,
		.max_ah = (int)from->max_ah,
		.max_srq = (int)from->max_srq,
		.max_srq_wr = (int)from->max_srq_wr,
		.max_srq_sge = (int)from->max_srq_sge,
		.max_pkeys = (uint16_t)from->pkey_count,
		.local_ca_ack_delay = (uint8_t)from->local_ack_delay,
		.phys_port_cnt = 1,
	};
	snprintf(to->fw_ver, sizeof(to->fw_ver), "%s", from->firmware);
}

#define PHYSICAL_STATE_DISABLED 3
#define PHYSICAL_STATE_LINK_UP	5

void rnic_verbs_port_attr(const struct rnic_port_attributes *from, struct ibv_port_attr *to)
{
	const struct rnic_link_rate rate = rnic_link_rate(from->speed_mbps);

	*to = (struct ibv_port_attr){
		.state = (enum ibv_port_state)from->state,
		.max_mtu = (enum ibv_mtu)from->max_mtu,
		.active_mtu = (enum ibv_mtu)from->active_mtu,
		.gid_tbl_len = (int)from->gid_count,
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = from->max_message_bytes,
		.max_vl_num = 1,
		.phys_state = from->state == RNIC_PORT_ACTIVE ? PHYSICAL_STATE_LINK_UP
							      : PHYSICAL_STATE_DISABLED,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.active_width = rate.width,
		.active_speed = rate.speed,
	};
}

void rnic_verbs_path(const struct ibv_ah_attr *from, struct rnic_path *to)
{
	*to = (struct rnic_path){
		.flow_label = from->grh.flow_label,
		.source_gid_index = from->grh.sgid_index,
		.hop_limit = from->grh.hop_limit,
		.traffic_class = from->grh.traffic_class,
		.service_level = from->sl,
		.port = from->port_num,
		.is_global = from->is_global != 0,
		.dest_lid = from->dlid,
		.source_path_bits = from->src_path_bits,
		.static_rate = from->static_rate,
	};
	memcpy(to->dest_gid.bytes, from->grh.dgid.raw, sizeof(to->dest_gid.bytes));
}

void rnic_verbs_ah_attr(const struct rnic_path *from, struct ibv_ah_attr *to)
{
	*to = (struct ibv_ah_attr){
		.grh.flow_label = from->flow_label,
		.grh.sgid_index = from->source_gid_index,
		.grh.hop_limit = from->hop_limit,
		.grh.traffic_class = from->traffic_class,
		.dlid = from->dest_lid,
		.sl = from->service_level,
		.src_path_bits = from->source_path_bits,
		.static_rate = from->static_rate,
		.is_global = from->is_global,
		.port_num = from->port,
	};
	memcpy(to->grh.dgid.raw, from->dest_gid.bytes, sizeof(from->dest_gid.bytes));
}

void rnic_verbs_capacities(const struct ibv_qp_cap *from, struct rnic_qp_capacities *to)
{
	*to = (struct rnic_qp_capacities){
		.max_send_wr = from->max_send_wr,
		.max_recv_wr = from->max_recv_wr,
		.max_send_sge = from->max_send_sge,
		.max_recv_sge = from->max_recv_sge,
		.max_inline_bytes = from->max_inline_data,
	};
}

void rnic_verbs_qp_cap(const struct rnic_qp_capacities *from, struct ibv_qp_cap *to)
{
	*to = (struct ibv_qp_cap){
		.max_send_wr = from->max_send_wr,
		.max_recv_wr = from->max_recv_wr,
		.max_send_sge = from->max_send_sge,
		.max_recv_sge = from->max_recv_sge,
		.max_inline_data = from->max_inline_bytes,
	};
}

int rnic_verbs_qp_mask(enum ibv_qp_type type, int mask)
{
	switch (type) {
	case IBV_QPT_XRC_SEND:
		return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	case IBV_QPT_XRC_RECV:
		return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
	default:
		return mask;
	}
}

void rnic_verbs_qp_attributes(const struct ibv_qp_attr *from, struct rnic_qp_attributes *to)
{
	*to = (struct rnic_qp_attributes){
		.state = from->qp_state,
		.current_state = from->cur_qp_state,
		.qkey = from->qkey,
		.rq_psn = from->rq_psn,
		.sq_psn = from->sq_psn,
		.dest_qpn = from->dest_qp_num,
		.access_flags = from->qp_access_flags,
		.pkey_index = from->pkey_index,
		.path_mtu = (uint8_t)from->path_mtu,
		.max_rd_atomic = from->max_rd_atomic,
		.max_dest_rd_atomic = from->max_dest_rd_atomic,
		.min_rnr_timer = from->min_rnr_timer,
		.port = from->port_num,
		.timeout = from->timeout,
		.retry_count = from->retry_cnt,
		.rnr_retry = from->rnr_retry,
		.en_sqd_async_notify = from->en_sqd_async_notify != 0,
		.path_migration_state = (uint8_t)from->path_mig_state,
		.sq_draining = from->sq_draining,
		.alternate_port = from->alt_port_num,
		.alternate_timeout = from->alt_timeout,
		.alternate_pkey_index = from->alt_pkey_index,
		.rate_limit_kbps = from->rate_limit,
	};
	rnic_verbs_path(&from->ah_attr, &to->path);
	rnic_verbs_path(&from->alt_ah_attr, &to->alternate_path);
}

void rnic_verbs_qp_attr(const struct rnic_qp_attributes *from, struct ibv_qp_attr *to)
{
	*to = (struct ibv_qp_attr){
		.qp_state = from->state,
		.cur_qp_state = from->current_state,
		.path_mtu = (enum ibv_mtu)from->path_mtu,
		.path_mig_state = (enum ibv_mig_state)from->path_migration_state,
		.qkey = from->qkey,
		.rq_psn = from->rq_psn,
		.sq_psn = from->sq_psn,
		.dest_qp_num = from->dest_qpn,
		.qp_access_flags = from->access_flags,
		.pkey_index = from->pkey_index,
		.alt_pkey_index = from->alternate_pkey_index,
		.en_sqd_async_notify = from->en_sqd_async_notify,
		.sq_draining = from->sq_draining,
		.max_rd_atomic = from->max_rd_atomic,
		.max_dest_rd_atomic = from->max_dest_rd_atomic,
		.min_rnr_timer = from->min_rnr_timer,
		.port_num = from->port,
		.timeout = from->timeout,
		.retry_cnt = from->retry_count,
		.rnr_retry = from->rnr_retry,
		.alt_port_num = from->alternate_port,
		.alt_timeout = from->alternate_timeout,
		.rate_limit = from->rate_limit_kbps,
	};
	rnic_verbs_ah_attr(&from->path, &to->ah_attr);
	rnic_verbs_ah_attr(&from->alternate_path, &to->alt_ah_attr);
}

uint8_t rnic_verbs_send_flags(unsigned flags)
{
	return (uint8_t)(flags & (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
				  IBV_SEND_INLINE));
}

int rnic_verbs_bind(struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info,
		    struct rnic_send_wqe *to)
{
	const struct rnic_mr *mr = info->mr == NULL ? NULL : rnic_verbs_mr(info->mr)->native;

	to->remote_address = info->addr;
	return rnic_wqe_set_bind(to, rnic_verbs_mw(mw)->native, rkey, mr, info->length,
				 info->mw_access_flags);
}

static int set_bind(const struct ibv_send_wr *from, struct rnic_send_wqe *to)
{
	struct ibv_mw *mw = from->bind_mw.mw;

	if (mw == NULL || mw->type != IBV_MW_TYPE_2)
		return -EINVAL;
	return rnic_verbs_bind(mw, from->bind_mw.rkey, &from->bind_mw.bind_info, to);
}

/* The parts of a request that only some opcodes have, and that share their place. */
static int translate_operands(const struct ibv_send_wr *from, enum rnic_wr_operands operands,
			      enum rnic_qp_type type, struct rnic_send_wqe *to)
{
	const struct ibv_ah *ah = from->wr.ud.ah;
	int error = 0;

	switch (operands) {
	case RNIC_WR_OPERANDS_NONE:
		if (type == RNIC_QP_TYPE_UD)
			rnic_wqe_set_datagram(to, ah == NULL ? NULL : rnic_verbs_ah(ah)->native,
					      from->wr.ud.remote_qpn, from->wr.ud.remote_qkey);
		break;
	case RNIC_WR_OPERANDS_REMOTE:
		rnic_wqe_set_remote(to, from->wr.rdma.remote_addr, from->wr.rdma.rkey);
		break;
	case RNIC_WR_OPERANDS_SWAP:
		rnic_wqe_set_remote(to, from->wr.atomic.remote_addr, from->wr.atomic.rkey);
		rnic_wqe_set_atomic(to, from->wr.atomic.compare_add, from->wr.atomic.swap);
		break;
	case RNIC_WR_OPERANDS_ADD:
		rnic_wqe_set_remote(to, from->wr.atomic.remote_addr, from->wr.atomic.rkey);
		rnic_wqe_set_atomic(to, 0, from->wr.atomic.compare_add);
		break;
	case RNIC_WR_OPERANDS_BIND:
		error = set_bind(from, to);
		break;
	case RNIC_WR_OPERANDS_FLUSH: /* struct ibv_send_wr has no place for what it needs */
		error = -EOPNOTSUPP;
		break;
	}
	if (type == RNIC_QP_TYPE_XRC_INITIATOR)
		rnic_wqe_set_srq(to, from->qp_type.xrc.remote_srqn);
	return error;
}

int rnic_verbs_send_wqe(const struct ibv_send_wr *from, enum rnic_qp_type type,
			struct rnic_send_wqe *to)
{
	const struct rnic_wr_operation *operation;

	if ((unsigned)from->opcode >= RNIC_WR_OPCODE_COUNT)
		return -EOPNOTSUPP;
	if (!rnic_verbs_are_send_flags_served((unsigned)from->send_flags))
		return -EINVAL;
	operation = rnic_wr_operation((uint8_t)from->opcode);
	*to = (struct rnic_send_wqe){
		.wr_id = from->wr_id,
		.opcode = (uint8_t)from->opcode,
		.flags = rnic_verbs_send_flags(from->send_flags),
		.immediate = operation->immediate == RNIC_WR_IMMEDIATE_KEY ? from->invalidate_rkey
									   : ntohl(from->imm_data),
	};
	/* The device refuses the others, whatever their operands; no FLUSH comes so far. */
	if (!rnic_wr_is_of_type(operation, type))
		return operation->operands == RNIC_WR_OPERANDS_FLUSH ? -EOPNOTSUPP : 0;
	return translate_operands(from, (enum rnic_wr_operands)operation->operands, type, to);
}

void rnic_verbs_wc(const struct rnic_completion *from, struct ibv_wc *to)
{
	*to = (struct ibv_wc){
		.wr_id = from->wr_id,
		.status = (enum ibv_wc_status)from->status,
		.opcode = (enum ibv_wc_opcode)from->opcode,
		.vendor_err = from->vendor_error,
		.byte_len = from->byte_count,
		.qp_num = from->qpn,
		.src_qp = from->source_qpn,
		.wc_flags = from->wc_flags,
		.sl = from->service_level,
	};
	if ((from->wc_flags & RNIC_WC_WITH_INVALIDATE) != 0)
		to->invalidated_rkey = from->immediate;
	else
		to->imm_data = htonl(from->immediate);
}

void rnic_verbs_async_event(const struct rnic_async_event *from, struct ibv_async_event *to)
{
	struct rnic_verbs_cq *cq = from->cq == NULL ? NULL : rnic_cq_user(from->cq);
	struct rnic_verbs_qp *qp = from->qp == NULL ? NULL : rnic_qp_user(from->qp);
	struct rnic_verbs_srq *srq = from->srq == NULL ? NULL : rnic_srq_user(from->srq);

	*to = (struct ibv_async_event){.event_type = (enum ibv_event_type)from->type};
	if (cq != NULL)
		to->element.cq = &cq->cq;
	else if (qp != NULL)
		to->element.qp = &qp->qp;
	else if (srq != NULL)
		to->element.srq = &srq->srq;
	else
		to->element.port_num = (int)from->port;
}

void rnic_verbs_native_event(const struct ibv_async_event *from, struct rnic_async_event *to)
{
	*to = (struct rnic_async_event){.type = (enum rnic_async_event_type)from->event_type};
	switch (from->event_type) {
	case IBV_EVENT_CQ_ERR:
		to->cq = rnic_verbs_cq(from->element.cq)->native;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		to->qp = rnic_verbs_qp(from->element.qp)->native;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		to->srq = rnic_verbs_srq(from->element.srq)->native;
		break;
	default:
		break;
	}
}
