/* SPDX-License-Identifier: MIT */
/* The PCI devices in a merged view (merged_view.h): those of daemons with --pci. */
#ifndef TOOLS_RNIC_RUN_MERGED_PCI_H
#define TOOLS_RNIC_RUN_MERGED_PCI_H

#include "lib/client/native/device_list.h"

#include <stdbool.h>

#define MERGED_PCI_ADDRESS_BYTES 16

/*
 * Writes the address of the device in the view of its daemon; false: it is no PCI device, or its
 * view is gone.
 */
bool merged_pci_find(const struct rnic_listed_device *device,
		     char address[MERGED_PCI_ADDRESS_BYTES]);

/* Shows the device with this address, and the machine's own in the same listings. Negative errno.
 */
int merged_pci_show(const char *tree, const struct rnic_listed_device *device, const char *address);

/*
 * Shows the machine's own PCI devices too, once all PCI devices of the view are shown, if the
 * device is one of these. Negative errno.
 */
int merged_pci_copy(const char *tree, const struct rnic_listed_device *device);

/* Shows it no longer. Negative errno. */
int merged_pci_hide(const char *tree, const char *address);

#endif
