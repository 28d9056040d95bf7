/* SPDX-License-Identifier: MIT */
/*
 * The user for whom a device process works. A control plane of root starts the device process as
 * root, and the device process gives the rights up itself: so no other process of that user could
 * ever attach to it, from its first instruction as that user on.
 */
#ifndef DAEMON_DEVICE_HOST_PROCESS_PROCESS_USER_H
#define DAEMON_DEVICE_HOST_PROCESS_PROCESS_USER_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Becomes the user `uid` with the user's own group and no other, when the process runs as root and
 * `uid` is another user; no saved ID is left. A process of an ordinary user stays as it is, whoever
 * `uid` is. Negative errno with a sentence in `reason`.
 */
int process_user_become(uid_t uid, char *reason, size_t reason_bytes);

/*
 * Ties the process to its parent and closes it for others: the kernel kills the process when the
 * parent ends, nobody may attach to it, it keeps no capability but one for the memory of root's
 * clients, and it gains no rights by execve(). Comes after
 * process_user_become(), which undoes the first two. The caller looks afterwards whether the parent
 * is still there. Negative errno with a sentence in `reason`.
 */
int process_user_close_off(char *reason, size_t reason_bytes);

#endif
