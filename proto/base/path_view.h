/* SPDX-License-Identifier: MIT */
/*
 * Where the path view lies. The daemon writes copies of what the kernel would show of its device
 * below SOCKET.view, each at its own path: SOCKET.view/sys/class/infiniband, and so on. rnic-run
 * lets programs see them at the real paths.
 *
 * Invariant: while a daemon serves SOCKET, SOCKET.view is its own directory, in which nobody else
 * can write.
 */
#ifndef RNIC_PROTO_BASE_PATH_VIEW_H
#define RNIC_PROTO_BASE_PATH_VIEW_H

#define RNIC_VIEW_SUFFIX ".view"

#define RNIC_VIEW_INFINIBAND	   "/sys/class/infiniband"
#define RNIC_VIEW_INFINIBAND_VERBS "/sys/class/infiniband_verbs"
#define RNIC_VIEW_DEV		   "/dev/infiniband"

/* The directories that programs see, for an array of them. */
#define RNIC_VIEW_ROOTS RNIC_VIEW_INFINIBAND, RNIC_VIEW_INFINIBAND_VERBS, RNIC_VIEW_DEV

/* In every path that can lie in the view, so that others are told apart by one search. */
#define RNIC_VIEW_MARK "infiniband"

#endif
