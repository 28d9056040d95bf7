/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_RNICCTL_SHOW_H
#define TOOLS_RNICCTL_SHOW_H

/* rnicctl show: argv[0] is the subcommand's name. Returns the exit status. */
int show_main(int argc, char **argv);

/*
 * Says on standard error that no daemon answers at `path`. A daemon that rnic-run started has ended
 * with its last client, and left its log: the line names it.
 */
void show_complain_of_silence(const char *path);

#endif
