/* SPDX-License-Identifier: MIT */
/*
 * One end of the process link (process_message.h): a SOCK_SEQPACKET socketpair between the
 * control plane and a device process. Both programs send and receive by these functions.
 *
 * No call blocks. A receipt owns the descriptors that came with its message until their taker sets
 * them to -1; process_receipt_drop() closes the rest. A failed call leaves no descriptor open. The
 * descriptors of a sent message stay the caller's in any case.
 */
#ifndef DAEMON_SHARED_LINK_PROCESS_LINK_H
#define DAEMON_SHARED_LINK_PROCESS_LINK_H

#include "proto/ctl/process_message.h"

#include <stddef.h>
#include <stdint.h>

#define PROCESS_LINK_FD		  3 /* the link's descriptor in the device process */
#define PROCESS_PAYLOAD_BYTES_MAX (RNIC_PROCESS_MESSAGE_BYTES - sizeof(struct rnic_process_header))

/* A message to send: the struct of the operation, then, if the operation has one, its tail. */
struct process_letter {
	uint16_t operation;
	const void *payload;
	size_t payload_bytes;
	const void *tail;
	size_t tail_bytes;
	const int *fds;
	unsigned fd_count; /* at most RNIC_PROCESS_FDS_MAX */
};

/* A received message, which rnic_process_check() has passed. */
struct process_receipt {
	struct rnic_process_header header;
	_Alignas(8) uint8_t payload[PROCESS_PAYLOAD_BYTES_MAX]; /* the operation's struct first */
	int fds[RNIC_PROCESS_FDS_MAX];
	unsigned fd_count;
};

/*
 * Opens a link: both ends are close-on-exec and never block. Negative errno of socketpair(2).
 */
int process_link_open(int fds[2]);

/*
 * Sends a message whole. 0; -EAGAIN: the other end has not read enough yet, or memory is short;
 * -EMSGSIZE: the message is longer than the link allows; -EPIPE: the other end is gone; else
 * another errno of sendmsg(2).
 */
int process_link_send(int link_fd, const struct process_letter *letter);

/*
 * Receives the next message. 0; -EAGAIN: there is none; -EPIPE: the other end is gone; -EPROTO: the
 * other end does not keep to the protocol; else another errno of recvmsg(2). A message whose
 * descriptors this process has no room for comes without any.
 */
int process_link_receive(int link_fd, struct process_receipt *receipt);

/*
 * The same from a process that must not hand over descriptors: a message with descriptors is
 * -EPROTO, and stays in the link: to receive it would be to close them, and a last close may block.
 * So may the close of the link then.
 */
int process_link_receive_plain(int link_fd, struct process_receipt *receipt);

/* Closes the descriptors that nobody took. */
void process_receipt_drop(struct process_receipt *receipt);

#endif
