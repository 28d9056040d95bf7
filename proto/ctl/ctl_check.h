/* SPDX-License-Identifier: MIT */
/*
 * What every message of the control protocol must be, by operation: size and descriptors. The
 * messages of the connection manager (ctl_cm.h) are included. Both sides check a message before
 * they use its payload.
 */
#ifndef PROTO_CTL_CTL_CHECK_H
#define PROTO_CTL_CTL_CHECK_H

#include <stddef.h>
#include <stdint.h>

/* The connection that carries the requests of an operation. */
enum rnic_ctl_connection {
	RNIC_CTL_CONTROL_CONNECTION = 1,
	RNIC_CTL_DEVICE_CONNECTION,
};

/* "CREATE_QP" for RNIC_CTL_CREATE_QP; "unknown" for a number that is no operation. */
const char *rnic_ctl_operation_name(uint32_t operation);

/* Returns the connection of an operation; the device connection for an unknown number. */
enum rnic_ctl_connection rnic_ctl_operation_connection(uint32_t operation);

/* Payload bytes of a request and of a reply; of SHOW without the rows; 0 for an unknown
 * number. */
uint32_t rnic_ctl_request_bytes(uint32_t operation);
uint32_t rnic_ctl_reply_bytes(uint32_t operation);

/*
 * Checks a client's request: the magic number, the number of descriptors, and whether `received`
 * is the length that the header claims and the operation's payload needs. Returns 0, -EPROTO
 * (disconnect: another protocol, or a lying length) or -EOPNOTSUPP (refuse: an unknown operation).
 */
int rnic_ctl_check_request(const void *message, size_t received, unsigned fd_count);

/*
 * Checks a reply to `operation` with `request_id` in the same way. Returns 0 when the reply is a
 * well-formed success or refusal (header.status says which), else -EPROTO: the caller trusts the
 * daemon no longer and closes the connection.
 */
int rnic_ctl_check_reply(const void *message, size_t received, unsigned fd_count,
			 uint32_t operation, uint32_t request_id);

#endif
