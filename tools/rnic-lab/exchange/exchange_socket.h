/* SPDX-License-Identifier: MIT */
/*
 * The TCP connection over which two rnic-labs exchange what RDMA needs. Every wait is lab_wait()'s.
 * Functions complain themselves, unless they say otherwise, and return a negative errno.
 */
#ifndef TOOLS_RNIC_LAB_EXCHANGE_EXCHANGE_SOCKET_H
#define TOOLS_RNIC_LAB_EXCHANGE_EXCHANGE_SOCKET_H

#include "exchange/exchange_message.h"
#include "lab_options.h"
#include "exchange/lab_watch.h"

#include <sys/socket.h>

struct exchange_socket {
	int fd;
	size_t filled; /* of what the peer sent and nobody took yet */
	uint8_t bytes[LAB_MESSAGE_BYTES_MAX];
};

/* Listens where the options say, for IPv4 and IPv6; tells the port. *fd is the caller's. */
int exchange_listen(const struct lab_options *options, int *fd);

/* Takes over a connection that accept(2) gave, or that exchange_connect() made. */
void exchange_socket_init(struct exchange_socket *exchange, int fd);
void exchange_socket_close(struct exchange_socket *exchange);

/* Reaches the server at any of its addresses, with some tries and more time between each. */
int exchange_connect(struct exchange_socket *exchange, const struct lab_options *options,
		     struct lab_watch *watch);

/* Sends a message, or one that refuses the peer for a reason. Silent. */
int exchange_send(struct exchange_socket *exchange, struct lab_watch *watch,
		  const struct lab_message *message, uint64_t deadline_ns);
void exchange_refuse(struct exchange_socket *exchange, struct lab_watch *watch, const char *reason);

/*
 * Receives a message of this type. -EACCES: the peer refuses. -EPROTO, -EPROTONOSUPPORT, -EBADMSG:
 * it says something else. -ECONNRESET, -ETIMEDOUT: it says nothing.
 */
int exchange_receive(struct exchange_socket *exchange, struct lab_watch *watch,
		     enum lab_message_type type, struct lab_message *message, uint64_t deadline_ns);

#endif
