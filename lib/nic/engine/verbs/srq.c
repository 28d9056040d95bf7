/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verbs/srq.h"

#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/objects/cq.h"
#include "lib/nic/engine/objects/pd.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/objects/xrcd.h"
#include "lib/nic/engine/qp_state.h"
#include "lib/nic/engine/responder/responder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static int enter_domain(struct srq *srq)
{
	int error = xrcd_add_srq(srq->xrcd, srq);

	if (error == 0)
		srq->cq->references++;
	return error;
}

static void leave_domain(struct srq *srq)
{
	struct list *node;

	list_for_each (node, &srq->xrcd->targets)
		responder_forget_srq(list_entry(node, struct qp, domain_node), srq);
	xrcd_remove_srq(srq->xrcd, srq);
	srq->cq->references--;
}

int srq_create(struct engine *engine, const struct srq_config *config, struct srq **srq)
{
	struct srq *made;
	int error;

	if (config->max_wr == 0 || config->max_wr > LIMIT_WR_DEPTH || config->max_sge > LIMIT_SGES)
		return -EINVAL;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->engine = engine;
	made->pd = config->pd;
	made->xrcd = config->xrcd;
	made->cq = config->cq;
	made->max_wr = config->max_wr;
	made->max_sge = config->max_sge;
	made->user = config->user;
	error = recv_queue_init(&made->queue, config->max_sge);
	if (error != 0)
		goto free_made;
	error = key_table_insert_random(&engine->srqs, &engine->config.random, made, &made->number);
	if (error != 0)
		goto fini_queue;
	if (made->xrcd != NULL)
		error = enter_domain(made);
	if (error != 0)
		goto remove_key;
	made->pd->references++;
	*srq = made;
	return 0;

remove_key:
	key_table_remove(&engine->srqs, made->number);
fini_queue:
	recv_queue_fini(&made->queue);
free_made:
	free(made);
	return error;
}

void srq_destroy(struct srq *srq)
{
	assert(srq->references == 0);
	/* Completions that wait speak of it. */
	placement_run(srq->engine);
	if (srq->xrcd != NULL)
		leave_domain(srq);
	key_table_remove(&srq->engine->srqs, srq->number);
	srq->pd->references--;
	recv_queue_fini(&srq->queue);
	free(srq);
}

int srq_check_size(const struct srq *srq, uint32_t max_wr, uint32_t limit)
{
	if (max_wr == 0 || max_wr > LIMIT_WR_DEPTH || limit > max_wr)
		return -EINVAL;
	return max_wr < srq->max_wr && srq_waiting(srq) > max_wr ? -EINVAL : 0;
}

void srq_set_size(struct srq *srq, uint32_t max_wr)
{
	srq->max_wr = max_wr;
}
