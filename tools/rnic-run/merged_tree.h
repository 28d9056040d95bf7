/* SPDX-License-Identifier: MIT */
/* The files of a merged view: see merged_view.h. Paths in it are those of the kernel. */
#ifndef TOOLS_RNIC_RUN_MERGED_TREE_H
#define TOOLS_RNIC_RUN_MERGED_TREE_H

#include "lib/client/native/device_list.h"

#include <stdbool.h>

/* Makes the directories below `tree`, which are empty of devices. Negative errno. */
int merged_tree_create(const char *tree);

/*
 * Shows a device, or shows it no longer. Both may be so already. Negative errno: another try may
 * succeed.
 */
int merged_tree_show(const char *tree, const struct rnic_listed_device *device);
int merged_tree_hide(const char *tree, const struct rnic_listed_device *device);

/* Whether the device's daemon has its view. */
bool merged_tree_is_there(const struct rnic_listed_device *device);

#endif
