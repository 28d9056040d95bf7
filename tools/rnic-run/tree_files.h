/* SPDX-License-Identifier: MIT */
/*
 * Files in a tree that looks like the kernel's: paths are those of the kernel, and `tree` is where
 * they begin. All return 0 or a negative errno; what is there already stays as it is.
 */
#ifndef TOOLS_RNIC_RUN_TREE_FILES_H
#define TOOLS_RNIC_RUN_TREE_FILES_H

#include <limits.h>

/* Writes the path of an entry of the tree. -ENAMETOOLONG. */
int tree_files_path(char path[PATH_MAX], const char *tree, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Makes a directory and those above it. */
int tree_files_add_directory(const char *tree, const char *directory);

int tree_files_add_link(const char *tree, const char *target, const char *directory,
			const char *name);

/* Writes a line. */
int tree_files_add_text(const char *tree, const char *directory, const char *name,
			const char *text);

/* Removes an entry, with all below it. */
int tree_files_remove(const char *tree, const char *directory, const char *name);

/* Removes the whole tree. */
void tree_files_remove_all(const char *tree);

#endif
