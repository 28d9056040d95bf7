/* SPDX-License-Identifier: MIT */
/*
 * Shared by the handlers of the connection manager's requests. Tables give the name of the current
 * operation and the identifier states that allow it, so that a handler gets an identifier in a
 * suitable state.
 */
#ifndef DAEMON_CONTROL_CM_IDS_CTL_CM_COMMON_H
#define DAEMON_CONTROL_CM_IDS_CTL_CM_COMMON_H

#include "proto/ctl/ctl_message.h"

struct ctl_call;
struct client_cm_id;

/*
 * The identifier of `handle`, in a state that allows the operation of `call`. NULL: there is none,
 * or its state does not allow the operation; the refusal is made and stored at `refusal`.
 */
struct client_cm_id *ctl_cm_find(struct ctl_call *call, struct rnic_handle handle, int *refusal);

#endif
