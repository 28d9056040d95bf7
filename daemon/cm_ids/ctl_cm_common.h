/* SPDX-License-Identifier: MIT */
/*
 * What the handlers of the connection manager's requests share. The name of the operation under way
 * and its place in an identifier's life are looked up in tables, so that a handler finds an
 * identifier of which this can be asked.
 */
#ifndef DAEMON_CM_IDS_CTL_CM_COMMON_H
#define DAEMON_CM_IDS_CTL_CM_COMMON_H

#include "ctl/ctl_message.h"

struct ctl_call;
struct session_cm_id;

/*
 * The identifier that `handle` names, which allows the operation of `call`. NULL, and the refusal
 * made and stored at `refusal`: there is none, or not in its state.
 */
struct session_cm_id *ctl_cm_find(struct ctl_call *call, struct rnic_handle handle, int *refusal);

#endif
