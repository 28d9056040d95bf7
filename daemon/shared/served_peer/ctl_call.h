/* SPDX-License-Identifier: MIT */
/*
 * A control request in progress: the client's message, and the handler's reply. Both halves of the
 * daemon have handlers. A handler finds its request in call->request.payload, of the right size.
 * The handler either writes its reply to call->reply.payload and returns 0, or changes nothing and
 * returns a negative errno; ctl_refuse() notes the reason. The client chose all handles and values,
 * so the handler checks them. A handler with more work than a turn allows returns -EINPROGRESS. The
 * daemon calls the handler again in a later turn, before any other request of the client.
 */
#ifndef DAEMON_SHARED_SERVED_PEER_CTL_CALL_H
#define DAEMON_SHARED_SERVED_PEER_CTL_CALL_H

#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct list;
struct request_connection;
struct session;

#define CTL_PAYLOAD_BYTES_MAX (RNIC_CTL_MESSAGE_BYTES - sizeof(struct rnic_ctl_header))

/* The maximum of a message (the kernel's SCM_MAX_FD), so that the kernel drops no descriptor. */
#define CTL_RECEIVED_FDS_MAX 253

/* A message with the alignment of its payload. */
struct ctl_buffer {
	struct rnic_ctl_header header;
	_Alignas(8) uint8_t payload[CTL_PAYLOAD_BYTES_MAX];
};

struct ctl_call {
	struct request_connection *connection;
	struct client *client;	 /* of a control connection; else NULL */
	struct session *session; /* of a device connection; NULL before OPEN_DEVICE */
	struct ctl_buffer request;
	int fds[CTL_RECEIVED_FDS_MAX]; /* the request's; a handler that keeps one sets it to -1 */
	unsigned fd_count;
	bool has_brought_fds; /* the request came with descriptors */
	bool has_foreign_fds; /* the message has some, and the server takes none */
	uint32_t progress[2]; /* for a handler with several turns: its own, 0 at first */
	bool has_share;	      /* the user's share lets the request go on */
	bool awaits_news; /* set with -EINPROGRESS: call again after request_server_wake() only */
	bool awaits_time; /* the same: after LIMIT_REPLY_RETRY_MS */
	struct list *waits_in; /* the same: behind another request of the user, in this list */
	uint64_t waits_for;    /* request_server.ended_count of then; 0: lacked no resource yet */
	uint64_t closed_by_ns; /* answered, and waits until then for closes; 0: does not wait */
	uint64_t sent_by_ns;   /* carried out, and the reply waits until then; 0: does not wait */

	struct ctl_buffer reply;	 /* the payload is zeroed before the handler runs */
	uint32_t reply_bytes;		 /* length of the payload; the handler of SHOW changes it */
	int reply_fds[RNIC_CTL_FDS_MAX]; /* closed after the send, also after a failed send */
	unsigned reply_fd_count;
	char reason[RNIC_CTL_TEXT_BYTES]; /* the reason of a refusal */
};

/* For handlers: notes the reason, and returns `error`. */
int ctl_refuse(struct ctl_call *call, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
