/* SPDX-License-Identifier: MIT */
/*
 * The handle API under its usual name: programs that include "rdma.h" and link -lrdma compile with
 * -I.../include/rnic/compat. <rnic/rdma.h> is the manual.
 */
#ifndef RNIC_COMPAT_RDMA_H
#define RNIC_COMPAT_RDMA_H

#include <rnic/rdma.h>

#endif
