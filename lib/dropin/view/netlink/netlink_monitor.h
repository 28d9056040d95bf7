/* SPDX-License-Identifier: MIT */
/*
 * News of devices for a socket of NETLINK_RDMA that is in the group of `rdma monitor`. The kernel
 * sends news by itself; the daemons tell none. So a thread of the program asks them twice a second,
 * and sends what has changed: a device has come or gone, or has another network interface.
 *
 * The program's socket is connected to one of the thread's, not to itself. The thread sends back
 * what comes there, which are the answers to the program; it ends with the program's last
 * descriptor.
 */
#ifndef LIB_DROPIN_VIEW_NETLINK_NETLINK_MONITOR_H
#define LIB_DROPIN_VIEW_NETLINK_NETLINK_MONITOR_H

/* The group of news, RDMA_NL_GROUP_NOTIFY, and its bit in a mask of groups. */
#define NETLINK_MONITOR_GROUP 4
#define NETLINK_MONITOR_MASK  (1U << (NETLINK_MONITOR_GROUP - 1))

/*
 * Begins to send news to the socket `fd`, which netlink_socket_make() made. Negative errno: of
 * socket(2), connect(2) and pthread_create(3); the socket is as before then.
 */
int netlink_monitor_begin(int fd);

#endif
