/* SPDX-License-Identifier: MIT */
/*
 * The extended operations of a completion queue: one completion at a time, which functions read.
 * Between start and end the caller holds the queue, because the completion lies in the queue's
 * object.
 */
#include "lib/dropin/verbs/ibv_handle_check.h"
#include "lib/dropin/verbs/ibv_translate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <time.h>

#define TIMESTAMP_FLAGS                                                                            \
	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
#define SERVED_WC_FLAGS	  (IBV_WC_STANDARD_FLAGS | TIMESTAMP_FLAGS)
#define SERVED_ATTRIBUTES (IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)
#define NS_PER_SECOND	  INT64_C(1000000000)

/* What a look at clocks may be wrong by. Who sets a clock back sets it by more. */
#define CLOCK_SET_BACK_NS      INT64_C(1000000)
#define CLOCK_LOOKS	       4
#define CLOCKS_NEVER_LOOKED_AT INT64_MIN

/*
 * Wall clock less monotonic clock. The two run alike, so the difference changes only when somebody
 * sets the wall clock; all queues share the value, so that their times compare.
 */
static _Atomic int64_t clocks_apart_ns = CLOCKS_NEVER_LOOKED_AT;

static struct rnic_verbs_cq *verbs_cq_ex_from_ex(struct ibv_cq_ex *cq)
{
	return RNIC_CONTAINER_OF(cq, struct rnic_verbs_cq, cq_ex);
}

/* Takes the next completion: 0, ENOENT when there is none, or another errno. */
static int take_next(struct rnic_verbs_cq *cq)
{
	int taken = rnic_poll_cq(cq->native, 1, &cq->current);

	if (taken <= 0)
		return taken == 0 ? ENOENT : rnic_verbs_errno(taken);
	cq->cq_ex.status = (enum ibv_wc_status)cq->current.status;
	cq->cq_ex.wr_id = cq->current.wr_id;
	return 0;
}

/* A program that promised to use the queue from one thread takes no lock. */
static void verbs_cq_ex_hold(struct rnic_verbs_cq *cq)
{
	if (!cq->is_single_threaded)
		pthread_mutex_lock(&cq->cq_ex.mutex);
}

static void verbs_cq_ex_let_go(struct rnic_verbs_cq *cq)
{
	if (!cq->is_single_threaded)
		pthread_mutex_unlock(&cq->cq_ex.mutex);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

/* The difference is surely from `least` on and at most `most`. */
struct clocks_look {
	int64_t least, most;
};

static struct clocks_look look_at_clocks(void)
{
	const int64_t before = clock_ns(CLOCK_MONOTONIC);
	const int64_t wall = clock_ns(CLOCK_REALTIME);

	return (struct clocks_look){wall - clock_ns(CLOCK_MONOTONIC), wall - before};
}

static bool agrees_with(int64_t apart_ns, struct clocks_look look)
{
	return apart_ns >= look.least && apart_ns - look.most < CLOCK_SET_BACK_NS;
}

/*
 * The known difference as long as the clocks agree with it: a new one would differ by the time
 * between the looks at both clocks, and might turn the time back.
 */
static int64_t compare_clocks(void)
{
	int64_t known = atomic_load(&clocks_apart_ns);
	struct clocks_look look = look_at_clocks();
	int64_t apart_ns = look.least;

	if (known != CLOCKS_NEVER_LOOKED_AT && agrees_with(known, look))
		return known;
	for (int i = 1; i < CLOCK_LOOKS; i++) {
		look = look_at_clocks();
		if (look.least > apart_ns)
			apart_ns = look.least;
	}
	return atomic_compare_exchange_strong(&clocks_apart_ns, &known, apart_ns) ? apart_ns
										  : known;
}

/* No end follows a start that fails. */
static int start_poll(struct ibv_cq_ex *ibv, struct ibv_poll_cq_attr *attributes)
{
	struct rnic_verbs_cq *cq = verbs_cq_ex_from_ex(ibv);
	int error;

	if (attributes->comp_mask != 0)
		return rnic_verbs_errno(-EINVAL);
	verbs_cq_ex_hold(cq);
	if (cq->has_wall_clock)
		cq->clocks_apart_ns = compare_clocks();
	error = take_next(cq);
	if (error != 0)
		verbs_cq_ex_let_go(cq);
	return error;
}

static int next_poll(struct ibv_cq_ex *cq)
{
	return take_next(verbs_cq_ex_from_ex(cq));
}

static void end_poll(struct ibv_cq_ex *cq)
{
	verbs_cq_ex_let_go(verbs_cq_ex_from_ex(cq));
}

static enum ibv_wc_opcode verbs_cq_ex_read_opcode(struct ibv_cq_ex *cq)
{
	return (enum ibv_wc_opcode)verbs_cq_ex_from_ex(cq)->current.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
	return verbs_cq_ex_from_ex(cq)->current.vendor_error;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
	return verbs_cq_ex_from_ex(cq)->current.byte_count;
}

/* Serves ibv_wc_read_invalidated_rkey() too, which wants it in host order. */
static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
	const struct rnic_completion *current = &verbs_cq_ex_from_ex(cq)->current;

	return (current->wc_flags & RNIC_WC_WITH_INVALIDATE) != 0 ? current->immediate
								  : htonl(current->immediate);
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
	return verbs_cq_ex_from_ex(cq)->current.qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
	return verbs_cq_ex_from_ex(cq)->current.source_qpn;
}

static unsigned read_wc_flags(struct ibv_cq_ex *cq)
{
	return verbs_cq_ex_from_ex(cq)->current.wc_flags;
}

/* RoCE has no LIDs. */
static uint32_t read_slid(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
	return verbs_cq_ex_from_ex(cq)->current.service_level;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cq)
{
	return verbs_cq_ex_from_ex(cq)->current.timestamp_ns;
}

/*
 * Somebody may have set the wall clock since. What counts is the time that the clock would have
 * shown then.
 */
static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ibv)
{
	const struct rnic_verbs_cq *cq = verbs_cq_ex_from_ex(ibv);

	return cq->current.timestamp_ns + (uint64_t)cq->clocks_apart_ns;
}

/* VLANs, flow tags and tag matching are never there. A program that asks anyway gets nothing. */
static uint16_t read_cvlan(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint32_t read_flow_tag(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static void read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *info)
{
	(void)cq;
	*info = (struct ibv_wc_tm_info){0};
}

static void fill_ops(struct ibv_cq_ex *cq)
{
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = verbs_cq_ex_read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_qp_num = read_qp_num;
	cq->read_src_qp = read_src_qp;
	cq->read_wc_flags = read_wc_flags;
	cq->read_slid = read_slid;
	cq->read_sl = read_sl;
	cq->read_dlid_path_bits = read_dlid_path_bits;
	cq->read_cvlan = read_cvlan;
	cq->read_flow_tag = read_flow_tag;
	cq->read_tm_info = read_tm_info;
	cq->read_completion_ts = read_completion_ts;
	cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

/*
 * The device refuses IGNORE_OVERRUN: here an entry beyond the end of a full queue is an error and
 * never overwrites another entry.
 */
struct ibv_cq_ex *rnic_verbs_create_cq_ex(struct ibv_context *context,
					  struct ibv_cq_init_attr_ex *attributes)
{
	const uint32_t flags =
		(attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? attributes->flags : 0;
	struct ibv_cq *cq;

	if ((attributes->wc_flags & ~(uint64_t)SERVED_WC_FLAGS) != 0 ||
	    (attributes->comp_mask & ~(uint32_t)SERVED_ATTRIBUTES) != 0 ||
	    (flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0)
		return rnic_verbs_null(EOPNOTSUPP);
	if (attributes->cqe > INT32_MAX || attributes->comp_vector > INT32_MAX ||
	    ((attributes->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0 &&
	     (attributes->parent_domain == NULL || attributes->parent_domain->context != context)))
		return rnic_verbs_null(EINVAL);
	cq = rnic_verbs_create_cq(
		context, (int)attributes->cqe, attributes->cq_context, attributes->channel,
		(int)attributes->comp_vector,
		(attributes->wc_flags & (uint64_t)TIMESTAMP_FLAGS) != 0 ? RNIC_CQ_TIMESTAMPS : 0);
	if (cq == NULL)
		return NULL;
	rnic_verbs_cq(cq)->is_single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
	rnic_verbs_cq(cq)->has_wall_clock =
		(attributes->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0;
	fill_ops(&rnic_verbs_cq(cq)->cq_ex);
	return &rnic_verbs_cq(cq)->cq_ex;
}

/* Every completion of an armed queue raises its event at once: moderation can only be off. */
int rnic_verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attributes)
{
	const int error = rnic_verbs_check_cq(cq);

	if (error != 0)
		return rnic_verbs_errno(error);
	if (attributes->attr_mask != IBV_CQ_ATTR_MODERATE)
		return rnic_verbs_errno(-EINVAL);
	if (attributes->moderate.cq_count > 1 || attributes->moderate.cq_period != 0)
		return rnic_verbs_errno(-EOPNOTSUPP);
	return 0;
}
