/* SPDX-License-Identifier: MIT */
/* Posts: buffers filled at random, a work entry for the engine, a model for the oracle. */
#include "lib/nic/engine/reliability/credits.h"
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (64 * 1024)

struct sim_chunk {
	struct sim_chunk *next;
	size_t used;
	_Alignas(8) uint8_t bytes[CHUNK_BYTES];
};

void *sim_keep(struct sim *sim, size_t bytes)
{
	struct sim_chunk *chunk = sim->chunks;
	void *memory;

	bytes = (bytes + 7) & ~(size_t)7;
	if (chunk == NULL || CHUNK_BYTES - chunk->used < bytes) {
		chunk = malloc(sizeof(*chunk));
		if (chunk == NULL || bytes > CHUNK_BYTES)
			abort();
		chunk->next = sim->chunks;
		chunk->used = 0;
		sim->chunks = chunk;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += bytes;
	return memory;
}

void sim_posts_free(struct sim *sim)
{
	while (sim->chunks != NULL) {
		struct sim_chunk *next = sim->chunks->next;

		free(sim->chunks);
		sim->chunks = next;
	}
}

static struct span must_allocate(struct sim *sim, struct sim_host *host, uint32_t bytes,
				 uint32_t align)
{
	struct span span = sim_memory_allocate(&host->memory, &sim->prng, bytes, align);

	if (span.offset == UINT64_MAX)
		abort();
	return span;
}

/* Cuts `bytes` into `count` pieces at random places of the host's arena. */
struct span *sim_allocate_pieces(struct sim *sim, struct sim_host *host, uint32_t bytes,
				 uint32_t count, uint32_t align)
{
	struct span *pieces = sim_keep(sim, count * sizeof(*pieces));

	for (uint32_t i = 0; i < count; i++) {
		uint32_t rest = count - i - 1;
		uint32_t length = bytes;

		if (rest != 0)
			length = (uint32_t)prng_below(&sim->prng, 2 * (bytes / (rest + 1)) + 1);
		if (length > bytes)
			length = bytes;
		pieces[i] = must_allocate(sim, host, length, align);
		bytes -= length;
	}
	return pieces;
}

static void fill_sges(const struct mr *mr, const struct span *pieces, uint32_t count,
		      struct rnic_sge *sges)
{
	for (uint32_t i = 0; i < count; i++)
		sges[i] = (struct rnic_sge){
			.address = mr->iova + pieces[i].offset,
			.length = pieces[i].length,
			.lkey = mr->key,
		};
}

static bool is_atomic(uint8_t opcode)
{
	return opcode == RNIC_WR_ATOMIC_COMPARE_SWAP || opcode == RNIC_WR_ATOMIC_FETCH_ADD;
}

static bool has_remote(uint8_t opcode)
{
	return is_atomic(opcode) || opcode == RNIC_WR_RDMA_READ || opcode == RNIC_WR_RDMA_WRITE ||
	       opcode == RNIC_WR_RDMA_WRITE_WITH_IMM || opcode == RNIC_WR_FLUSH ||
	       opcode == RNIC_WR_ATOMIC_WRITE;
}

static bool remote_key_grants(const struct sim_post *post)
{
	switch (post->remote_key) {
	case SIM_KEY_ALL:
	case SIM_KEY_PATTERN:
		return true;
	case SIM_KEY_NO_ATOMIC:
		return !is_atomic(post->opcode) && post->opcode != RNIC_WR_FLUSH;
	case SIM_KEY_READ_ONLY:
		return post->opcode == RNIC_WR_RDMA_READ;
	default:
		return false;
	}
}

static bool local_key_grants(const struct sim_post *post)
{
	bool is_written = post->opcode == RNIC_WR_RDMA_READ || is_atomic(post->opcode);

	return post->local_key != SIM_KEY_OTHER_PD && post->local_key != SIM_KEY_STALE &&
	       !(is_written && post->local_key == SIM_KEY_READ_ONLY);
}

/* Bits of the statuses that a work can have by itself: one, unless two things are wrong with it. */
static uint32_t legal_statuses(const struct sim_post *post, uint8_t type)
{
	uint32_t legal = 0;

	if (post->bytes == 0 && post->opcode != RNIC_WR_FLUSH)
		return STATUS_BIT(RNIC_WC_SUCCESS);
	if (post->bytes > 0 && !post->inlined && !local_key_grants(post))
		return STATUS_BIT(RNIC_WC_LOC_PROT_ERR);
	if (type != RNIC_QP_TYPE_RC && type != RNIC_QP_TYPE_XRC_INITIATOR)
		return STATUS_BIT(
			RNIC_WC_SUCCESS); /* dropped at the peer when the peer refuses it */
	if (has_remote(post->opcode) && (post->beyond_end || !remote_key_grants(post)))
		legal |= STATUS_BIT(RNIC_WC_REM_ACCESS_ERR);
	if ((is_atomic(post->opcode) || post->opcode == RNIC_WR_ATOMIC_WRITE) && post->misaligned)
		legal |= STATUS_BIT(RNIC_WC_REM_INV_REQ_ERR);
	return legal != 0 ? legal : STATUS_BIT(RNIC_WC_SUCCESS);
}

static void model_atomic(struct sim *sim, struct sim_qp *qp, struct model_work *model,
			 struct send_wqe *wqe, bool is_executed)
{
	uint64_t value = qp->end.atomic_value;

	wqe->atomic.swap_or_add = prng_next(&sim->prng);
	wqe->atomic.compare = prng_below(&sim->prng, 3) == 0 ? ~value : value;
	model->atomic_original = value;
	if (model->opcode == RNIC_WR_ATOMIC_FETCH_ADD)
		value += wqe->atomic.swap_or_add;
	else if (wqe->atomic.compare == value)
		value = wqe->atomic.swap_or_add;
	model->atomic_result = value;
	if (is_executed)
		qp->end.atomic_value = value;
}

static void model_local(struct sim *sim, struct sim_qp *qp, const struct sim_post *post,
			struct model_work *model)
{
	uint32_t count = post->sges != 0 ? post->sges : 1;

	if (post->pattern) {
		model->pieces = sim_keep(sim, sizeof(*model->pieces));
		model->pieces[0] = (struct span){0, post->bytes};
		model->piece_count = 1;
	} else if (post->inlined) {
		uint8_t *bytes = sim_keep(sim, post->bytes);

		for (uint32_t i = 0; i < post->bytes; i++)
			bytes[i] = (uint8_t)prng_next(&sim->prng);
		model->inline_bytes = bytes;
	} else {
		model->pieces = sim_allocate_pieces(sim, qp->host, post->bytes, count,
						    is_atomic(post->opcode) ? 8 : 1);
		model->piece_count = (uint8_t)count;
	}
}

static void model_remote(struct sim *sim, struct sim_qp *qp, const struct sim_post *post,
			 struct model_work *model)
{
	if (post->pattern)
		model->remote = (struct span){0, post->bytes};
	else if (is_atomic(post->opcode))
		model->remote = qp->end.atomic_word;
	else if (post->hot || post->opcode == RNIC_WR_FLUSH)
		model->remote = qp->end.hot;
	else if (has_remote(post->opcode) && !model->is_window_access)
		model->remote = must_allocate(sim, qp->peer->host, post->bytes,
					      post->opcode == RNIC_WR_ATOMIC_WRITE ? 8 : 1);
}

/*
 * What a READ beyond the end of its region may bring when it goes as one request for each packet:
 * all packets before the one with the byte beyond the end. Programs leave the end of the arena
 * free, so its bytes stay as they are.
 */
static struct span granted_range(const struct sim_qp *qp, const struct sim_post *post)
{
	struct span range;

	if (post->opcode != RNIC_WR_RDMA_READ || !post->beyond_end || post->pattern ||
	    post->window || post->bytes == 0 || !remote_key_grants(post) || !local_key_grants(post))
		return (struct span){0};
	range = sim_memory_end(&qp->peer->host->memory, post->bytes - 1);
	if (range.offset == UINT64_MAX)
		abort();
	range.length -= range.length % qp->qp->path_mtu_bytes;
	return range;
}

static uint8_t flags_of(const struct sim_post *post, bool signal_all)
{
	return (uint8_t)((post->unsignaled && !signal_all ? 0 : RNIC_SEND_SIGNALED) |
			 (post->fence ? RNIC_SEND_FENCE : 0) |
			 (post->solicited ? RNIC_SEND_SOLICITED : 0) |
			 (post->inlined ? RNIC_SEND_INLINE : 0));
}

static uint64_t remote_address(const struct sim_qp *qp, const struct sim_post *post,
			       const struct model_work *model)
{
	const struct mr *mr =
		&qp->peer->host->mrs[post->window ? SIM_KEY_WINDOWS : post->remote_key];

	if (post->beyond_end)
		return mr->iova + mr->length - model->bytes + 1;
	return mr->iova + model->remote.offset + (post->misaligned ? 4 : 0);
}

static bool has_window(const struct sim_post *post)
{
	return post->window || post->opcode == RNIC_WR_SEND_WITH_INVALIDATE;
}

static void set_flush(const struct sim_qp *qp, struct send_wqe *wqe)
{
	wqe->flush.length = qp->end.hot.length;
	wqe->flush.type = RNIC_FLUSH_GLOBAL;
}

uint32_t sim_post_with(struct sim_qp *qp, const struct sim_post *given)
{
	struct sim *sim = qp->sim;
	struct sim_post post = *given;
	bool is_right;
	struct rnic_sge sges[LIMIT_SGES];
	struct model_work *model;
	struct send_wqe wqe = {.opcode = post.opcode};

	if (qp->is_dead || send_queue_space(&qp->qp->send_queue) == 0)
		return SIM_REFUSED;
	if (is_atomic(post.opcode) || post.opcode == RNIC_WR_ATOMIC_WRITE)
		post.bytes = 8;
	if (post.opcode == RNIC_WR_FLUSH)
		post.bytes = 0;
	if (post.hot)
		post.bytes = qp->end.hot.length;
	if (post.pattern)
		post.local_key = post.remote_key = SIM_KEY_PATTERN;
	model = oracle_add_work(&qp->end);
	model->opcode = post.opcode;
	model->bytes = post.bytes;
	model->is_hot = post.hot;
	model->is_pattern = post.pattern;
	model->legal = legal_statuses(&post, qp->connection.type);
	model->immediate = (uint32_t)prng_next(&sim->prng);
	if (has_window(&post) && !sim_window_access(qp, &post, model)) {
		qp->end.work_count--;
		return SIM_REFUSED;
	}
	model->flags = flags_of(&post, qp->connection.signal_all);
	is_right = (model->legal & STATUS_BIT(RNIC_WC_SUCCESS)) != 0;
	model_local(sim, qp, &post, model);
	model_remote(sim, qp, &post, model);
	model->granted = granted_range(qp, &post);
	if (is_atomic(post.opcode))
		model_atomic(sim, qp, model, &wqe, is_right);
	if (!is_right)
		qp->peer->end.may_stop = true;
	wqe.wr_id = qp->end.work_count - 1;
	wqe.immediate = model->immediate;
	wqe.length = post.bytes;
	wqe.flags = model->flags;
	wqe.sge_count = model->piece_count;
	wqe.rkey =
		post.window ? qp->peer->end.window.key : qp->peer->host->mrs[post.remote_key].key;
	wqe.remote_address = remote_address(qp, &post, model);
	if (post.opcode == RNIC_WR_FLUSH)
		set_flush(qp, &wqe);
	wqe.srqn = qp->peer->host->xrc_srq.srq->number;
	if (qp->connection.type == RNIC_QP_TYPE_UD) {
		wqe.datagram.ah = &qp->ah;
		wqe.datagram.remote_qpn = qp->peer->qp->qpn;
		wqe.datagram.remote_qkey = qp->peer->qp->attributes.qkey;
	}
	fill_sges(&qp->host->mrs[post.local_key], model->pieces, model->piece_count, sges);
	qp_post_send(qp->qp, &wqe, sges, model->inline_bytes);
	qp->host->is_dirty = true;
	return (uint32_t)wqe.wr_id;
}

uint32_t sim_receive_with(struct sim_qp *qp, const struct sim_receive_post *post)
{
	struct sim *sim = qp->sim;
	uint32_t count = post->sges != 0 ? post->sges : 1;
	struct model_receive *model;
	bool is_writable = post->key == SIM_KEY_ALL || post->key == SIM_KEY_NO_ATOMIC ||
			   post->key == SIM_KEY_LOCAL_ONLY;
	struct sim_receive *receive;

	if (qp->is_dead)
		return SIM_REFUSED;
	model = oracle_add_receive(&qp->end);
	model->bytes = post->bytes;
	model->legal = STATUS_BIT(RNIC_WC_SUCCESS);
	if (!is_writable) {
		model->legal |= STATUS_BIT(RNIC_WC_LOC_PROT_ERR);
		sim_may_fail(qp->peer, RNIC_WC_REM_OP_ERR);
	}
	if (post->pattern) {
		model->pieces = sim_keep(sim, sizeof(*model->pieces));
		model->pieces[0] = (struct span){0, post->bytes};
	} else {
		model->pieces = sim_allocate_pieces(
			sim, qp->host, post->bytes + oracle_header_bytes(&qp->end), count, 1);
	}
	model->piece_count = count;
	if (qp->ring_posted == qp->ring_capacity) {
		qp->ring_capacity = 2 * qp->ring_capacity + 16;
		qp->ring = realloc(qp->ring, qp->ring_capacity * sizeof(*qp->ring));
		if (qp->ring == NULL)
			abort();
	}
	receive = &qp->ring[qp->ring_posted++];
	receive->sge_count = count;
	fill_sges(&qp->host->mrs[post->pattern ? SIM_KEY_PATTERN : post->key], model->pieces, count,
		  receive->sges);
	if (qp->qp->state == RNIC_QP_STATE_ERR)
		qp_flush_receives(qp->qp);
	if (qp->is_watched) {
		qp->is_watched = !credits_posted(&qp->host->engine, qp->qp);
		qp->host->is_dirty = true;
	}
	return qp->ring_posted - 1;
}
