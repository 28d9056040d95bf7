/* SPDX-License-Identifier: MIT */
/*
 * The shape of a PCI device, which the device has in the path view with --pci: programs find out by
 * it which NIC is near which GPU and processor. Nothing else knows of it.
 */
#ifndef DAEMON_CONTROL_VIEW_PCI_SHAPE_H
#define DAEMON_CONTROL_VIEW_PCI_SHAPE_H

#include <stdbool.h>

#define PCI_SHAPE_ADDRESS_BYTES sizeof("0000:18:00.0")
#define PCI_SHAPE_BUS_LENGTH	(sizeof("0000:18") - 1) /* of the bus in an address */
#define PCI_SHAPE_CPUS_BYTES	1024

struct pci_shape {
	char address[PCI_SHAPE_ADDRESS_BYTES];
	int numa_node;				  /* -1: none in particular */
	char local_cpus[PCI_SHAPE_CPUS_BYTES];	  /* a mask, as sysfs has it, without the newline */
	char local_cpulist[PCI_SHAPE_CPUS_BYTES]; /* likewise, ranges */
};

/* Whether the text is an address as sysfs writes it: domain, bus, device and function. */
bool pci_shape_is_address(const char *text);

/*
 * Fills the shape of a device at the valid address. The processors are those of the node; all, when
 * this machine has no such node.
 */
void pci_shape_fill(struct pci_shape *shape, const char *address, int numa_node);

#endif
