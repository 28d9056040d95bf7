/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_RNICCTL_SHOW_H
#define TOOLS_RNICCTL_SHOW_H

/* rnicctl show: argv[0] is the subcommand's name. Returns the exit status. */
int show_main(int argc, char **argv);

#endif
