/* SPDX-License-Identifier: MIT */
/* Finds the object of a condition by the name that a person types. */
#ifndef TOOLS_SUPPORT_CONDITION_OBJECT_H
#define TOOLS_SUPPORT_CONDITION_OBJECT_H

#include "lib/client/admin/admin_link.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Completes `condition` by the object `name`: the QPN of a queue pair; the number of a completion
 * queue, CQ or CLIENT/CQ as rnicctl show cqs has them; the SRQN of a shared receive queue. A queue
 * pair may also be #N: the Nth of those that the asker sees, in the order of rnicctl show qps.
 * Negative errno with a sentence in link->reason.
 */
int condition_object_find(struct admin_link *link, const char *name,
			  struct rnic_ctl_condition *condition);

#endif
