/* SPDX-License-Identifier: MIT */
/* Maxima that both sides of a contract state: library and daemon, control protocol and engine. */
#ifndef PROTO_BASE_MAXIMA_H
#define PROTO_BASE_MAXIMA_H

#include <stdint.h>

#define RNIC_WR_DEPTH_MAX   32768 /* WQEs of a queue */
#define RNIC_SGE_COUNT_MAX  32
#define RNIC_CQ_ENTRIES_MAX (UINT32_C(1) << 22)
#define RNIC_GIDS_MAX	    32
#define RNIC_PKEYS_MAX	    16

/* Objects of one client; no handle names a higher slot. */
#define RNIC_SESSION_QPS_MAX  16384
#define RNIC_SESSION_CQS_MAX  16384
#define RNIC_SESSION_SRQS_MAX 4096
#define RNIC_CM_IDS_MAX	      16384

#endif
