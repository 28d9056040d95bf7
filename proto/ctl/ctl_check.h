/* SPDX-License-Identifier: MIT */
/*
 * What every message of the control protocol must be, those of the connection manager (ctl_cm.h)
 * included: sizes and descriptors by operation. Neither side looks at a message that was not
 * checked.
 */
#ifndef RNIC_PROTO_CTL_CHECK_H
#define RNIC_PROTO_CTL_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* "CREATE_QP" for RNIC_CTL_CREATE_QP; "unknown" for a number that is no operation. */
const char *rnic_ctl_operation_name(uint32_t operation);

/*
 * Checks a request as it came from a client: magic, that `received` bytes are what the header
 * claims and what the operation's payload needs, and the number of descriptors. Returns 0, -EPROTO
 * (disconnect: not our protocol or a lying length) or -EOPNOTSUPP (refuse: an operation we do not
 * know).
 */
int rnic_ctl_check_request(const void *message, size_t received, unsigned fd_count);

/*
 * Checks a reply to `operation` with `request_id` in the same way. Returns 0 when it is a
 * well-formed success or refusal (the caller then looks at header.status), else -EPROTO: the daemon
 * is not to be trusted any more, close the connection.
 */
int rnic_ctl_check_reply(const void *message, size_t received, unsigned fd_count,
			 uint32_t operation, uint32_t request_id);

#endif
