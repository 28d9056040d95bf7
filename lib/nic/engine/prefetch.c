/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/prefetch.h"

#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/qp_state.h"

#define PREFETCH_QPS_MIN    512 /* a level-2 cache of 1 MiB holds fewer, with their rings */
#define PREFETCH_LINE_BYTES 64

bool prefetch_is_worthwhile(const struct engine *engine)
{
	return engine->qps.count >= PREFETCH_QPS_MIN;
}

void prefetch_number(const struct engine *engine, uint32_t qpn)
{
	key_table_prefetch(&engine->qps, qpn);
}

void prefetch_qp(const struct engine *engine, uint32_t qpn)
{
	const char *qp = key_table_find(&engine->qps, qpn);

	if (qp == NULL)
		return;
	for (size_t i = 0; i < sizeof(struct qp); i += PREFETCH_LINE_BYTES)
		__builtin_prefetch(qp + i);
}

void prefetch_oldest_wqe(const struct engine *engine, uint32_t qpn)
{
	const struct qp *qp = key_table_find(&engine->qps, qpn);

	if (qp != NULL && qp->send_queue.slots > 0)
		__builtin_prefetch(send_queue_at(&qp->send_queue, qp->send_queue.retired));
}
