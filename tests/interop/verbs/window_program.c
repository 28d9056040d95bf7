/* SPDX-License-Identifier: MIT */
/*
 * One program with a queue pair on each of two RNICs, by <rnic/rnic.h>: memory windows of both
 * types, invalidation by either side, FLUSH and ATOMIC WRITE, from the work request to the wire and
 * back.
 *
 * usage: window_program SOCKET SOCKET
 */
#include <rnic/rnic.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES	   8192
#define TRIES	   2000000
#define ALL_ACCESS (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_FLUSH_GLOBAL)

struct side {
	struct rnic_context *context;
	struct rnic_pd *pd;
	struct rnic_cq *cq;
	struct rnic_qp *qp;
	struct rnic_mr *mr;
	uint8_t *memory;
	struct rnic_gid gid;
};

static void require(bool condition, const char *what, int line)
{
	if (condition)
		return;
	fprintf(stderr, "line %d: %s (last refusal: %s)\n", line, what, rnic_refusal_reason());
	exit(1);
}

#define REQUIRE(condition) require(condition, #condition, __LINE__)

/* --- set-up ---------------------------------------------------------------------------------- */

/* `access` is that of the memory, which peers reach only through windows unless it says else. */
static void open_side(struct side *side, const char *socket, uint32_t access)
{
	struct rnic_qp_options options = {
		.type = RNIC_QP_TYPE_RC,
		.capacities = {.max_send_wr = 16,
			       .max_recv_wr = 16,
			       .max_send_sge = 1,
			       .max_recv_sge = 1,
			       .max_inline_bytes = 8},
	};

	REQUIRE(rnic_open(socket, &side->context) == 0);
	REQUIRE(rnic_get_device_attributes(side->context)->max_mw > 0);
	REQUIRE(rnic_query_gid(side->context, 0, &side->gid, NULL) == 0);
	REQUIRE(rnic_alloc_pd(side->context, &side->pd) == 0);
	REQUIRE(rnic_create_cq(side->context, 64, NULL, 0, 0, NULL, &side->cq) == 0);
	side->memory = calloc(1, BYTES);
	REQUIRE(side->memory != NULL);
	REQUIRE(rnic_reg_mr(side->pd, side->memory, BYTES, (uintptr_t)side->memory,
			    access | RNIC_ACCESS_LOCAL_WRITE, &side->mr) == 0);
	options.send_cq = options.recv_cq = side->cq;
	REQUIRE(rnic_create_qp(side->pd, &options, &side->qp) == 0);
}

static void close_side(struct side *side)
{
	REQUIRE(rnic_destroy_qp(side->qp) == 0);
	REQUIRE(rnic_dereg_mr(side->mr) == 0);
	REQUIRE(rnic_destroy_cq(side->cq) == 0);
	REQUIRE(rnic_dealloc_pd(side->pd) == 0);
	rnic_close(side->context);
	free(side->memory);
}

static void connect_to(struct side *side, const struct side *peer)
{
	struct rnic_qp_attributes attributes = {
		.state = RNIC_QP_STATE_INIT,
		.access_flags = ALL_ACCESS,
		.port = 1,
		.path_mtu = 3,
		.dest_qpn = rnic_qp_number(peer->qp),
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.timeout = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.path = {.dest_gid = peer->gid, .port = 1, .is_global = 1, .hop_limit = 64},
	};

	REQUIRE(rnic_modify_qp(side->qp, &attributes,
			       RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_PKEY_INDEX | RNIC_QP_ATTR_PORT |
				       RNIC_QP_ATTR_ACCESS_FLAGS) == 0);
	attributes.state = RNIC_QP_STATE_RTR;
	REQUIRE(rnic_modify_qp(side->qp, &attributes,
			       RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_AV | RNIC_QP_ATTR_PATH_MTU |
				       RNIC_QP_ATTR_DEST_QPN | RNIC_QP_ATTR_RQ_PSN |
				       RNIC_QP_ATTR_MAX_DEST_RD_ATOMIC |
				       RNIC_QP_ATTR_MIN_RNR_TIMER) == 0);
	attributes.state = RNIC_QP_STATE_RTS;
	REQUIRE(rnic_modify_qp(side->qp, &attributes,
			       RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_TIMEOUT |
				       RNIC_QP_ATTR_RETRY_COUNT | RNIC_QP_ATTR_RNR_RETRY |
				       RNIC_QP_ATTR_SQ_PSN | RNIC_QP_ATTR_MAX_RD_ATOMIC) == 0);
}

/* --- work ------------------------------------------------------------------------------------ */

static struct rnic_completion wait_for(struct side *side)
{
	struct rnic_completion completion;
	int count = 0;

	for (uint32_t tries = 0; count == 0 && tries < TRIES; tries++)
		count = rnic_poll_cq(side->cq, 1, &completion);
	REQUIRE(count == 1);
	return completion;
}

static uint8_t run(struct side *side, const struct rnic_send_wr *wr)
{
	const struct rnic_send_wr *bad;
	struct rnic_send_wr signaled = *wr;

	signaled.flags |= RNIC_SEND_SIGNALED;
	REQUIRE(rnic_post_send(side->qp, &signaled, &bad) == 0);
	return wait_for(side).status;
}

static struct rnic_send_wr bind_of(const struct side *side, const struct rnic_mw *mw, uint8_t tag)
{
	return (struct rnic_send_wr){
		.opcode = RNIC_WR_BIND_MW,
		.remote_address = (uintptr_t)side->memory,
		.rkey = (rnic_mw_rkey(mw) & ~0xffU) | tag,
		.bind = {.mw = mw,
			 .mr = side->mr,
			 .length = 256,
			 .access = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ},
	};
}

/* WRITE or READ of 64 bytes between the peer's memory and ours, behind the first half of it. */
static uint8_t move(struct side *side, const struct side *peer, uint8_t opcode, uint32_t rkey)
{
	const struct rnic_sge sge = {(uintptr_t)side->memory + BYTES / 2, 64,
				     rnic_mr_lkey(side->mr)};
	const struct rnic_send_wr wr = {
		.opcode = opcode,
		.sge_list = &sge,
		.sge_count = 1,
		.remote_address = (uintptr_t)peer->memory,
		.rkey = rkey,
	};

	return run(side, &wr);
}

/* --- what is shown --------------------------------------------------------------------------- */

static void refusals(struct side *side)
{
	struct rnic_send_wr wr = {.opcode = RNIC_WR_BIND_MW};
	const struct rnic_send_wr *bad;
	struct rnic_mw *mw;

	REQUIRE(rnic_alloc_mw(side->pd, (enum rnic_mw_type)3, &mw) == -EINVAL);
	REQUIRE(rnic_alloc_mw(side->pd, RNIC_MW_TYPE_1, &mw) == 0);
	REQUIRE(rnic_dealloc_pd(side->pd) == -EBUSY);
	wr.bind.mw = NULL;
	REQUIRE(rnic_post_send(side->qp, &wr, &bad) == -EINVAL && bad == &wr);
	REQUIRE(rnic_dealloc_mw(mw) == 0);
}

static void type_1(struct side *side, struct side *peer)
{
	struct rnic_send_wr bind;
	struct rnic_mw *mw;

	REQUIRE(rnic_alloc_mw(side->pd, RNIC_MW_TYPE_1, &mw) == 0);
	bind = bind_of(side, mw, 1);
	REQUIRE(run(side, &bind) == RNIC_WC_SUCCESS);
	memset(peer->memory + BYTES / 2, 0x11, 64);
	REQUIRE(move(peer, side, RNIC_WR_RDMA_WRITE, bind.rkey) == RNIC_WC_SUCCESS);
	REQUIRE(side->memory[0] == 0x11 && side->memory[63] == 0x11 && side->memory[64] == 0);
	REQUIRE(rnic_dereg_mr(side->mr) == -EBUSY);
	REQUIRE(rnic_rereg_mr(side->mr, side->pd, side->memory, BYTES, 0,
			      RNIC_ACCESS_LOCAL_WRITE) == -EBUSY);
	bind.rkey++;
	bind.bind.mr = NULL;
	bind.bind.length = 0;
	REQUIRE(run(side, &bind) == RNIC_WC_SUCCESS);
	REQUIRE(rnic_dealloc_mw(mw) == 0);
}

static void post_receive(struct side *side)
{
	const struct rnic_recv_wr wr = {.wr_id = 77};
	const struct rnic_recv_wr *bad;

	REQUIRE(rnic_post_recv(side->qp, &wr, &bad) == 0);
}

static void type_2(struct side *side, struct side *peer, struct rnic_mw *mw, uint32_t *rkey)
{
	struct rnic_send_wr bind = bind_of(side, mw, 0x42);
	struct rnic_send_wr invalidate = {.opcode = RNIC_WR_SEND_WITH_INVALIDATE};
	struct rnic_completion completion;

	REQUIRE(run(side, &bind) == RNIC_WC_SUCCESS);
	memset(side->memory, 0x22, 64);
	REQUIRE(move(peer, side, RNIC_WR_RDMA_READ, bind.rkey) == RNIC_WC_SUCCESS);
	REQUIRE(peer->memory[BYTES / 2] == 0x22);
	post_receive(side);
	invalidate.immediate = bind.rkey;
	REQUIRE(run(peer, &invalidate) == RNIC_WC_SUCCESS);
	completion = wait_for(side);
	REQUIRE(completion.wr_id == 77 && completion.status == RNIC_WC_SUCCESS);
	REQUIRE(completion.wc_flags == RNIC_WC_WITH_INVALIDATE);
	REQUIRE(completion.immediate == bind.rkey);

	bind.rkey++;
	REQUIRE(run(side, &bind) == RNIC_WC_SUCCESS);
	REQUIRE(move(peer, side, RNIC_WR_RDMA_WRITE, bind.rkey) == RNIC_WC_SUCCESS);
	invalidate.opcode = RNIC_WR_LOCAL_INVALIDATE;
	invalidate.immediate = bind.rkey;
	REQUIRE(run(side, &invalidate) == RNIC_WC_SUCCESS);
	*rkey = bind.rkey;
}

/* Data, FLUSH, and a mark, posted together. */
static void flush(struct side *side, struct side *peer)
{
	const struct rnic_sge data = {(uintptr_t)peer->memory + BYTES / 2, 4096 - 64,
				      rnic_mr_lkey(peer->mr)};
	uint64_t mark = UINT64_C(0x1122334455667788);
	const struct rnic_sge mark_sge = {(uintptr_t)&mark, sizeof(mark), 0};
	struct rnic_send_wr wrs[4] = {
		{.opcode = RNIC_WR_RDMA_WRITE, .sge_list = &data, .sge_count = 1},
		{.opcode = RNIC_WR_FLUSH, .flush = {data.length, RNIC_FLUSH_GLOBAL}},
		{.opcode = RNIC_WR_FLUSH,
		 .flush = {0, RNIC_FLUSH_GLOBAL | RNIC_FLUSH_WHOLE_REGION}},
		{.opcode = RNIC_WR_ATOMIC_WRITE,
		 .flags = RNIC_SEND_INLINE,
		 .sge_list = &mark_sge,
		 .sge_count = 1},
	};
	const uint8_t completions[4] = {RNIC_WC_RDMA_WRITE, RNIC_WC_FLUSH, RNIC_WC_FLUSH,
					RNIC_WC_ATOMIC_WRITE};
	const struct rnic_send_wr *bad;

	memset(peer->memory + BYTES / 2, 0x33, data.length);
	for (uint32_t i = 0; i < 4; i++) {
		wrs[i].flags |= RNIC_SEND_SIGNALED;
		wrs[i].rkey = rnic_mr_rkey(side->mr);
		wrs[i].remote_address = (uintptr_t)side->memory + (i == 3 ? BYTES / 2 : 0);
		wrs[i].next = i < 3 ? &wrs[i + 1] : NULL;
	}
	REQUIRE(rnic_post_send(peer->qp, wrs, &bad) == 0);
	for (uint32_t i = 0; i < 4; i++) {
		const struct rnic_completion completion = wait_for(peer);

		REQUIRE(completion.status == RNIC_WC_SUCCESS);
		REQUIRE(completion.opcode == completions[i]);
	}
	REQUIRE(side->memory[0] == 0x33 && side->memory[data.length - 1] == 0x33);
	REQUIRE(memcmp(side->memory + BYTES / 2, &mark, sizeof(mark)) == 0);
}

int main(int argc, char **argv)
{
	struct side side, peer;
	struct rnic_mw *mw;
	uint32_t rkey;

	if (argc != 3) {
		fprintf(stderr, "usage: window_program SOCKET SOCKET\n");
		return 2;
	}
	open_side(&side, argv[1],
		  RNIC_ACCESS_MW_BIND | RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_FLUSH_GLOBAL);
	open_side(&peer, argv[2], 0);
	connect_to(&side, &peer);
	connect_to(&peer, &side);
	refusals(&side);
	type_1(&side, &peer);
	REQUIRE(rnic_alloc_mw(side.pd, RNIC_MW_TYPE_2, &mw) == 0);
	type_2(&side, &peer, mw, &rkey);
	flush(&side, &peer);
	/* The last, for it ends the connection. */
	REQUIRE(move(&peer, &side, RNIC_WR_RDMA_WRITE, rkey) == RNIC_WC_REM_ACCESS_ERR);
	REQUIRE(rnic_dealloc_mw(mw) == 0);
	close_side(&peer);
	close_side(&side);
	return 0;
}
