/* SPDX-License-Identifier: MIT */
/*
 * Between the structs of librdmacm and those of <rnic/rnic_cm.h>. Values never differ, only byte
 * order, names and widths. Addresses are sockaddrs on one side and mapped GIDs on the other.
 */
#ifndef LIB_DROPIN_RDMACM_RDMA_TRANSLATE_H
#define LIB_DROPIN_RDMACM_RDMA_TRANSLATE_H

#include "lib/dropin/rdmacm/rdma_objects.h"

/* -EAFNOSUPPORT: neither IPv4 nor IPv6. */
int rnic_cma_endpoint(const struct sockaddr *address, struct rnic_endpoint *endpoint);

/* `address` has room for a sockaddr_storage; AF_UNSPEC when the endpoint is not known. */
void rnic_cma_sockaddr(const struct rnic_endpoint *endpoint, struct sockaddr *address);

/* Bytes of a sockaddr of that family; 0 for other families. */
socklen_t rnic_cma_sockaddr_bytes(const struct sockaddr *address);

/* The part of the route with addresses of the wire, and the path record that it points to. */
void rnic_cma_route(const struct rnic_cm_endpoints *where, struct rnic_cma_id *id);

/* The facts of an event about the peer, for connected and for datagram identifiers. */
void rnic_cma_conn_param(const struct rnic_cm_parameters *from, struct rdma_conn_param *to);
void rnic_cma_ud_param(const struct rnic_cm_event *from, struct rdma_ud_param *to);

#endif
