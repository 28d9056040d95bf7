/* SPDX-License-Identifier: MIT */
/*
 * A link that goes down and comes up by turns: rnicctl link flap. Owned by the control plane, which
 * asks in each turn whether the link is to change. Pure.
 */
#ifndef DAEMON_CONTROL_MAIN_LINK_FLAP_H
#define DAEMON_CONTROL_MAIN_LINK_FLAP_H

#include <stdbool.h>
#include <stdint.h>

struct link_flap {
	uint64_t down_ns; /* for so long each time; 0: the link does not flap */
	uint64_t up_ns;
	uint64_t next_ns; /* of the next change; UINT64_MAX: none */
	bool is_down;	  /* as the flapping has it */
};

/* A link that does not flap; ends flapping too. The link itself stays as it is. */
void link_flap_end(struct link_flap *flap);

/* Begins with a link that goes down now. The times are not 0. */
void link_flap_begin(struct link_flap *flap, uint64_t down_ns, uint64_t up_ns, uint64_t now_ns);

/* Whether it is time for a change; `is_down` says then to what. */
bool link_flap_turn(struct link_flap *flap, uint64_t now_ns);

#endif
