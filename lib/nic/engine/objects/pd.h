/* SPDX-License-Identifier: MIT */
/*
 * Protection domains: an identity that MRs, MWs, QPs and AHs share, and a count of who uses it.
 *
 * Clients that share a domain have a struct pd each, so that none can keep the objects of another
 * from ending, and none depends on another that ends: their keys and queue pairs go together as if
 * it were one. Only memory windows stay within one struct pd, since what they are bound to could
 * not end before them.
 */
#ifndef NIC_ENGINE_OBJECTS_PD_H
#define NIC_ENGINE_OBJECTS_PD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What those have in common that are one domain; the owner's of the last of them. */
struct pd_share {
	uint32_t holders;
};

struct pd {
	uint32_t references;	/* MRs, MWs, QPs and AHs that name it */
	bool is_closed;		/* its owner has gone: nobody reaches what is in it any more */
	struct pd_share *share; /* NULL: with nobody */
};

static inline bool pd_is_same(const struct pd *one, const struct pd *other)
{
	return one == other ||
	       (one != NULL && other != NULL && one->share != NULL && one->share == other->share);
}

#endif
