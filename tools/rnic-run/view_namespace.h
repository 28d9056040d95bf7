/* SPDX-License-Identifier: MIT */
/*
 * The path view by mount namespace: this process, the program that it becomes, and static programs
 * too, find the daemon's directories at the kernel's places. A user with the right to mount gets a
 * mount namespace only; every other user gets a user namespace around it, and keeps user and group
 * there.
 */
#ifndef TOOLS_RNIC_RUN_VIEW_NAMESPACE_H
#define TOOLS_RNIC_RUN_VIEW_NAMESPACE_H

/*
 * Moves this process, which must have one thread, into the namespaces. `tree` is the daemon's
 * SOCKET.view. Returns 0, or -1 after a line with the step that the kernel refused; the process can
 * then only exit.
 */
int view_namespace_enter(const char *tree);

#endif
