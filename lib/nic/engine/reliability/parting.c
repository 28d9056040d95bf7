/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/reliability/parting.h"

#include "lib/nic/engine/engine_limits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

_Static_assert((LIMIT_PARTING_PACKETS & (LIMIT_PARTING_PACKETS - 1)) == 0, "indices wrap around");

int parting_init(struct parting *parting)
{
	*parting = (struct parting){
		.packets = calloc(LIMIT_PARTING_PACKETS, sizeof(*parting->packets)),
	};
	return parting->packets != NULL ? 0 : -ENOMEM;
}

void parting_fini(struct parting *parting)
{
	free(parting->packets);
}

void parting_add(struct parting *parting, const struct rnic_packet *packet)
{
	if (parting->end - parting->first < LIMIT_PARTING_PACKETS)
		parting->packets[parting->end++ % LIMIT_PARTING_PACKETS] = *packet;
}

void parting_take(struct parting *parting, struct rnic_packet *packet)
{
	assert(!parting_is_empty(parting));
	*packet = parting->packets[parting->first++ % LIMIT_PARTING_PACKETS];
}
