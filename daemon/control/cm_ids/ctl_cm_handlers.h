/* SPDX-License-Identifier: MIT */
/* The handlers of the connection manager's requests; ctl_call.h describes a handler. */
#ifndef DAEMON_CONTROL_CM_IDS_CTL_CM_HANDLERS_H
#define DAEMON_CONTROL_CM_IDS_CTL_CM_HANDLERS_H

#include "daemon/shared/served_peer/ctl_call.h"

int ctl_cm_create_channel(struct ctl_call *call);
int ctl_cm_destroy_channel(struct ctl_call *call);
int ctl_cm_send_events(struct ctl_call *call);
int ctl_cm_create_id(struct ctl_call *call);
int ctl_cm_destroy_id(struct ctl_call *call);
int ctl_cm_migrate(struct ctl_call *call);
int ctl_cm_set_option(struct ctl_call *call);
int ctl_cm_query(struct ctl_call *call);
int ctl_cm_bind(struct ctl_call *call);
int ctl_cm_resolve_address(struct ctl_call *call);
int ctl_cm_resolve_route(struct ctl_call *call);
int ctl_cm_listen(struct ctl_call *call);
int ctl_cm_connect(struct ctl_call *call);
int ctl_cm_accept(struct ctl_call *call);
int ctl_cm_reject(struct ctl_call *call);
int ctl_cm_establish(struct ctl_call *call);
int ctl_cm_disconnect(struct ctl_call *call);
int ctl_cm_notify(struct ctl_call *call);
int ctl_cm_qp_attributes(struct ctl_call *call);
int ctl_cm_join_mcast(struct ctl_call *call);
int ctl_cm_leave_mcast(struct ctl_call *call);

#endif
