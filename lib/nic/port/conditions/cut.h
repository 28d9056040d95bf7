/* SPDX-License-Identifier: MIT */
/*
 * A port without a cable: what comes is dropped, what is sent is lost. It lies on the stack only
 * while the link is cut, so that an intact link costs nothing. The stack owns this port and the
 * next one: closing closes the next port alone.
 */
#ifndef LIB_NIC_PORT_CONDITIONS_CUT_H
#define LIB_NIC_PORT_CONDITIONS_CUT_H

#include "lib/nic/port/port.h"

struct cut {
	struct port port;
	struct port *next;
};

/* Puts `cut` in front of `next`, which outlives it. */
void cut_init(struct cut *cut, struct port *next);

#endif
