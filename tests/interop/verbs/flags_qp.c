/* SPDX-License-Identifier: MIT */
/* All flags and attributes of queue pairs, and of what is posted to them. */
#include "tests/interop/verbs/refusals.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define REMOTE_ALL (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* Of later headers, which verbs_reports.c calls. */
#define EX_WITH_FLUSH (1 << 11)

/* ---- creation ---- */

static struct ibv_qp_init_attr_ex extended(const struct bench *bench, enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = bench->cq,
		.recv_cq = bench->cq,
		.cap = {DEPTH, DEPTH, 1, 1, 64},
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = bench->pd,
		.xrcd = bench->xrcd,
	};
}

/* A queue pair with extended operations is one that ibv_qp_to_qp_ex() finds. */
static int make(struct bench *bench, struct ibv_qp_init_attr_ex *wanted)
{
	const bool has_operations = (wanted->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
	struct ibv_qp *qp = ibv_create_qp_ex(bench->context, wanted);
	int result = errno;

	if (qp == NULL)
		return result;
	result = (ibv_qp_to_qp_ex(qp) != NULL) == has_operations ? 0 : NOT_DONE;
	return ibv_destroy_qp(qp) == 0 ? result : NOT_DONE;
}

static int create_mask(struct bench *bench, uint64_t mask)
{
	struct ibv_qp_init_attr_ex wanted = extended(bench, IBV_QPT_RC);

	wanted.comp_mask |= (uint32_t)mask;
	return make(bench, &wanted);
}

static int create_flags(struct bench *bench, uint64_t flags)
{
	struct ibv_qp_init_attr_ex wanted = extended(bench, IBV_QPT_RC);

	wanted.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	wanted.create_flags = (uint32_t)flags;
	return make(bench, &wanted);
}

static int create_type(struct bench *bench, uint64_t type)
{
	struct ibv_qp_init_attr_ex wanted = extended(bench, (enum ibv_qp_type)type);

	if (type == IBV_QPT_XRC_RECV)
		wanted.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	return make(bench, &wanted);
}

/* ---- extended operations ---- */

/* Begins the operation whose flag that is, with what belongs to it. */
static void begin_operation(struct bench *bench, struct ibv_qp_ex *qp, struct ibv_mw *mw,
			    uint64_t flag)
{
	const struct ibv_mw_bind_info bind = {bench->open, (uintptr_t)bench->bytes, 8, 0};
	const uint32_t rkey = bench->open->rkey;
	const uint64_t remote = (uintptr_t)bench->bytes, word = 0;

	switch (flag) {
	case IBV_QP_EX_WITH_RDMA_WRITE:
		ibv_wr_rdma_write(qp, rkey, remote);
		break;
	case IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qp, rkey, remote, 1);
		break;
	case IBV_QP_EX_WITH_SEND:
		ibv_wr_send(qp);
		break;
	case IBV_QP_EX_WITH_SEND_WITH_IMM:
		ibv_wr_send_imm(qp, 1);
		break;
	case IBV_QP_EX_WITH_SEND_WITH_INV:
		ibv_wr_send_inv(qp, rkey);
		break;
	case IBV_QP_EX_WITH_RDMA_READ:
		ibv_wr_rdma_read(qp, rkey, remote);
		break;
	case IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qp, rkey, remote, 0, 1);
		break;
	case IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(qp, rkey, remote, 1);
		break;
	case IBV_QP_EX_WITH_LOCAL_INV:
		ibv_wr_local_inv(qp, rkey);
		break;
	case IBV_QP_EX_WITH_BIND_MW:
		ibv_wr_bind_mw(qp, mw, 1, &bind);
		break;
	case IBV_QP_EX_WITH_ATOMIC_WRITE:
		ibv_wr_atomic_write(qp, rkey, remote, &word);
		break;
	default:
		ibv_wr_send_tso(qp, bench->bytes, 8, 8);
		break;
	}
}

/* Returns what the end of a batch answers, which holds the one operation. */
static int post_operation(struct bench *bench, struct ibv_qp *qp, struct ibv_mw *mw,
			  struct ibv_ah *ah, uint64_t flag)
{
	struct ibv_qp_ex *extended = ibv_qp_to_qp_ex(qp);
	const bool has_word = flag == IBV_QP_EX_WITH_ATOMIC_WRITE;
	const bool is_local = flag == IBV_QP_EX_WITH_LOCAL_INV || flag == IBV_QP_EX_WITH_BIND_MW;

	ibv_wr_start(extended);
	extended->wr_id = flag;
	extended->wr_flags = IBV_SEND_SIGNALED;
	begin_operation(bench, extended, mw, flag);
	if (!has_word && !is_local && flag != IBV_QP_EX_WITH_TSO)
		ibv_wr_set_sge(extended, bench->open->lkey, (uintptr_t)bench->bytes, 8);
	if (qp->qp_type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(extended, ah, qp->qp_num, 0);
	return ibv_wr_complete(extended);
}

static const struct {
	uint64_t flag;
	enum ibv_wc_opcode completion;
} operations[] = {
	{IBV_QP_EX_WITH_RDMA_WRITE, IBV_WC_RDMA_WRITE},
	{IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE},
	{IBV_QP_EX_WITH_SEND, IBV_WC_SEND},
	{IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WC_SEND},
	{IBV_QP_EX_WITH_RDMA_READ, IBV_WC_RDMA_READ},
	{IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP},
	{IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD},
	{IBV_QP_EX_WITH_LOCAL_INV, IBV_WC_LOCAL_INV},
	{IBV_QP_EX_WITH_BIND_MW, IBV_WC_BIND_MW},
	{IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WC_SEND},
	{IBV_QP_EX_WITH_TSO, IBV_WC_TSO},
	{IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE},
};

/* Each operation is posted and carried out if its flag was given, and refused otherwise. */
static int operations_are_those(struct bench *bench, struct ibv_qp *qp, uint64_t flag)
{
	struct ibv_ah_attr to_itself = {
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = bench->gid.gid, .sgid_index = (uint8_t)bench->gid.gid_index},
	};
	struct ibv_ah *ah = ibv_create_ah(bench->pd, &to_itself);
	struct ibv_mw *mw = ibv_alloc_mw(bench->pd, IBV_MW_TYPE_2);
	int result = 0;

	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		const bool is_asked = operations[i].flag == flag;
		int error;

		bench_connect(bench, qp, REMOTE_ALL);
		error = post_operation(bench, qp, mw, ah, operations[i].flag);
		if (error != (is_asked ? 0 : EOPNOTSUPP) ||
		    (is_asked && bench_wait(bench).opcode != operations[i].completion))
			result = NOT_DONE;
	}
	return ibv_dealloc_mw(mw) == 0 && ibv_destroy_ah(ah) == 0 ? result : NOT_DONE;
}

static int send_operations(struct bench *bench, enum ibv_qp_type type, uint64_t flag)
{
	struct ibv_qp_init_attr_ex wanted = extended(bench, type);
	struct ibv_qp *qp;
	int result;

	wanted.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	wanted.send_ops_flags = flag;
	qp = ibv_create_qp_ex(bench->context, &wanted);
	result = errno;
	if (qp == NULL)
		return result;
	result = type == IBV_QPT_XRC_SEND ? 0 : operations_are_those(bench, qp, flag);
	return ibv_destroy_qp(qp) == 0 ? result : NOT_DONE;
}

static int operations_of_rc(struct bench *bench, uint64_t flag)
{
	return send_operations(bench, IBV_QPT_RC, flag);
}

static int operations_of_uc(struct bench *bench, uint64_t flag)
{
	return send_operations(bench, IBV_QPT_UC, flag);
}

static int operations_of_ud(struct bench *bench, uint64_t flag)
{
	return send_operations(bench, IBV_QPT_UD, flag);
}

static int operations_of_xrc(struct bench *bench, uint64_t flag)
{
	return send_operations(bench, IBV_QPT_XRC_SEND, flag);
}

/* ---- modification ---- */

/* What a query says of the attribute. */
static uint64_t attribute(const struct ibv_qp_attr *of, uint64_t mask)
{
	switch (mask) {
	case IBV_QP_STATE:
		return of->qp_state;
	case IBV_QP_CUR_STATE:
		return of->cur_qp_state;
	case IBV_QP_ACCESS_FLAGS:
		return of->qp_access_flags;
	case IBV_QP_PKEY_INDEX:
		return of->pkey_index;
	case IBV_QP_PORT:
		return of->port_num;
	case IBV_QP_QKEY:
		return of->qkey;
	case IBV_QP_AV:
		return of->ah_attr.grh.traffic_class;
	case IBV_QP_TIMEOUT:
		return of->timeout;
	case IBV_QP_RETRY_CNT:
		return of->retry_cnt;
	case IBV_QP_RNR_RETRY:
		return of->rnr_retry;
	case IBV_QP_MAX_QP_RD_ATOMIC:
		return of->max_rd_atomic;
	case IBV_QP_MAX_DEST_RD_ATOMIC:
		return of->max_dest_rd_atomic;
	case IBV_QP_MIN_RNR_TIMER:
		return of->min_rnr_timer;
	case IBV_QP_PATH_MIG_STATE:
		return of->path_mig_state;
	default:
		return UINT64_MAX;
	}
}

static bool have_equal_paths(const struct ibv_ah_attr *one, const struct ibv_ah_attr *other)
{
	return memcmp(&one->grh.dgid, &other->grh.dgid, sizeof(one->grh.dgid)) == 0 &&
	       one->grh.sgid_index == other->grh.sgid_index &&
	       one->grh.hop_limit == other->grh.hop_limit &&
	       one->grh.traffic_class == other->grh.traffic_class &&
	       one->port_num == other->port_num;
}

/* Member by member: compilers leave other bytes in the padding. */
static bool are_equal(const struct ibv_qp_attr *one, const struct ibv_qp_attr *other)
{
	for (uint64_t mask = 1; mask <= IBV_QP_RATE_LIMIT; mask <<= 1)
		if (attribute(one, mask) != attribute(other, mask))
			return false;
	return one->dest_qp_num == other->dest_qp_num && one->path_mtu == other->path_mtu &&
	       one->rq_psn == other->rq_psn && one->sq_psn == other->sq_psn &&
	       one->alt_port_num == other->alt_port_num && one->alt_timeout == other->alt_timeout &&
	       one->rate_limit == other->rate_limit &&
	       memcmp(&one->cap, &other->cap, sizeof(one->cap)) == 0 &&
	       have_equal_paths(&one->ah_attr, &other->ah_attr) &&
	       have_equal_paths(&one->alt_ah_attr, &other->alt_ah_attr);
}

/* Other values than those of bench_connect(), where there are others. */
static struct ibv_qp_attr other_values(const struct bench *bench, enum ibv_qp_state state)
{
	return (struct ibv_qp_attr){
		.qp_state = state,
		.cur_qp_state = state,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ,
		.port_num = 1,
		.qkey = 0x1234,
		.timeout = 9,
		.retry_cnt = 3,
		.rnr_retry = 4,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 7,
		.alt_port_num = 1,
		.rate_limit = 1000,
		.cap = {2 * DEPTH, 2 * DEPTH, 2, 2, 128},
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = bench->gid.gid,
				    .sgid_index = (uint8_t)bench->gid.gid_index,
				    .traffic_class = 32,
				    .hop_limit = 1}},
	};
}

static void bring_to(struct bench *bench, struct ibv_qp *qp, enum ibv_qp_state state)
{
	const int rights = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RESET, .port_num = 1};

	bench_connect(bench, qp, 0);
	if (state == IBV_QPS_INIT) {
		ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
		attributes.qp_state = IBV_QPS_INIT;
		ibv_modify_qp(qp, &attributes,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | rights);
	} else if (state == IBV_QPS_SQD) {
		attributes.qp_state = IBV_QPS_SQD;
		ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
	}
}

/* One attribute in a state: it has the new value then, or all have the old ones. */
static int modify(struct bench *bench, struct ibv_qp *qp, enum ibv_qp_state state, uint64_t mask)
{
	struct ibv_qp_attr wanted = other_values(bench, state), before, after;
	struct ibv_qp_init_attr made;
	int result;

	bring_to(bench, qp, state);
	if (ibv_query_qp(qp, &before, 0, &made) != 0 || before.qp_state != state)
		return NOT_REFUSED;
	result = ibv_modify_qp(qp, &wanted, (int)mask);
	if (ibv_query_qp(qp, &after, 0, &made) != 0)
		return NOT_REFUSED;
	if (result != 0)
		return are_equal(&before, &after) ? result : NOT_DONE;
	return attribute(&after, mask) == attribute(&wanted, mask) ? 0 : NOT_DONE;
}

#define MODIFY(name, type, state)                                                                  \
	static int name(struct bench *bench, uint64_t mask)                                        \
	{                                                                                          \
		struct ibv_qp_init_attr wanted = init_attributes(bench);                           \
		struct ibv_qp *qp;                                                                 \
		int result;                                                                        \
                                                                                                   \
		wanted.qp_type = (type);                                                           \
		qp = ibv_create_qp(bench->pd, &wanted);                                            \
		result = modify(bench, qp, (state), mask);                                         \
		return ibv_destroy_qp(qp) == 0 ? result : NOT_DONE;                                \
	}

MODIFY(modify_rc_in_init, IBV_QPT_RC, IBV_QPS_INIT)
MODIFY(modify_rc_in_rts, IBV_QPT_RC, IBV_QPS_RTS)
MODIFY(modify_rc_in_sqd, IBV_QPT_RC, IBV_QPS_SQD)
MODIFY(modify_uc_in_init, IBV_QPT_UC, IBV_QPS_INIT)
MODIFY(modify_uc_in_rts, IBV_QPT_UC, IBV_QPS_RTS)
MODIFY(modify_uc_in_sqd, IBV_QPT_UC, IBV_QPS_SQD)
MODIFY(modify_ud_in_init, IBV_QPT_UD, IBV_QPS_INIT)
MODIFY(modify_ud_in_rts, IBV_QPT_UD, IBV_QPS_RTS)
MODIFY(modify_ud_in_sqd, IBV_QPT_UD, IBV_QPS_SQD)

#define EVENT_MS 30000 /* for one that must come */

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};

	return poll(&wanted, 1, timeout_ms) == 1;
}

/* Those of requests that a peer refused. */
static void take_events(struct bench *bench)
{
	struct ibv_async_event event;

	while (is_readable(bench->context->async_fd, 0) &&
	       ibv_get_async_event(bench->context, &event) == 0)
		ibv_ack_async_event(&event);
}

/* From RTS to SQD; the one attribute that this takes asks for an event. */
static int drain(struct bench *bench, uint64_t mask)
{
	struct ibv_qp_attr wanted = other_values(bench, IBV_QPS_SQD);
	struct ibv_async_event event;
	int result;

	wanted.en_sqd_async_notify = 1;
	bench_connect(bench, bench->rc, 0);
	take_events(bench);
	result = ibv_modify_qp(bench->rc, &wanted, IBV_QP_STATE | (int)mask);
	if (result == 0 && mask == IBV_QP_EN_SQD_ASYNC_NOTIFY) {
		if (ibv_get_async_event(bench->context, &event) != 0)
			return NOT_DONE;
		if (event.event_type != IBV_EVENT_SQ_DRAINED || event.element.qp != bench->rc)
			result = NOT_DONE;
		ibv_ack_async_event(&event);
	}
	return is_readable(bench->context->async_fd, 0) ? NOT_DONE : result;
}

/* A right of the queue pair lets its peer at a region that has every right. */
static int access_flags(struct bench *bench, uint64_t flags)
{
	struct ibv_qp_attr wanted = {.qp_access_flags = (unsigned)flags};

	for (unsigned i = 0; i < BENCH_WAYS; i++) {
		int result;

		bench_connect(bench, bench->rc, 0);
		result = ibv_modify_qp(bench->rc, &wanted, IBV_QP_ACCESS_FLAGS);
		if (result != 0)
			return result;
		if (bench_reaches(bench, bench_ways[i].opcode, bench->open->rkey,
				  (uintptr_t)bench->bytes) != (flags == bench_ways[i].right))
			return NOT_DONE;
	}
	return 0;
}

static int migration(struct bench *bench, uint64_t state)
{
	struct ibv_qp_attr wanted = {.path_mig_state = (enum ibv_mig_state)state};

	bench_connect(bench, bench->rc, 0);
	return ibv_modify_qp(bench->rc, &wanted, IBV_QP_PATH_MIG_STATE);
}

static int query_ece(struct bench *bench, uint64_t mask)
{
	struct ibv_ece ece = {.comp_mask = (uint32_t)mask};

	return ibv_query_ece(bench->rc, &ece);
}

static int set_ece(struct bench *bench, uint64_t mask)
{
	struct ibv_ece ece = {.comp_mask = (uint32_t)mask};

	return ibv_set_ece(bench->rc, &ece);
}

/* ---- posting ---- */

/* A datagram by the address; its IP header is in the second half of what the receiver gets first.
 */
static int send_by(struct bench *bench, struct ibv_ah_attr address, size_t offset, uint8_t *found)
{
	struct ibv_sge sge = {(uintptr_t)bench->bytes, BYTES, bench->open->lkey};
	struct ibv_recv_wr receive = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad_receive;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
	struct ibv_ah *ah;
	int result = 0;

	address.is_global = 1;
	address.port_num = 1;
	address.grh.dgid = bench->gid.gid;
	ah = ibv_create_ah(bench->pd, &address);
	if (ah == NULL)
		return errno;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = bench->ud->qp_num;
	bench_connect(bench, bench->ud, 0);
	if (ibv_post_recv(bench->ud, &receive, &bad_receive) != 0 ||
	    ibv_post_send(bench->ud, &wr, &bad) != 0)
		result = NOT_DONE;
	for (int i = 0; i < 2 && result == 0; i++)
		if (bench_wait(bench).status != IBV_WC_SUCCESS)
			result = NOT_DONE;
	*found = bench->bytes[20 + offset];
	return ibv_destroy_ah(ah) == 0 ? result : NOT_DONE;
}

/* The class of differentiated services; the device marks congestion itself. */
static int traffic_class(struct bench *bench, uint64_t class)
{
	uint8_t found;
	int result = send_by(bench,
			     (struct ibv_ah_attr){.grh = {.traffic_class = (uint8_t)(class << 2)}},
			     1, &found);

	return result != 0 || found >> 2 == (int)class ? result : NOT_DONE;
}

static int default_hop_limit(void)
{
	FILE *file = fopen("/proc/sys/net/ipv4/ip_default_ttl", "re");
	int limit = 0;

	if (file != NULL && fscanf(file, "%d", &limit) != 1)
		limit = 0;
	if (file != NULL)
		fclose(file);
	return limit;
}

/* The route's takes the place of the program's, as on Linux. */
static int hop_limit(struct bench *bench, uint64_t limit)
{
	uint8_t found;
	int result = send_by(bench, (struct ibv_ah_attr){.grh = {.hop_limit = (uint8_t)limit}}, 8,
			     &found);

	return result != 0 || found == default_hop_limit() ? result : NOT_DONE;
}

static int port_of_ah(struct bench *bench, uint64_t port)
{
	struct ibv_ah_attr wanted = {
		.is_global = 1, .port_num = (uint8_t)port, .grh = {.dgid = bench->gid.gid}};
	struct ibv_ah *ah = ibv_create_ah(bench->pd, &wanted);
	int result = errno;

	if (ah == NULL)
		return result;
	return ibv_destroy_ah(ah) == 0 ? 0 : NOT_DONE;
}

static void post_receive(struct bench *bench, struct ibv_qp *qp)
{
	struct ibv_sge sge = {(uintptr_t)bench->bytes, BYTES, bench->open->lkey};
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;

	ibv_post_recv(qp, &wr, &bad);
}

/* Takes the event of the queue, if one comes in time. */
static bool was_woken(struct bench *bench, int timeout_ms)
{
	struct ibv_cq *cq;
	void *user;

	if (!is_readable(bench->channel->fd, timeout_ms) ||
	    ibv_get_cq_event(bench->channel, &cq, &user) != 0)
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

/*
 * A send with the flag, and a signaled one. The flag decides whether the first completes, whether
 * it wakes one that waits for solicited messages, and whether its memory needs a key. What FENCE
 * does shows in no single request. A flag that nobody has given a meaning asks for nothing.
 */
static int send_flags(struct bench *bench, uint64_t flag)
{
	const bool is_inline = flag == IBV_SEND_INLINE;
	const bool is_solicited = flag == IBV_SEND_SOLICITED;
	struct ibv_sge sge = {(uintptr_t)bench->bytes, 8, is_inline ? 0 : bench->open->lkey};
	struct ibv_send_wr second = {.wr_id = 3,
				     .opcode = IBV_WR_SEND,
				     .sg_list = &sge,
				     .num_sge = 1,
				     .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr wr = {.wr_id = 2,
				 .opcode = IBV_WR_SEND,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = (unsigned)flag},
			   *bad;
	int result, signaled = 0;

	second.send_flags |= is_inline ? IBV_SEND_INLINE : 0U;
	bench_connect(bench, bench->rc, 0);
	post_receive(bench, bench->rc);
	post_receive(bench, bench->rc);
	was_woken(bench, 0);
	ibv_req_notify_cq(bench->cq, 1);
	result = ibv_post_send(bench->rc, &wr, &bad);
	if (result != 0)
		return result;
	if (ibv_post_send(bench->rc, &second, &bad) != 0)
		return NOT_DONE;
	for (int left = flag == IBV_SEND_SIGNALED ? 4 : 3; left > 0; left--) {
		const struct ibv_wc wc = bench_wait(bench);

		if (wc.status != IBV_WC_SUCCESS)
			return NOT_DONE;
		signaled += wc.wr_id == 2;
	}
	return signaled == (flag == IBV_SEND_SIGNALED) &&
			       was_woken(bench, is_solicited ? EVENT_MS : 0) == is_solicited
		       ? 0
		       : NOT_DONE;
}

static int bind_send_flags(struct bench *bench, uint64_t flag)
{
	struct ibv_mw *mw = ibv_alloc_mw(bench->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.send_flags = (unsigned)flag | IBV_SEND_SIGNALED,
				   .bind_info = {bench->open, (uintptr_t)bench->bytes, 8, 0}};
	int result;

	bench_connect(bench, bench->rc, 0);
	result = ibv_bind_mw(bench->rc, mw, &bind);
	if (result == 0 && bench_wait(bench).status != IBV_WC_SUCCESS)
		result = NOT_DONE;
	return ibv_dealloc_mw(mw) == 0 ? result : NOT_DONE;
}

/* INLINE belongs to the data of extended operations, and not to their flags. */
static int extended_flags(struct bench *bench, uint64_t flag)
{
	struct ibv_qp_init_attr_ex wanted = extended(bench, IBV_QPT_RC);
	struct ibv_qp_ex *qp;
	struct ibv_qp *made;
	int result;

	wanted.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	wanted.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
	made = ibv_create_qp_ex(bench->context, &wanted);
	bench_connect(bench, made, REMOTE_ALL);
	qp = ibv_qp_to_qp_ex(made);
	ibv_wr_start(qp);
	qp->wr_flags = (unsigned)flag | IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, bench->open->rkey, (uintptr_t)bench->bytes);
	ibv_wr_set_sge(qp, bench->open->lkey, (uintptr_t)bench->bytes, 8);
	result = ibv_wr_complete(qp);
	if (result == 0 && bench_wait(bench).status != IBV_WC_SUCCESS)
		result = NOT_DONE;
	return ibv_destroy_qp(made) == 0 ? result : NOT_DONE;
}

/* The opcode of the completion, -1 for none. */
static int completion_of(uint64_t opcode)
{
	static const enum ibv_wc_opcode known[] = {
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
		[IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
		[IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
		[IBV_WR_SEND_WITH_INV] = IBV_WC_SEND,
	};

	if (opcode == IBV_WR_ATOMIC_WRITE)
		return IBV_WC_ATOMIC_WRITE;
	return opcode < sizeof(known) / sizeof(known[0]) ? (int)known[opcode] : -1;
}

/* A queue pair refuses what its type cannot do when it is posted, or by LOC_QP_OP_ERR. */
static int post_opcode(struct bench *bench, struct ibv_qp *qp, uint64_t opcode)
{
	struct ibv_ah_attr to_itself = {
		.is_global = 1,
		.port_num = 1,
		.grh = {.dgid = bench->gid.gid, .sgid_index = (uint8_t)bench->gid.gid_index},
	};
	struct ibv_sge sge = {(uintptr_t)bench->bytes, 8, bench->open->lkey};
	const bool is_local = opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_BIND_MW;
	struct ibv_send_wr wr = {
		.opcode = (enum ibv_wr_opcode)opcode,
		.sg_list = &sge,
		.num_sge = is_local ? 0 : 1,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_ah *ah = ibv_create_ah(bench->pd, &to_itself);
	struct ibv_mw *mw = ibv_alloc_mw(bench->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr *bad;
	int result;

	if (opcode == IBV_WR_BIND_MW) {
		wr.bind_mw.mw = mw;
		wr.bind_mw.bind_info = (struct ibv_mw_bind_info){bench->open, sge.addr, 8, 0};
	} else if (qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = qp->qp_num;
	}
	bench_connect(bench, qp, REMOTE_ALL);
	result = ibv_post_send(qp, &wr, &bad);
	if (result == 0) {
		const struct ibv_wc wc = bench_wait(bench);

		if (wc.status == IBV_WC_LOC_QP_OP_ERR)
			result = EINVAL;
		else if ((int)wc.opcode != completion_of(opcode))
			result = NOT_DONE;
	}
	return ibv_dealloc_mw(mw) == 0 && ibv_destroy_ah(ah) == 0 ? result : NOT_DONE;
}

static int opcode_of_rc(struct bench *bench, uint64_t opcode)
{
	return post_opcode(bench, bench->rc, opcode);
}

static int opcode_of_ud(struct bench *bench, uint64_t opcode)
{
	return post_opcode(bench, bench->ud, opcode);
}

static int opcode_of_uc(struct bench *bench, uint64_t opcode)
{
	struct ibv_qp_init_attr wanted = init_attributes(bench);
	struct ibv_qp *qp;
	int result;

	wanted.qp_type = IBV_QPT_UC;
	qp = ibv_create_qp(bench->pd, &wanted);
	result = post_opcode(bench, qp, opcode);
	return ibv_destroy_qp(qp) == 0 ? result : NOT_DONE;
}

#define WRITES (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
#define SENDS  (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define RELIABLE                                                                                   \
	(WRITES | SENDS | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |           \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_WRITE | EX_WITH_FLUSH)
#define LOCAL (IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define OF_RC (RELIABLE | LOCAL | IBV_QP_EX_WITH_SEND_WITH_INV)
#define TYPES                                                                                      \
	(1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD | 1 << IBV_QPT_XRC_SEND |             \
	 1 << IBV_QPT_XRC_RECV)
#define IN_INIT	  (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define IN_RTS	  (IBV_QP_STATE | IBV_QP_CUR_STATE)
#define IN_SQD	  (IBV_QP_STATE | IBV_QP_PKEY_INDEX)
#define CONNECTED (IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE)
#define RC_IN_SQD                                                                                  \
	(IN_SQD | CONNECTED | IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |        \
	 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |                  \
	 IBV_QP_MIN_RNR_TIMER)
#define BIT(n)	   (UINT64_C(1) << IBV_WR_##n)
#define UD_OPCODES (BIT(SEND) | BIT(SEND_WITH_IMM))
#define UC_OPCODES                                                                                 \
	(UD_OPCODES | BIT(RDMA_WRITE) | BIT(RDMA_WRITE_WITH_IMM) | BIT(LOCAL_INV) | BIT(BIND_MW))
#define RC_OPCODES                                                                                 \
	(UC_OPCODES | BIT(RDMA_READ) | BIT(ATOMIC_CMP_AND_SWP) | BIT(ATOMIC_FETCH_AND_ADD) |       \
	 BIT(SEND_WITH_INV) | BIT(ATOMIC_WRITE))
#define ALL_BUT(flags) (UINT32_MAX & ~(uint32_t)(flags))

const struct flag_word flags_of_qps[] = {
	{"create_qp_ex comp_mask", create_mask,
	 IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, 32,
	 false},
	{"create_qp_ex create_flags", create_flags, 0, 32, false},
	{"create_qp_ex type", create_type, TYPES, 32, true},
	{"send_ops_flags of RC", operations_of_rc, OF_RC, 64, false},
	{"send_ops_flags of UC", operations_of_uc, WRITES | SENDS | LOCAL, 64, false},
	{"send_ops_flags of UD", operations_of_ud, SENDS, 64, false},
	{"send_ops_flags of XRC", operations_of_xrc, RELIABLE, 64, false},
	{"modify_qp of RC in INIT", modify_rc_in_init, IN_INIT | IBV_QP_ACCESS_FLAGS, 31, false},
	{"modify_qp of RC in RTS", modify_rc_in_rts, IN_RTS | CONNECTED | IBV_QP_MIN_RNR_TIMER, 31,
	 false},
	{"modify_qp of RC in SQD", modify_rc_in_sqd, RC_IN_SQD, 31, false},
	{"modify_qp of UC in INIT", modify_uc_in_init, IN_INIT | IBV_QP_ACCESS_FLAGS, 31, false},
	{"modify_qp of UC in RTS", modify_uc_in_rts, IN_RTS | CONNECTED, 31, false},
	{"modify_qp of UC in SQD", modify_uc_in_sqd, IN_SQD | CONNECTED | IBV_QP_AV, 31, false},
	{"modify_qp of UD in INIT", modify_ud_in_init, IN_INIT | IBV_QP_QKEY, 31, false},
	{"modify_qp of UD in RTS", modify_ud_in_rts, IN_RTS | IBV_QP_QKEY, 31, false},
	{"modify_qp of UD in SQD", modify_ud_in_sqd, IN_SQD | IBV_QP_QKEY, 31, false},
	{"modify_qp to SQD", drain, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, 31, false},
	{"qp_access_flags", access_flags, 0x3ff003ff, 32, false},
	{"path_mig_state", migration, 1 << IBV_MIG_MIGRATED, 32, true},
	{"query_ece comp_mask", query_ece, 0, 32, false},
	{"set_ece comp_mask", set_ece, 0, 32, false},
	{"create_ah port_num", port_of_ah, 1 << 1, 32, true},
	{"create_ah traffic_class", traffic_class, UINT64_MAX, 64, true},
	{"create_ah hop_limit", hop_limit, UINT64_MAX, 64, true},
	{"post_send flags", send_flags, ALL_BUT(IBV_SEND_IP_CSUM), 32, false},
	{"bind_mw send_flags", bind_send_flags, ALL_BUT(IBV_SEND_IP_CSUM | IBV_SEND_INLINE), 32,
	 false},
	{"wr_flags", extended_flags, ALL_BUT(IBV_SEND_IP_CSUM), 32, false},
	{"post_send opcode of RC", opcode_of_rc, RC_OPCODES, 32, true},
	{"post_send opcode of UC", opcode_of_uc, UC_OPCODES, 32, true},
	{"post_send opcode of UD", opcode_of_ud, UD_OPCODES, 32, true},
	{0},
};
