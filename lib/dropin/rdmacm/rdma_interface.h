/* SPDX-License-Identifier: MIT */
/* The public headers of librdmacm, with what they declare exported from our librdmacm.so.1. */
#ifndef LIB_DROPIN_RDMACM_RDMA_INTERFACE_H
#define LIB_DROPIN_RDMACM_RDMA_INTERFACE_H

#pragma GCC visibility push(default)
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#pragma GCC visibility pop

#endif
