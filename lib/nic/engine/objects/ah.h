/* SPDX-License-Identifier: MIT */
/*
 * Address handles: where a datagram goes, bound to a protection domain (IBTA 1.4, 11.2.2).
 *
 * The caller of ah_init() owns the struct. A WQE copies the path when the WQE is posted: a handle
 * may go while WQEs that were posted with the handle still wait.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_AH_H
#define LIB_NIC_ENGINE_OBJECTS_AH_H

#include "lib/nic/engine/objects/pd.h"
#include "proto/base/verbs_types.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;

struct ah {
	struct pd *pd;
	struct rnic_path path;
};

/*
 * Whether packets can be sent along `path`: a global address, a source address of ours, our one
 * port, and a destination of the same IP version. The destination may be a multicast group when
 * `may_be_multicast` is set.
 */
bool ah_path_is_usable(const struct engine *engine, const struct rnic_path *path,
		       bool may_be_multicast);

/* Says for people why it is not usable. */
void ah_path_refusal(const struct engine *engine, const struct rnic_path *path, char *text,
		     uint32_t text_bytes);

/* Sets up `ah` and references `pd`. -EINVAL for a path that is not usable. */
int ah_init(struct engine *engine, struct ah *ah, struct pd *pd, const struct rnic_path *path);

void ah_fini(struct ah *ah);

#endif
