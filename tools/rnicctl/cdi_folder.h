/* SPDX-License-Identifier: MIT */
/*
 * Judges whether containers may have the folder of a control socket. A container gets the whole
 * folder, as it is now and as it becomes later. So every socket in it must be one on which an rnicd
 * answers, every other file must belong to such a socket, and nobody may write there, or put
 * another folder in its place, but root, this user and the user of the daemon.
 */
#ifndef TOOLS_RNICCTL_CDI_FOLDER_H
#define TOOLS_RNICCTL_CDI_FOLDER_H

#include <sys/types.h>

/*
 * `folder` is absolute and free of symbolic links; `owner` is the user of the daemon. Returns 0, or
 * a negative errno with a complaint on standard error: containers must not have the folder.
 */
int cdi_folder_check(const char *folder, uid_t owner);

#endif
