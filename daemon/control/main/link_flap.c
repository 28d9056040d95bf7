/* SPDX-License-Identifier: MIT */
#include "daemon/control/main/link_flap.h"

void link_flap_end(struct link_flap *flap)
{
	*flap = (struct link_flap){.next_ns = UINT64_MAX};
}

void link_flap_begin(struct link_flap *flap, uint64_t down_ns, uint64_t up_ns, uint64_t now_ns)
{
	*flap = (struct link_flap){.down_ns = down_ns, .up_ns = up_ns, .next_ns = now_ns};
}

bool link_flap_turn(struct link_flap *flap, uint64_t now_ns)
{
	if (now_ns < flap->next_ns)
		return false;
	flap->is_down = !flap->is_down;
	flap->next_ns = now_ns + (flap->is_down ? flap->down_ns : flap->up_ns);
	return true;
}
