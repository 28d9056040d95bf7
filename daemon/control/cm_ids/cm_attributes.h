/* SPDX-License-Identifier: MIT */
/* The attributes that a client gives the queue pair of an identifier. */
#ifndef DAEMON_CONTROL_CM_IDS_CM_ATTRIBUTES_H
#define DAEMON_CONTROL_CM_IDS_CM_ATTRIBUTES_H

#include "proto/ctl/ctl_cm.h"

#include <stdint.h>

struct client_cm_id;

/*
 * Adds to `reply`, which is all zeroes, the attributes for the transition to `state`, and to
 * `next_state` after that unless `next_state` is 0. -EINVAL: the states need a peer, and the
 * identifier knows none.
 */
int cm_attributes_tell(const struct client_cm_id *id, uint32_t state, uint32_t next_state,
		       struct rnic_ctl_cm_qp_attributes_reply *reply);

#endif
