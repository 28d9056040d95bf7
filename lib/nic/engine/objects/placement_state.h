/* SPDX-License-Identifier: MIT */
/* What waits for the placement of inbound payload (placement.h). */
#ifndef LIB_NIC_ENGINE_OBJECTS_PLACEMENT_STATE_H
#define LIB_NIC_ENGINE_OBJECTS_PLACEMENT_STATE_H

#include "lib/nic/base/list.h"
#include "lib/nic/engine/objects/engine_cqe.h"
#include "lib/nic/mem/memory_batch.h"
#include "proto/wire/ip_header.h"
#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

#define PLACEMENT_COMPLETIONS_MAX 256 /* a power of two */
/* A datagram is two transfers of the batch: header and payload. */
#define PLACEMENT_HEADERS_MAX (MEMORY_BATCH_TRANSFERS / 2)

struct cq;
struct engine;
struct placement_failures;
struct qp;

/* What `failures` demand of `qp`: the roles' part in them, which lies above placement. */
typedef void placement_failed_function(struct engine *engine, struct qp *qp,
				       const struct placement_failures *failures);

struct placement {
	struct {
		struct cq *cq;
		struct cqe cqe;
	} waiting[PLACEMENT_COMPLETIONS_MAX]; /* number i at i modulo its size */
	uint32_t queued;		      /* completions ever queued, and ever delivered */
	uint32_t delivered;
	uint8_t headers[PLACEMENT_HEADERS_MAX][RNIC_GRH_BYTES]; /* of datagrams in the batch */
	uint32_t header_count;
	struct list failing; /* struct qp with failures not acted upon */
	bool is_running;
	placement_failed_function *failed;
};

/* What went wrong for a QP during placement. All zero but for the node: nothing. */
struct placement_failures {
	struct list node; /* in placement->failing, or unlinked */
	bool is_overrun;
	bool is_message_lost;  /* of the lost completions one is of a message received */
	bool is_last_received; /* in ERR: its last receive from an SRQ is completed */
	bool has_request;      /* payload of a request was not put in place, or of a response */
	bool has_response;
	bool is_receive_at_fault; /* the receive WQE under way has failed */
	bool is_response_reported;
	bool is_of_receive;	     /* the request's payload was for a receive WQE */
	int request_error;	     /* -EFAULT, or -ESRCH: the client has ended */
	int response_error;	     /* likewise */
	struct rnic_psn request_psn; /* of the first such request */
	uint32_t request_msn;	     /* messages received before it */
	uint32_t response_msn;	     /* messages received before the first such response */
};

#endif
