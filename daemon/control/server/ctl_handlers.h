/* SPDX-License-Identifier: MIT */
/* The handlers of requests that the control plane answers; ctl_call.h says what a handler does. */
#ifndef DAEMON_CONTROL_SERVER_CTL_HANDLERS_H
#define DAEMON_CONTROL_SERVER_CTL_HANDLERS_H

#include "daemon/shared/served_peer/ctl_call.h"

/* ctl_hello.c */
int ctl_hello(struct ctl_call *call);

/* ctl_show.c */
int ctl_show(struct ctl_call *call);

#endif
