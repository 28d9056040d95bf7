/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_RNICCTL_SHOW_H
#define TOOLS_RNICCTL_SHOW_H

#include "admin/admin_link.h"

#include <stdbool.h>

/* rnicctl show: argv[0] is the subcommand's name. Returns the exit status. */
int show_main(int argc, char **argv);

/*
 * Says on standard error that no daemon answers at `path`. A daemon that rnic-run started has ended
 * with its last client, and left its log: the line names it.
 */
void show_complain_of_silence(const char *path);

/*
 * Opens the link to the daemon at `path`. Where nobody answers there and the user names no socket,
 * to the machine's daemon, as rnic-run does. As admin_link_open().
 */
int show_open(struct admin_link *link, const char *path, bool is_named);

#endif
