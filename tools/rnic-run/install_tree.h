/* SPDX-License-Identifier: MIT */
/*
 * Where the rest of the project is, seen from this program, in the build tree and in an
 * installation, wherever that was moved to.
 */
#ifndef TOOLS_RNIC_RUN_INSTALL_TREE_H
#define TOOLS_RNIC_RUN_INSTALL_TREE_H

#include <limits.h>

/* Each writes an absolute path and returns 0, or a negative errno when it is not there. */
int install_tree_daemon(char path[PATH_MAX]);
int install_tree_verbs_directory(char path[PATH_MAX]);
int install_tree_view_directory(char path[PATH_MAX]); /* of librnic-view.so */

#endif
