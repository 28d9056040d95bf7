/* SPDX-License-Identifier: MIT */
/*
 * A socket of NETLINK_RDMA, as a program sees it, where the kernel knows no RDMA device. It is a
 * Unix datagram socket that is connected to itself: what the program sends is answered at once, and
 * the answers wait in the socket's own queue. So poll(), dup(), fork() and close() are the
 * kernel's, there is no second descriptor, and this library keeps no table.
 *
 * The socket's address says what it is, and the port number of the program. Its priority, which
 * means nothing to a Unix socket, holds the program's options. A dump that is longer than one page
 * of rows ends with a note in the queue, which says where the dump goes on; a receive that meets
 * the note replaces it by the next page.
 */
#ifndef LIB_DROPIN_VIEW_NETLINK_NETLINK_SOCKET_H
#define LIB_DROPIN_VIEW_NETLINK_NETLINK_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Whether a program of rnic-run gets such a socket from socket() with these arguments. */
bool netlink_socket_is_wanted(int domain, int type, int protocol);

/* Makes such a socket, with the flags in `type`. A descriptor, or -1 and errno, as of socket(). */
int netlink_socket_make(int type);

/*
 * Whether `fd` is such a socket. This costs one load as long as this process and its parents have
 * made none. Keeps errno.
 */
bool netlink_socket_is(int fd);

/* As bind(): the program may choose its port number. -1 and errno. */
int netlink_socket_bind(int fd, const struct sockaddr *address, socklen_t bytes);

/* As getsockname() and getpeername(). -1 and errno. */
int netlink_socket_name(int fd, bool is_peer, struct sockaddr *address, socklen_t *bytes);

/*
 * As setsockopt() and getsockopt() with SOL_NETLINK: NETLINK_CAP_ACK and NETLINK_EXT_ACK say what
 * the program wants of errors, NETLINK_ADD_MEMBERSHIP joins the group of news (netlink_monitor.h).
 * Other groups are refused, and other options change nothing. -1 and errno.
 */
int netlink_socket_set_option(int fd, int name, const void *value, socklen_t bytes);
int netlink_socket_get_option(int fd, int name, int *value);

/* Answers the messages of one send. Returns `length`, or -1 and errno. */
ssize_t netlink_socket_answer(int fd, const void *bytes, size_t length);

/*
 * Receives a message as recvmsg() does, and brings the next page of a dump where it is its turn.
 * Returns its length, or -1 and errno.
 */
ssize_t netlink_socket_receive(int fd, struct msghdr *message, int flags);

#endif
