/* SPDX-License-Identifier: MIT */
/* All flags of questions, memory, windows and domains. */
#include "tests/interop/verbs/refusals.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HALF	    (BYTES / 2)
#define REMOTE_ALL  (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define NEEDS_LOCAL (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
/* FLUSH_GLOBAL is of later headers; verbs_reports.c flushes. Bits 20 to 29 are hints. */
#define FLUSH_GLOBAL (1 << 8)
#define REGION_ACCESS                                                                              \
	(EVERY_RIGHT | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB |         \
	 FLUSH_GLOBAL | IBV_ACCESS_OPTIONAL_RANGE)
/* A window is for peers only; hardware ignores LOCAL_WRITE there too. */
#define WINDOW_ACCESS                                                                              \
	(REMOTE_ALL | IBV_ACCESS_LOCAL_WRITE | FLUSH_GLOBAL | IBV_ACCESS_OPTIONAL_RANGE)

/* ---- questions ---- */

static int query_device(struct bench *bench, uint64_t mask)
{
	const struct ibv_query_device_ex_input input = {.comp_mask = (uint32_t)mask};
	struct ibv_device_attr_ex found;

	return ibv_query_device_ex(bench->context, &input, &found);
}

static int query_clock(struct bench *bench, uint64_t mask)
{
	struct ibv_values_ex values = {.comp_mask = (uint32_t)mask};
	int error = ibv_query_rt_values_ex(bench->context, &values);

	if (error != 0)
		return error;
	return values.raw_clock.tv_sec != 0 || values.raw_clock.tv_nsec != 0 ? 0 : NOT_DONE;
}

static int query_gid(struct bench *bench, uint64_t flags)
{
	struct ibv_gid_entry found;

	return ibv_query_gid_ex(bench->context, 1, 0, &found, (uint32_t)flags);
}

static int query_gids(struct bench *bench, uint64_t flags)
{
	struct ibv_gid_entry found[256];
	ssize_t result = ibv_query_gid_table(bench->context, found, 256, (uint32_t)flags);

	return result < 0 ? (int)-result : NOT_DONE;
}

/* ---- regions ---- */

/* A request between the region, at the address, and the open region. */
static bool moves(struct bench *bench, const struct ibv_mr *mr, uint64_t address,
		  enum ibv_wr_opcode opcode, bool mr_is_local)
{
	const uint64_t open = (uintptr_t)bench->bytes;
	struct ibv_sge sge = {mr_is_local ? address : open, 8,
			      mr_is_local ? mr->lkey : bench->open->lkey};
	struct ibv_send_wr wr = {.opcode = opcode, .sg_list = &sge, .num_sge = 1};

	wr.wr.rdma.remote_addr = mr_is_local ? open : address;
	wr.wr.rdma.rkey = mr_is_local ? bench->open->rkey : mr->rkey;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = address;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = mr->rkey;
	}
	bench_connect(bench, bench->rc, REMOTE_ALL);
	return bench_run(bench, bench->rc, &wr) == IBV_WC_SUCCESS;
}

static bool is_bindable(struct bench *bench, struct ibv_mr *mr, uint64_t address)
{
	struct ibv_mw *mw = ibv_alloc_mw(bench->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {.mw = mw, .rkey = mw->rkey, .bind_info = {mr, address, 8, 0}},
	};
	int status;

	bench_connect(bench, bench->rc, REMOTE_ALL);
	status = bench_run(bench, bench->rc, &wr);
	ibv_dealloc_mw(mw);
	return status == IBV_WC_SUCCESS;
}

/* Whether the region grants what `access` says, from the address on, and nothing else. */
static int grants(struct bench *bench, struct ibv_mr *mr, uint64_t address, unsigned access)
{
	const unsigned found =
		(moves(bench, mr, address, IBV_WR_RDMA_READ, true) ? IBV_ACCESS_LOCAL_WRITE : 0U) |
		(moves(bench, mr, address, IBV_WR_RDMA_WRITE, false) ? IBV_ACCESS_REMOTE_WRITE
								     : 0U) |
		(moves(bench, mr, address, IBV_WR_RDMA_READ, false) ? IBV_ACCESS_REMOTE_READ : 0U) |
		(moves(bench, mr, address, IBV_WR_ATOMIC_FETCH_AND_ADD, false)
			 ? IBV_ACCESS_REMOTE_ATOMIC
			 : 0U) |
		(is_bindable(bench, mr, address) ? IBV_ACCESS_MW_BIND : 0U);

	return found == (access & EVERY_RIGHT) ? 0 : NOT_DONE;
}

/* The rights of a region with the flag, which its address follows. */
static int grants_at(struct bench *bench, struct ibv_mr *mr, unsigned access, uint64_t address)
{
	int result = errno;

	if (mr == NULL)
		return result;
	result = grants(bench, mr, (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : address, access);
	return ibv_dereg_mr(mr) == 0 ? result : NOT_DONE;
}

static unsigned with_local(uint64_t flags)
{
	return (unsigned)flags | ((flags & NEEDS_LOCAL) != 0 ? IBV_ACCESS_LOCAL_WRITE : 0U);
}

static int reg_mr(struct bench *bench, uint64_t flags)
{
	const unsigned access = with_local(flags);

	return grants_at(bench, ibv_reg_mr(bench->pd, bench->bytes, BYTES, access), access,
			 (uintptr_t)bench->bytes);
}

static int reg_mr_iova(struct bench *bench, uint64_t flags)
{
	const unsigned access = with_local(flags);

	return grants_at(bench, ibv_reg_mr_iova(bench->pd, bench->bytes, BYTES, BYTES, access),
			 access, BYTES);
}

static int reg_dmabuf(struct bench *bench, uint64_t flags)
{
	const unsigned access = with_local(flags);
	const int fd = memfd_create("buffer", MFD_CLOEXEC);
	int result = NOT_DONE;

	if (ftruncate(fd, BYTES) == 0)
		result = grants_at(
			bench, ibv_reg_dmabuf_mr(bench->pd, 0, BYTES, 2 * BYTES, fd, (int)access),
			access, 2 * BYTES);
	close(fd);
	return result;
}

static int reg_dm(struct bench *bench, uint64_t flags)
{
	const unsigned access = with_local(flags) | IBV_ACCESS_ZERO_BASED;

	return grants_at(bench, ibv_reg_dm_mr(bench->pd, bench->dm, 0, BYTES, access), access, 0);
}

/* The flags change place, domain and rights. The queue pair is of the old domain. */
static int rereg_mr(struct bench *bench, uint64_t flags)
{
	const bool has_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
	const bool has_place = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
	const unsigned before = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	const unsigned after = has_access ? IBV_ACCESS_REMOTE_READ : before;
	struct ibv_mr *mr = ibv_reg_mr(bench->pd, bench->bytes, HALF, (int)before);
	struct ibv_pd *pd = ibv_alloc_pd(bench->context);
	uint8_t *place = bench->bytes + (has_place ? HALF : 0);
	int result = ibv_rereg_mr(mr, (int)flags, pd, bench->bytes + HALF, HALF,
				  has_access ? (int)after : 0);

	if (result != 0)
		result = result == IBV_REREG_MR_ERR_INPUT ? errno : NOT_REFUSED;
	else if (mr->addr != place || (mr->pd == pd) != (flags == IBV_REREG_MR_CHANGE_PD))
		result = NOT_DONE;
	else
		result = grants(bench, mr, (uintptr_t)place, mr->pd == pd ? 0 : after);
	if (ibv_dereg_mr(mr) != 0 || ibv_dealloc_pd(pd) != 0)
		return NOT_DONE;
	return result;
}

static int advise_flags(struct bench *bench, uint64_t flags)
{
	struct ibv_sge sge = {(uintptr_t)bench->bytes, BYTES, bench->mr->lkey};

	return ibv_advise_mr(bench->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, (uint32_t)flags, &sge, 1);
}

/* Advice is heard where the key is looked up. */
static int advise(struct bench *bench, uint64_t advice)
{
	struct ibv_sge sge = {(uintptr_t)bench->bytes, BYTES, bench->mr->lkey};
	int error = ibv_advise_mr(bench->pd, (enum ib_uverbs_advise_mr_advice)advice, 0, &sge, 1);

	if (error != 0)
		return error;
	sge.lkey ^= 0x5500;
	error = ibv_advise_mr(bench->pd, (enum ib_uverbs_advise_mr_advice)advice, 0, &sge, 1);
	return error != 0 ? 0 : NOT_DONE;
}

/* ---- windows ---- */

static int alloc_mw(struct bench *bench, uint64_t type)
{
	struct ibv_mw *mw = ibv_alloc_mw(bench->pd, (enum ibv_mw_type)type);
	int error = errno;

	if (mw == NULL)
		return error;
	return mw->type == (enum ibv_mw_type)type && ibv_dealloc_mw(mw) == 0 ? 0 : NOT_DONE;
}

/* The queue pair is connected again afterwards. */
static bool reaches(struct bench *bench, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t address)
{
	const bool is_reached = bench_reaches(bench, opcode, rkey, address);

	if (!is_reached)
		bench_connect(bench, bench->rc, REMOTE_ALL);
	return is_reached;
}

/* A window of the open region with one right, which a queue pair in error does not lose. */
static int window_grants(struct bench *bench, const struct ibv_mw *mw, unsigned access)
{
	const uint64_t address =
		(access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : (uintptr_t)bench->bytes;

	for (unsigned i = 0; i < BENCH_WAYS; i++)
		if (reaches(bench, bench_ways[i].opcode, mw->rkey, address) !=
		    ((access & bench_ways[i].right) != 0))
			return NOT_DONE;
	return 0;
}

static int bind_type_1(struct bench *bench, uint64_t flags)
{
	struct ibv_mw *mw = ibv_alloc_mw(bench->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {bench->open, (uintptr_t)bench->bytes, BYTES, (unsigned)flags},
	};
	int result;

	bench_connect(bench, bench->rc, REMOTE_ALL);
	result = ibv_bind_mw(bench->rc, mw, &bind);
	if (result == 0)
		result = bench_wait(bench).status == IBV_WC_SUCCESS
				 ? window_grants(bench, mw, (unsigned)flags)
				 : EINVAL;
	return ibv_dealloc_mw(mw) == 0 ? result : NOT_DONE;
}

/* Of type 2: the window of a queue pair that was reset is lost, so that one way is tried. */
static int bind_type_2(struct bench *bench, uint64_t flags)
{
	struct ibv_mw *mw = ibv_alloc_mw(bench->pd, IBV_MW_TYPE_2);
	const unsigned access = (unsigned)flags;
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {.mw = mw,
			    .rkey = ibv_inc_rkey(mw->rkey),
			    .bind_info = {bench->open, (uintptr_t)bench->bytes, BYTES,
					  access == IBV_ACCESS_ZERO_BASED
						  ? access | IBV_ACCESS_REMOTE_READ
						  : access}},
	};
	const uint64_t address = access == IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)bench->bytes;
	const bool is_open = (access & (REMOTE_ALL | IBV_ACCESS_ZERO_BASED)) != 0;
	enum ibv_wr_opcode opcode = IBV_WR_RDMA_READ;
	int result;

	if (access == IBV_ACCESS_REMOTE_WRITE)
		opcode = IBV_WR_RDMA_WRITE;
	else if (access == IBV_ACCESS_REMOTE_ATOMIC)
		opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	bench_connect(bench, bench->rc, REMOTE_ALL);
	result = bench_run(bench, bench->rc, &wr);
	if (result == IBV_WC_SUCCESS)
		result = reaches(bench, opcode, wr.bind_mw.rkey, address) == is_open ? 0 : NOT_DONE;
	else
		result = EINVAL;
	return ibv_dealloc_mw(mw) == 0 ? result : NOT_DONE;
}

/* ---- device memory and domains ---- */

static int alloc_dm(struct bench *bench, struct ibv_alloc_dm_attr wanted)
{
	struct ibv_dm *dm = ibv_alloc_dm(bench->context, &wanted);
	int error = errno;

	if (dm == NULL)
		return error;
	return ibv_free_dm(dm) == 0 ? 0 : NOT_DONE;
}

static int alloc_dm_mask(struct bench *bench, uint64_t mask)
{
	return alloc_dm(bench,
			(struct ibv_alloc_dm_attr){.length = 64, .comp_mask = (uint32_t)mask});
}

/* It begins with a page: alignments up to that are kept. */
static int alloc_dm_alignment(struct bench *bench, uint64_t log)
{
	return alloc_dm(bench,
			(struct ibv_alloc_dm_attr){.length = 64, .log_align_req = (uint32_t)log});
}

static int alloc_td(struct bench *bench, uint64_t mask)
{
	struct ibv_td_init_attr wanted = {.comp_mask = (uint32_t)mask};
	struct ibv_td *td = ibv_alloc_td(bench->context, &wanted);
	int error = errno;

	if (td == NULL)
		return error;
	return ibv_dealloc_td(td) == 0 ? 0 : NOT_DONE;
}

/* The daemon makes the memory of queues, so that an allocator has nothing to do. */
static int parent_domain(struct bench *bench, uint64_t mask)
{
	struct ibv_parent_domain_init_attr wanted = {.pd = bench->pd, .comp_mask = (uint32_t)mask};
	struct ibv_pd *pd = ibv_alloc_parent_domain(bench->context, &wanted);
	int error = errno;

	if (pd == NULL)
		return error;
	return ibv_dealloc_pd(pd) == 0 ? 0 : NOT_DONE;
}

const struct flag_word flags_of_memory[] = {
	{"query_device_ex comp_mask", query_device, 0, 32, false},
	{"query_rt_values_ex comp_mask", query_clock, IBV_VALUES_MASK_RAW_CLOCK, 32, false},
	{"query_gid_ex flags", query_gid, 0, 32, false},
	{"query_gid_table flags", query_gids, 0, 32, false},
	{"reg_mr access", reg_mr, REGION_ACCESS, 31, false},
	{"reg_mr_iova access", reg_mr_iova, REGION_ACCESS, 31, false},
	{"reg_dmabuf_mr access", reg_dmabuf, REGION_ACCESS, 31, false},
	{"reg_dm_mr access", reg_dm, REGION_ACCESS, 31, false},
	{"rereg_mr flags", rereg_mr, 7, 31, false},
	{"advise_mr flags", advise_flags, IBV_ADVISE_MR_FLAG_FLUSH, 32, false},
	{"advise_mr advice", advise, 7, 32, true},
	{"alloc_mw type", alloc_mw, 1 << IBV_MW_TYPE_1 | 1 << IBV_MW_TYPE_2, 32, true},
	{"bind_mw access", bind_type_1, WINDOW_ACCESS, 32, false},
	{"BIND_MW access", bind_type_2, WINDOW_ACCESS | IBV_ACCESS_ZERO_BASED, 32, false},
	{"alloc_dm comp_mask", alloc_dm_mask, 0, 32, false},
	{"alloc_dm log_align_req", alloc_dm_alignment, 0x1fff, 64, true},
	{"alloc_td comp_mask", alloc_td, 0, 32, false},
	{"alloc_parent_domain comp_mask", parent_domain, 3, 32, false},
	{0},
};
