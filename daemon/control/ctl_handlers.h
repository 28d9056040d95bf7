/* SPDX-License-Identifier: MIT */
/*
 * The handlers of control operations, one family of objects a file. Each finds its request in
 * call->request.payload, writes its reply to call->reply.payload and returns 0, or changes nothing
 * and returns a negative errno, for which it may give a reason with ctl_refuse(). Handles and
 * values are the client's and are checked by the handler. One that has more to do than a turn has
 * room for returns -EINPROGRESS, and is called again in a later turn, before any other request of
 * the client.
 */
#ifndef DAEMON_CONTROL_CTL_HANDLERS_H
#define DAEMON_CONTROL_CTL_HANDLERS_H

#include "control/ctl_dispatch.h"

/* ctl_device.c */
int ctl_hello(struct ctl_call *call);
int ctl_query_port(struct ctl_call *call);
int ctl_query_gids(struct ctl_call *call);
int ctl_query_pkeys(struct ctl_call *call);

/* ctl_memory.c */
int ctl_alloc_pd(struct ctl_call *call);
int ctl_dealloc_pd(struct ctl_call *call);
int ctl_register_mr(struct ctl_call *call);
int ctl_reregister_mr(struct ctl_call *call);
int ctl_deregister_mr(struct ctl_call *call);

/* ctl_mw.c */
int ctl_alloc_mw(struct ctl_call *call);
int ctl_dealloc_mw(struct ctl_call *call);

/* ctl_cq.c */
int ctl_create_channel(struct ctl_call *call);
int ctl_destroy_channel(struct ctl_call *call);
int ctl_create_cq(struct ctl_call *call);
int ctl_resize_cq(struct ctl_call *call);
int ctl_destroy_cq(struct ctl_call *call);

/* ctl_qp.c */
int ctl_create_qp(struct ctl_call *call);
int ctl_modify_qp(struct ctl_call *call);
int ctl_query_qp(struct ctl_call *call);
int ctl_destroy_qp(struct ctl_call *call);

/* ctl_srq.c */
int ctl_create_srq(struct ctl_call *call);
int ctl_modify_srq(struct ctl_call *call);
int ctl_resize_srq(struct ctl_call *call);
int ctl_query_srq(struct ctl_call *call);
int ctl_destroy_srq(struct ctl_call *call);

/* ctl_xrc.c */
int ctl_open_xrcd(struct ctl_call *call);
int ctl_close_xrcd(struct ctl_call *call);
int ctl_open_qp(struct ctl_call *call);

/* ctl_import.c */
int ctl_share(struct ctl_call *call);
int ctl_import(struct ctl_call *call);
int ctl_import_pd(struct ctl_call *call);
int ctl_import_mr(struct ctl_call *call);

/* ctl_ah.c */
int ctl_create_ah(struct ctl_call *call);
int ctl_destroy_ah(struct ctl_call *call);

/* ctl_mcast.c */
int ctl_attach_mcast(struct ctl_call *call);
int ctl_detach_mcast(struct ctl_call *call);

/* ctl_show.c */
int ctl_show(struct ctl_call *call);

int ctl_cm_create_channel(struct ctl_call *call);
int ctl_cm_destroy_channel(struct ctl_call *call);
int ctl_cm_get_event(struct ctl_call *call);
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
int ctl_cm_raise(struct ctl_call *call);

#endif
