/* SPDX-License-Identifier: MIT */
/*
 * The requests of control connections: HELLO first, then SHOW, CONDITION, VERB_RULES and those of
 * the connection manager. Checks the order, and whether the client may ask, and passes the request
 * to the handler of its operation.
 */
#ifndef DAEMON_CONTROL_SERVER_CTL_DISPATCH_H
#define DAEMON_CONTROL_SERVER_CTL_DISPATCH_H

#include "daemon/shared/served_peer/ctl_call.h"
#include "daemon/shared/served_peer/request_server.h"

/* The role of the server of a client set. */
extern const struct request_role ctl_dispatch_role;

/* The handlers of requests that the control plane answers; ctl_call.h says what a handler does. */
/* ctl_hello.c */
int ctl_hello(struct ctl_call *call);

/* ctl_condition.c */
int ctl_condition(struct ctl_call *call);

/* ctl_show.c */
int ctl_show(struct ctl_call *call);

/* ctl_verb_rules.c */
int ctl_verb_rules(struct ctl_call *call);

#endif
