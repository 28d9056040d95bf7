/* SPDX-License-Identifier: MIT */
/*
 * Finds the rest of the project from this program's own place, in the build tree and in an
 * installation, also after a move of the installation.
 */
#ifndef TOOLS_SUPPORT_INSTALL_TREE_H
#define TOOLS_SUPPORT_INSTALL_TREE_H

#include <limits.h>

/*
 * Each function writes an absolute path and returns 0, or a negative errno when the file is
 * missing.
 */
int install_tree_daemon(char path[PATH_MAX]);
int install_tree_control(char path[PATH_MAX]);			/* rnicctl */
int install_tree_helper(const char *name, char path[PATH_MAX]); /* of libexec/rnic */
int install_tree_verbs_directory(char path[PATH_MAX]);
int install_tree_view_directory(char path[PATH_MAX]); /* the directory of librnic-view.so */

#endif
