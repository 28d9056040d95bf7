/* SPDX-License-Identifier: MIT */
/*
 * Protection domains: an identity that MRs, MWs, QPs and AHs share, and a count of those objects.
 *
 * Clients that share a domain have a struct pd each, so that no client can keep the objects of
 * another from ending, and none depends on another that ends. Their keys and queue pairs go
 * together as if the domain were one. Only memory windows stay within one struct pd, since a region
 * cannot end before the windows bound to it.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_PD_H
#define LIB_NIC_ENGINE_OBJECTS_PD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the struct pds of one domain have in common; the owner of the last of them owns this too. */
struct pd_share {
	uint32_t holders;
};

struct pd {
	uint32_t references;	/* MRs, MWs, QPs and AHs that name it */
	bool has_no_memory;	/* the owner has gone, and with it what the keys name */
	bool is_closed;		/* and nobody reaches the domain's queue pairs any more */
	struct pd_share *share; /* NULL: with nobody */
};

static inline void pd_close(struct pd *pd)
{
	pd->has_no_memory = true;
	pd->is_closed = true;
}

static inline bool pd_is_same(const struct pd *one, const struct pd *other)
{
	return one == other ||
	       (one != NULL && other != NULL && one->share != NULL && one->share == other->share);
}

#endif
