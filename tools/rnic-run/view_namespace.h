/* SPDX-License-Identifier: MIT */
/*
 * The path view by mount namespace: for this process and what it becomes, and for static programs
 * too, the daemon's directories lie where the kernel's would. Whoever may mount gets a mount
 * namespace only; everybody else a user namespace around it, in which they stay who they are.
 */
#ifndef TOOLS_RNIC_RUN_VIEW_NAMESPACE_H
#define TOOLS_RNIC_RUN_VIEW_NAMESPACE_H

/*
 * Moves this process, which must have one thread, into the namespaces. `tree` is the daemon's
 * SOCKET.view. Returns 0, or -1 after a line that says what the kernel refused; the process is then
 * good for nothing but to exit.
 */
int view_namespace_enter(const char *tree);

#endif
