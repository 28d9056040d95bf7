/* SPDX-License-Identifier: MIT */
/*
 * The TCP connection over which two rnic-labs exchange the parameters for RDMA. Every wait is
 * lab_wait()'s. Functions print their own errors, unless a comment says otherwise, and return a
 * negative errno.
 */
#ifndef TOOLS_LAB_EXCHANGE_EXCHANGE_SOCKET_H
#define TOOLS_LAB_EXCHANGE_EXCHANGE_SOCKET_H

#include "tools/lab/exchange/exchange_message.h"
#include "tools/lab/exchange/lab_watch.h"
#include "tools/lab/lab_options.h"

#include <sys/socket.h>

struct exchange_socket {
	int fd;
	size_t filled; /* received bytes that nobody took yet */
	uint8_t bytes[LAB_MESSAGE_BYTES_MAX];
};

/* Listens as the options say, for IPv4 and IPv6, and prints the port. *fd is the caller's. */
int exchange_listen(const struct lab_options *options, int *fd);

/* Takes over a connection from accept(2) or exchange_connect(). */
void exchange_socket_init(struct exchange_socket *exchange, int fd);
void exchange_socket_close(struct exchange_socket *exchange);

/* Connects to the server at any of its addresses, with some tries and growing pauses. */
int exchange_connect(struct exchange_socket *exchange, const struct lab_options *options,
		     struct lab_watch *watch);

/* Sends a message, or a refusal with a reason. Prints nothing. */
int exchange_send(struct exchange_socket *exchange, struct lab_watch *watch,
		  const struct lab_message *message, uint64_t deadline_ns);
void exchange_refuse(struct exchange_socket *exchange, struct lab_watch *watch, const char *reason);

/*
 * Receives a message of this type. -EACCES: the peer refuses. -EPROTO, -EPROTONOSUPPORT, -EBADMSG:
 * the peer sends something else. -ECONNRESET, -ETIMEDOUT: the peer sends nothing.
 */
int exchange_receive(struct exchange_socket *exchange, struct lab_watch *watch,
		     enum lab_message_type type, struct lab_message *message, uint64_t deadline_ns);

#endif
