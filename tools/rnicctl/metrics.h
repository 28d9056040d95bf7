/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_RNICCTL_METRICS_H
#define TOOLS_RNICCTL_METRICS_H

/* rnicctl metrics: argv[0] is the subcommand's name. Returns the exit status. */
int metrics_main(int argc, char **argv);

#endif
