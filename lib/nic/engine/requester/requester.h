/* SPDX-License-Identifier: MIT */
/*
 * The requester: WQEs become request packets (IBTA 1.4, 9.7.2 to 9.7.5). The requester owns the
 * send position `psn`; the completer moves the acknowledged end, retry.h takes the position back.
 *
 *     unacknowledged <= psn <= highest      (PSN order; at most LIMIT_QP_WINDOW_PACKETS apart)
 *
 * UC and UD are not acknowledged: there `unacknowledged` is the first packet whose payload may not
 * have been read yet (engine_packets_read()), and nothing is sent twice.
 */
#ifndef LIB_NIC_ENGINE_REQUESTER_REQUESTER_H
#define LIB_NIC_ENGINE_REQUESTER_REQUESTER_H

#include "lib/nic/engine/verdict.h"
#include "proto/wire/psn.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct packet_builder;
struct placement_failures;
struct qp;

/* Builds the next request packet of `qp` into `out`; false when there is none to send now. */
bool requester_transmit(struct engine *engine, struct qp *qp, struct packet_builder *out);

/*
 * The payload of packet `psn` could not be read, -EFAULT or -ESRCH: its WQE fails once the WQEs
 * before it are done.
 */
void requester_payload_failed(struct engine *engine, struct qp *qp, struct rnic_psn psn, int error);

/*
 * Response data could not be written to client memory. The completion of the WQE tells so where the
 * failure is reported, else the WQE is still the oldest.
 */
void requester_write_failed(struct engine *engine, struct qp *qp,
			    const struct placement_failures *failures);

#endif
