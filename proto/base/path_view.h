/* SPDX-License-Identifier: MIT */
/*
 * Where the path view lies. Below SOCKET.view the daemon writes the files that the kernel would
 * show of a device, each at its own path: SOCKET.view/sys/class/infiniband, and so on. rnic-run
 * shows these files to programs at the real paths.
 *
 * Invariant: while a daemon serves SOCKET, SOCKET.view is a directory of the daemon's, and no other
 * user can write there.
 */
#ifndef RNIC_PROTO_BASE_PATH_VIEW_H
#define RNIC_PROTO_BASE_PATH_VIEW_H

#define RNIC_VIEW_SUFFIX ".view"

#define RNIC_VIEW_INFINIBAND	   "/sys/class/infiniband"
#define RNIC_VIEW_INFINIBAND_VERBS "/sys/class/infiniband_verbs"
#define RNIC_VIEW_DEV		   "/dev/infiniband"

/*
 * Where the kernel has the files of a device without a bus. In RNIC_VIEW_INFINIBAND stands a link
 * to them: programs such as lstopo learn from the link's target what kind of device this is.
 */
#define RNIC_VIEW_DEVICES      "/sys/devices/virtual/infiniband"
#define RNIC_VIEW_DEVICES_LINK "../../devices/virtual/infiniband"

/* The directories that programs see, for an array of them. */
#define RNIC_VIEW_ROOTS                                                                            \
	RNIC_VIEW_INFINIBAND, RNIC_VIEW_INFINIBAND_VERBS, RNIC_VIEW_DEVICES, RNIC_VIEW_DEV

/* Part of every path that can lie in the view: one search rules other paths out. */
#define RNIC_VIEW_MARK "infiniband"

#endif
