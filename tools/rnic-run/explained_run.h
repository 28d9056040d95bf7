/* SPDX-License-Identifier: MIT */
/*
 * rnic-run --explain: runs the command as a child and, when the command ends with a failure, prints
 * what the device knows of the command, behind the command's own last words. The library in the
 * command collects that before the end (explain_hook.h); where the library could not, as after
 * SIGKILL, rnicctl is asked afterwards.
 *
 * The end is the command's: its exit status, or its signal. Signals to rnic-run go on to the
 * command, but those of a terminal, which the command gets itself.
 */
#ifndef TOOLS_RNIC_RUN_EXPLAINED_RUN_H
#define TOOLS_RNIC_RUN_EXPLAINED_RUN_H

#include <stdbool.h>

struct rnic_socket_list;

/*
 * Whether RNIC_EXPLAIN=1 asks for an explanation. Another rnic-run around this one, which collects
 * already, has another value.
 */
bool explained_run_is_wanted(void);

/*
 * Forks, and returns in the child, which becomes the command. The parent ends as the child does.
 * Returns -1 after a complaint, without a child.
 */
int explained_run_fork(const struct rnic_socket_list *sockets, const char *command);

#endif
