/* SPDX-License-Identifier: MIT */
/* The handle API where programs of a small system include it. */
#ifndef RNIC_COMPAT_USER_RDMA_H
#define RNIC_COMPAT_USER_RDMA_H

#include <rnic/rdma.h>

#endif
