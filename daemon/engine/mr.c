/* SPDX-License-Identifier: MIT */
#include "engine/mr.h"

#include "base/checked.h"
#include "engine/engine.h"

#include <errno.h>
#include <stddef.h>

int mr_register(struct engine *engine, struct mr *mr)
{
	uint32_t index;
	int error;

	if (engine->mrs.count >= engine->config.max_mrs)
		return -ENOSPC;
	error = key_table_insert_random(&engine->mrs, &engine->prng, mr, &index);
	if (error != 0)
		return error;
	mr->key = index << 8 | (uint32_t)prng_below(&engine->prng, 256);
	mr->pd->references++;
	return 0;
}

void mr_change(struct engine *engine, struct mr *mr, const struct mr *wanted)
{
	const uint32_t key = mr->key;

	settle_run(engine);
	mr->pd->references--;
	*mr = *wanted;
	mr->key = key;
	mr->pd->references++;
}

void mr_deregister(struct engine *engine, struct mr *mr)
{
	settle_run(engine);
	key_table_remove(&engine->mrs, mr->key >> 8);
	mr->pd->references--;
}

struct mr *mr_find(struct engine *engine, uint32_t key, const struct pd *pd, uint32_t access,
		   uint64_t address, uint64_t length, uint64_t *offset)
{
	struct mr *mr = key_table_find(&engine->mrs, key >> 8);

	if (mr == NULL || mr->key != key || mr->pd != pd || (mr->access & access) != access)
		return NULL;
	if (address < mr->iova || !rnic_range_within(address - mr->iova, length, mr->length))
		return NULL;
	*offset = mr->region_offset + (address - mr->iova);
	return mr;
}
