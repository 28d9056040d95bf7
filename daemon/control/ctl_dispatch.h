/* SPDX-License-Identifier: MIT */
/*
 * From a control request to the handler of its operation. Everything about a request that does not
 * need the operation's meaning (length, descriptors, order, who may ask) is checked here, by one
 * table, so that a handler finds a payload of the right size and can use it as its struct.
 */
#ifndef DAEMON_CONTROL_CTL_DISPATCH_H
#define DAEMON_CONTROL_CTL_DISPATCH_H

#include "ctl/ctl_message.h"

#include <stddef.h>
#include <stdint.h>

struct session;

#define CTL_PAYLOAD_BYTES_MAX (RNIC_CTL_MESSAGE_BYTES - sizeof(struct rnic_ctl_header))

/* All that a message can bring (the kernel's SCM_MAX_FD), so that none is closed by its receipt. */
#define CTL_RECEIVED_FDS_MAX 253

/* A message with the alignment of its payload. */
struct ctl_buffer {
	struct rnic_ctl_header header;
	_Alignas(8) uint8_t payload[CTL_PAYLOAD_BYTES_MAX];
};

struct ctl_call {
	struct session *session;
	struct ctl_buffer request;
	int fds[CTL_RECEIVED_FDS_MAX]; /* of the request; a handler that keeps one sets it to -1 */
	unsigned fd_count;
	uint32_t progress[2]; /* of a handler that is called again: its own, 0 at first */
	uint64_t waits_for;   /* session_set.freed_count of then; 0: was not refused for want yet */

	struct ctl_buffer reply;	 /* its payload is zeroed before the handler runs */
	uint32_t reply_bytes;		 /* of the payload; the handler of SHOW changes it */
	int reply_fds[RNIC_CTL_FDS_MAX]; /* closed once sent, or when that fails */
	unsigned reply_fd_count;
	char reason[RNIC_CTL_TEXT_BYTES]; /* of a refusal */
};

/*
 * Carries out `call`, whose request is `received` bytes as they came, and makes its reply. One for
 * which too little is left waits until the clients that ended before it have been freed: a program
 * that is started again must not be refused for what it had itself. 0: send
 * the reply, which may be a refusal. -EINPROGRESS: the same call in a later turn goes on with it,
 * without its descriptors. -EPROTO: the client does not speak our protocol, and was broken.
 * Descriptors of the request that are left are the caller's to close.
 */
int ctl_dispatch(struct ctl_call *call, size_t received);

/* Bytes of the payload of a request for `operation`, which is below RNIC_CTL_OPERATION_COUNT. */
uint32_t ctl_request_bytes(uint16_t operation);

/* For handlers: notes why, and returns `error`. */
int ctl_refuse(struct ctl_call *call, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
