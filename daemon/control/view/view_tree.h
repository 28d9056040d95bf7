/* SPDX-License-Identifier: MIT */
/*
 * A directory of ours with files for other readers. Making, filling and removing it never follow a
 * symbolic link that somebody else put in its way. Its owner holds it open; all paths are relative
 * to it and are our own.
 *
 * Invariant: nobody but its owner can write in it, so its content is the owner's.
 */
#ifndef DAEMON_CONTROL_VIEW_VIEW_TREE_H
#define DAEMON_CONTROL_VIEW_VIEW_TREE_H

#include <sys/types.h>

#define VIEW_TREE_PATH_BYTES   128
#define VIEW_TREE_REASON_BYTES 256

struct view_tree {
	char path[VIEW_TREE_PATH_BYTES];
	dev_t device;
	ino_t inode;
	int fd;
};

/*
 * Makes the directory at `path` with `mode`, and first removes one that a daemon of ours left
 * behind. -EEXIST when something else is there, -ENAMETOOLONG, other negative errno; with a
 * sentence in `reason`.
 */
int view_tree_create(struct view_tree *tree, const char *path, mode_t mode,
		     char reason[VIEW_TREE_REASON_BYTES]);

/* Removes the directory with its content, if the entry at its path is still ours, and closes it. */
void view_tree_remove(struct view_tree *tree);

/*
 * Each returns 0 or a negative errno. The call replaces an existing file or link and keeps a
 * directory.
 */
int view_tree_add_directory(const struct view_tree *tree, const char *path);
int view_tree_add_link(const struct view_tree *tree, const char *path, const char *target);
int view_tree_add_text(const struct view_tree *tree, const char *path, const char *text);

/*
 * As view_tree_add_text(); returns a descriptor for writing to the file, which nobody else can
 * write.
 */
int view_tree_add_open(const struct view_tree *tree, const char *path, const char *text);

/* Removes a file or link; a missing one is no error. */
int view_tree_drop(const struct view_tree *tree, const char *path);

#endif
