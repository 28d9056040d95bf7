/* SPDX-License-Identifier: MIT */
/*
 * Memory regions: a key, a range of addresses (iova), rights, and the client memory behind them.
 *
 * The caller of mr_register() owns struct mr and the client region; the engine keeps a pointer
 * until mr_deregister(). Keys are random: 24 bits name the region, the low 8 are a tag.
 */
#ifndef DAEMON_ENGINE_MR_H
#define DAEMON_ENGINE_MR_H

#include "engine/pd.h"
#include "mem/client_memory.h"

#include <stdint.h>

struct engine;

struct mr {
	struct pd *pd;
	struct client_region *region;
	uint64_t iova;
	uint64_t length;
	uint64_t region_offset; /* where `iova` lies in the region */
	uint32_t access;	/* enum rnic_access */
	uint32_t key;		/* lkey and rkey */
	void *user;		/* the owner's */
};

/* Gives `mr` (all members but `key` filled in by the caller) a key and makes it known. -ENOSPC. */
int mr_register(struct engine *engine, struct mr *mr);

/*
 * Makes `mr` what `wanted` is, but for its key: accesses from now on find that. Payload on its way
 * is put in place first.
 */
void mr_change(struct engine *engine, struct mr *mr, const struct mr *wanted);

/* Forgets the key: accesses from now on fail. Payload on its way is put in place first. */
void mr_deregister(struct engine *engine, struct mr *mr);

/*
 * The region that `key` names, if it belongs to `pd`, grants every right in `access` and covers
 * [address, address + length); else NULL. `*offset` is where `address` lies in mr->region. The
 * range check cannot wrap.
 */
struct mr *mr_find(struct engine *engine, uint32_t key, const struct pd *pd, uint32_t access,
		   uint64_t address, uint64_t length, uint64_t *offset);

#endif
