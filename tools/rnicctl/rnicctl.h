/* SPDX-License-Identifier: MIT */
/* The subcommands of rnicctl. argv[0] is the subcommand's name. Each returns the exit status. */
#ifndef TOOLS_RNICCTL_RNICCTL_H
#define TOOLS_RNICCTL_RNICCTL_H

int cdi_main(int argc, char **argv);
int explain_main(int argc, char **argv);
int event_main(int argc, char **argv);
int fault_main(int argc, char **argv);
int link_main(int argc, char **argv);
int metrics_main(int argc, char **argv);
int qp_main(int argc, char **argv);
int record_main(int argc, char **argv);
int serve_main(int argc, char **argv);
int show_main(int argc, char **argv);
int top_main(int argc, char **argv);

#endif
