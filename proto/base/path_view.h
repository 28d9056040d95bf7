/* SPDX-License-Identifier: MIT */
/*
 * Where the path view lies. Below SOCKET.view the daemon writes the files that the kernel would
 * show of a device, each at its own path: SOCKET.view/sys/class/infiniband, and so on. rnic-run
 * shows these files to programs at the real paths.
 *
 * Invariant: while a daemon serves SOCKET, SOCKET.view is a directory of the daemon's, and no other
 * user can write there.
 */
#ifndef PROTO_BASE_PATH_VIEW_H
#define PROTO_BASE_PATH_VIEW_H

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

/*
 * What a daemon with --pci has besides: its device below that of its bus, and listings of all PCI
 * devices and buses, in which those of the machine are links. Where the view has none of them,
 * programs see the kernel's.
 */
#define RNIC_VIEW_PCI_DEVICES "/sys/bus/pci/devices"
#define RNIC_VIEW_PCI_DRIVERS "/sys/bus/pci/drivers/rnicd"
#define RNIC_VIEW_PCI_BUSES   "/sys/class/pci_bus"
#define RNIC_VIEW_PCI_HOST    "/sys/devices/pci" /* and the bus: the directory of a bus */
#define RNIC_VIEW_PCI_MARK    "pci"

/*
 * Where the kernel lists the device of a network interface: below the interface's name, which comes
 * between the two. Interfaces of which the view has nothing are the kernel's.
 */
#define RNIC_VIEW_NET	     "/sys/class/net"
#define RNIC_VIEW_NET_FOLDER "device/infiniband"
#define RNIC_VIEW_NET_LINK   "../../../../infiniband" /* from there to RNIC_VIEW_INFINIBAND */

/* The directories that programs see, for an array of them. */
#define RNIC_VIEW_ROOTS                                                                            \
	RNIC_VIEW_INFINIBAND, RNIC_VIEW_INFINIBAND_VERBS, RNIC_VIEW_DEVICES, RNIC_VIEW_DEV

/*
 * The device file that an unprivileged process may have at /dev: a character device that it can
 * open. And the versions of the interface of libibverbs that the kernel has.
 */
#define RNIC_VIEW_NULL_DEVICE "/dev/null"
#define RNIC_VIEW_NULL_NUMBER "1:3"
#define RNIC_VIEW_VERBS_ABI   "6"
#define RNIC_VIEW_UVERBS_ABI  "1"

/*
 * The view of a program with several devices, where rnic-run has put it together. Without the
 * variable the view is that of RNIC_SOCKET. Below RNIC_VIEW_IN_PLACE each path leads to itself: for
 * programs that have the view mounted at the real paths, or none.
 */
#define RNIC_VIEW_VARIABLE "RNIC_VIEW"
#define RNIC_VIEW_IN_PLACE "/"

/* Part of every path that can lie in the view: one search rules other paths out. */
#define RNIC_VIEW_MARK "infiniband"

#endif
