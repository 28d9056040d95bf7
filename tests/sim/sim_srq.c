/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_srq.h"

#include "tests/sim/recv_room_copy.h"
#include "tests/sim/sim.h"

#include <stdlib.h>

#define SGES	     2
#define HEADER_BYTES 40 /* room for the header that UD puts before a message */

static int create(struct sim_host *host, bool is_xrc, struct sim_srq *shared)
{
	const struct srq_config config = {
		.pd = &host->pd,
		.xrcd = is_xrc ? &host->xrcd : NULL,
		.cq = is_xrc ? &host->xrc_cq : NULL,
		.max_wr = LIMIT_WR_DEPTH,
		.max_sge = SGES,
		.user = host,
	};

	shared->pushed = shared->posted;
	return srq_create(&host->engine, &config, &shared->srq);
}

int sim_srq_start(struct sim_host *host)
{
	int error;

	xrcd_init(&host->xrcd);
	error = create(host, false, &host->srq);
	return error != 0 ? error : create(host, true, &host->xrc_srq);
}

void sim_srq_stop(struct sim_host *host)
{
	srq_destroy(host->srq.srq);
	srq_destroy(host->xrc_srq.srq);
	xrcd_fini(&host->xrcd);
}

struct sim_srq *sim_srq_of(struct sim_host *host, const struct recv_queue *queue)
{
	if (queue == &host->srq.srq->queue)
		return &host->srq;
	return queue == &host->xrc_srq.srq->queue ? &host->xrc_srq : NULL;
}

uint32_t sim_srq_refill(struct sim_srq *shared, const struct recv_room *room)
{
	uint32_t filled = 0;

	while (shared->pushed < shared->posted && filled < room->count) {
		const struct sim_shared_receive *from = &shared->receives[shared->pushed];
		const struct recv_wqe wqe = {
			.wr_id = shared->pushed++,
			.sge_count = from->receive.sge_count,
			.length = from->model.bytes + HEADER_BYTES,
		};

		recv_room_copy(room, filled++, &wqe, from->receive.sges);
	}
	return filled;
}

void sim_srq_complete(struct sim_host *host, struct sim_qp *qp, struct cqe *cqe)
{
	struct sim_srq *shared = sim_srq_of(host, &cqe->srq->queue);
	struct model_receive *receive;

	if (!qp->connection.is_shared || cqe->retired != 0 || cqe->wr_id >= shared->posted ||
	    shared->receives[cqe->wr_id].model.is_complete) {
		oracle_fail(host->oracle, "%s: a shared receive that is not to complete",
			    qp->end.name);
		return;
	}
	receive = oracle_add_receive(&qp->end);
	*receive = shared->receives[cqe->wr_id].model;
	shared->receives[cqe->wr_id].model.is_complete = true;
	cqe->wr_id = qp->end.receive_count - 1;
	cqe->retired = qp->end.receive_count;
}

void sim_srq_adopt(struct sim_host *host, const struct sim_srq *shared, uint32_t number)
{
	const struct model_receive *model;

	if (number >= shared->posted)
		return;
	model = &shared->receives[number].model;
	oracle_adopt(&host->memory, model->pieces, model->piece_count);
}

static void adopt_rest(struct sim_host *host, const struct sim_srq *shared)
{
	for (uint32_t i = 0; i < shared->posted; i++)
		if (!shared->receives[i].model.is_complete)
			sim_srq_adopt(host, shared, i);
}

void sim_srq_adopt_rest(struct sim_host *host)
{
	adopt_rest(host, &host->srq);
	adopt_rest(host, &host->xrc_srq);
}

static void post(struct sim *sim, struct sim_host *host, struct sim_srq *shared, uint32_t bytes)
{
	const struct mr *mr = &host->mrs[SIM_KEY_ALL];
	struct sim_shared_receive *entry;

	if (shared->posted == shared->capacity) {
		shared->capacity = 2 * shared->capacity + 16;
		shared->receives =
			realloc(shared->receives, shared->capacity * sizeof(*shared->receives));
		if (shared->receives == NULL)
			abort();
	}
	entry = &shared->receives[shared->posted++];
	*entry = (struct sim_shared_receive){
		.receive.sge_count = SGES,
		.model = {.bytes = bytes,
			  .piece_count = SGES,
			  .legal = STATUS_BIT(RNIC_WC_SUCCESS)},
	};
	entry->model.pieces = sim_allocate_pieces(sim, host, bytes + HEADER_BYTES, SGES, 1);
	for (uint32_t i = 0; i < SGES; i++)
		entry->receive.sges[i] = (struct rnic_sge){
			.address = mr->iova + entry->model.pieces[i].offset,
			.length = entry->model.pieces[i].length,
			.lkey = mr->key,
		};
}

void sim_receive_shared(struct sim *sim, uint32_t host, uint32_t bytes)
{
	post(sim, &sim->hosts[host], &sim->hosts[host].srq, bytes);
}

void sim_receive_xrc(struct sim *sim, uint32_t host, uint32_t bytes)
{
	post(sim, &sim->hosts[host], &sim->hosts[host].xrc_srq, bytes);
}
