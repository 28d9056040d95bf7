/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/mr.h"

#include "lib/nic/engine/engine_state.h"
#include "lib/nic/engine/objects/placement.h"
#include "lib/nic/engine/objects/qp_record.h"
#include "proto/base/checked.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

int mr_register(struct engine *engine, struct mr *mr)
{
	uint32_t index;
	int error;

	assert(mr->bound_windows == 0);
	if (engine->mrs.count >= engine->config.max_mrs)
		return -ENOSPC;
	error = key_table_insert_random(&engine->mrs, &engine->config.random, mr, &index);
	if (error != 0)
		return error;
	mr->key = index << 8 | (uint32_t)random_source_below(&engine->config.random, 256);
	mr->pd->references++;
	return 0;
}

void mr_change(struct engine *engine, struct mr *mr, const struct mr *wanted)
{
	const uint32_t key = mr->key;

	assert(mr->bound_windows == 0 && wanted->bound_windows == 0);
	placement_run(engine);
	mr->pd->references--;
	*mr = *wanted;
	mr->key = key;
	mr->pd->references++;
}

void mr_deregister(struct engine *engine, struct mr *mr)
{
	assert(mr->bound_windows == 0);
	placement_run(engine);
	/* The end of a program is recorded with its queue pairs. */
	if (!mr->pd->is_closed)
		engine_record_region_end(engine, mr->key);
	key_table_remove(&engine->mrs, mr->key >> 8);
	mr->pd->references--;
}

static struct mr *mr_refuse(struct engine *engine, enum mr_fault fault, uint32_t key)
{
	engine->refusal = (struct mr_refusal){.fault = fault, .key = key};
	return NULL;
}

/*
 * The region or window that `key` names, if it belongs to `pd` and grants every right in `access`.
 * A key of another domain counts as unknown: another refusal would tell which keys other clients
 * have.
 */
static struct mr *find(struct engine *engine, uint32_t key, const struct pd *pd, uint32_t access)
{
	struct mr *mr = key_table_find(&engine->mrs, key >> 8);

	if (mr == NULL || mr->key != key || !pd_is_same(mr->pd, pd) || mr->pd->has_no_memory)
		return mr_refuse(engine, MR_FAULT_KEY, key);
	if ((mr->access & access) == access)
		return mr;
	mr_refuse(engine, MR_FAULT_RIGHTS, key);
	engine->refusal.missing_access = access & ~mr->access;
	return NULL;
}

/* `mr`, when it covers the range. */
static struct mr *within(struct engine *engine, struct mr *mr, uint64_t address, uint64_t length,
			 uint64_t *offset)
{
	if (mr == NULL)
		return NULL;
	if (address < mr->iova || !rnic_range_within(address - mr->iova, length, mr->length)) {
		engine->refusal = (struct mr_refusal){
			.fault = MR_FAULT_RANGE,
			.key = mr->key,
			.address = address,
			.length = length,
			.region_address = mr->iova,
			.region_length = mr->length,
		};
		return NULL;
	}
	*offset = mr->region_offset + (address - mr->iova);
	return mr;
}

struct mr *mr_find(struct engine *engine, uint32_t key, const struct pd *pd, uint32_t access,
		   uint64_t address, uint64_t length, uint64_t *offset)
{
	struct mr *mr = find(engine, key, pd, access);

	if (mr != NULL && mr->window != NULL)
		return mr_refuse(engine, MR_FAULT_WINDOW, key);
	return within(engine, mr, address, length, offset);
}

/* Whether the peer of `qp`, a QP of the window's PD, may use the window with the range `mr`. */
static bool mr_window_is_open_to(const struct mr *mr, const struct qp *qp)
{
	return mr->region != NULL && (mr->window_qp == NULL || mr->window_qp == qp);
}

struct mr *mr_find_remote_whole(struct engine *engine, uint32_t key, const struct qp *qp,
				const struct pd *pd, uint32_t access)
{
	struct mr *mr = find(engine, key, pd, access);

	if (mr != NULL && mr->window != NULL && !mr_window_is_open_to(mr, qp))
		return mr_refuse(engine, MR_FAULT_WINDOW, key);
	return mr;
}

struct mr *mr_find_remote(struct engine *engine, uint32_t key, const struct qp *qp,
			  const struct pd *pd, uint32_t access, uint64_t address, uint64_t length,
			  uint64_t *offset)
{
	struct mr *mr = mr_find_remote_whole(engine, key, qp, pd, access);

	return within(engine, mr, address, length, offset);
}
