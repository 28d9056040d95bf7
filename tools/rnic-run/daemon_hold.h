/* SPDX-License-Identifier: MIT */
/*
 * A daemon that rnic-run started ends when nobody uses it. The command may open its device late,
 * for example below a debugger that waits for its user, so the command holds the daemon: it
 * inherits a descriptor with a shared lock on the file beside the socket. The lock ends with the
 * command and all that it left running.
 */
#ifndef TOOLS_RNIC_RUN_DAEMON_HOLD_H
#define TOOLS_RNIC_RUN_DAEMON_HOLD_H

/*
 * Holds the daemon of this socket for this process and the command that replaces it. A daemon that
 * somebody else started has no such file, and goes on anyway.
 */
void daemon_hold(const char *socket);

#endif
