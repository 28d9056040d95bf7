/* SPDX-License-Identifier: MIT */
/*
 * The path view of a command with several devices: a directory of links into the views that their
 * daemons keep up to date. It has their names in the command, and uverbs of their numbers.
 *
 * rnic-run becomes the command, so a keeper stays behind: a process that removes the directory when
 * the command, and all that it left running, have ended. They hold a pipe open that the keeper
 * reads, at a number above those that programs count on. Meanwhile the keeper takes the devices out
 * of the directory whose daemons end, and puts in those that come back.
 */
#ifndef TOOLS_RNIC_RUN_MERGED_VIEW_H
#define TOOLS_RNIC_RUN_MERGED_VIEW_H

#include "lib/client/native/device_list.h"

#define MERGED_VIEW_PATH_BYTES 200

/*
 * Makes the view of these devices. Negative errno after a complaint; nothing is left then.
 */
int merged_view_start(const struct rnic_device_list *devices, char path[MERGED_VIEW_PATH_BYTES]);

#endif
