/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_RNICCTL_CDI_H
#define TOOLS_RNICCTL_CDI_H

/* rnicctl cdi: argv[0] is the subcommand's name. Returns the exit status. */
int cdi_main(int argc, char **argv);

#endif
