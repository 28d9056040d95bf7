/* SPDX-License-Identifier: MIT */
/*
 * The machine's own PCI devices and buses in the view: programs that look at all of them find the
 * device of --pci among them. They are those of the daemon's start.
 */
#ifndef DAEMON_CONTROL_VIEW_PCI_LISTINGS_H
#define DAEMON_CONTROL_VIEW_PCI_LISTINGS_H

#include "daemon/control/view/view_tree.h"

/*
 * Adds links to them, without those whose names the view has already. The listings have the very
 * links of the kernel, whose targets programs compare. Negative errno: the view
 * cannot be written. A machine without PCI has none to add.
 */
int pci_listings_add(const struct view_tree *tree);

#endif
