/* SPDX-License-Identifier: MIT */
/*
 * The requests about the port and about objects, with one file for each family of objects.
 * ctl_call.h says what a handler does; call->session is the client's session.
 */
#ifndef DAEMON_DEVICE_OBJECTS_OBJECT_REQUESTS_H
#define DAEMON_DEVICE_OBJECTS_OBJECT_REQUESTS_H

#include "daemon/shared/served_peer/ctl_call.h"

/*
 * Carries out a request of a device operation. The caller has checked the length and the order of
 * the request.
 */
int object_request(struct ctl_call *call);

/* ctl_port.c */
int ctl_query_port(struct ctl_call *call);
int ctl_query_gids(struct ctl_call *call);
int ctl_query_pkeys(struct ctl_call *call);

/* ctl_memory.c */
int ctl_alloc_pd(struct ctl_call *call);
int ctl_dealloc_pd(struct ctl_call *call);
int ctl_register_mr(struct ctl_call *call);
int ctl_reregister_mr(struct ctl_call *call);
int ctl_deregister_mr(struct ctl_call *call);
int ctl_watch_memory(struct ctl_call *call);

/* ctl_mw.c */
int ctl_alloc_mw(struct ctl_call *call);
int ctl_dealloc_mw(struct ctl_call *call);

/* ctl_cq.c */
int ctl_create_channel(struct ctl_call *call);
int ctl_destroy_channel(struct ctl_call *call);
int ctl_create_cq(struct ctl_call *call);
int ctl_resize_cq(struct ctl_call *call);
int ctl_destroy_cq(struct ctl_call *call);

/* ctl_queue_region.c */
int ctl_create_queue_region(struct ctl_call *call);
int ctl_destroy_queue_region(struct ctl_call *call);

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

#endif
