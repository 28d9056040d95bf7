/* SPDX-License-Identifier: MIT */
/*
 * A control request under way: what the client sent, and the reply that a handler makes of it. Both
 * halves of the daemon have handlers. A handler finds its request in call->request.payload, of the
 * right size; writes its reply to call->reply.payload and returns 0; or changes nothing and returns
 * a negative errno, for which ctl_refuse() notes a reason. Handles and values are the client's, and
 * the handler checks them. A handler that has more to do than a turn has room for returns
 * -EINPROGRESS, and is called again in a later turn, before any other request of the client.
 */
#ifndef DAEMON_COMMON_CTL_CALL_H
#define DAEMON_COMMON_CTL_CALL_H

#include "ctl/ctl_message.h"

#include <stddef.h>
#include <stdint.h>

struct client;
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
	struct client *client;
	struct session *session; /* of the client in the device half; NULL: not yet, or none */
	struct ctl_buffer request;
	int fds[CTL_RECEIVED_FDS_MAX]; /* of the request; a handler that keeps one sets it to -1 */
	unsigned fd_count;
	uint32_t progress[2]; /* of a handler that is called again: its own, 0 at first */
	uint64_t waits_for;   /* client_set.ended_count of then; 0: was not refused for want yet */

	struct ctl_buffer reply;	 /* its payload is zeroed before the handler runs */
	uint32_t reply_bytes;		 /* of the payload; the handler of SHOW changes it */
	int reply_fds[RNIC_CTL_FDS_MAX]; /* closed once sent, or when that fails */
	unsigned reply_fd_count;
	char reason[RNIC_CTL_TEXT_BYTES]; /* of a refusal */
};

/* For handlers: notes why, and returns `error`. */
int ctl_refuse(struct ctl_call *call, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
