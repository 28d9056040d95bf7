/* SPDX-License-Identifier: MIT */
/*
 * Decides which paths the view covers, and where their copies are. Pure functions over strings,
 * without allocation: they run inside any program's open(), in signal handlers and after vfork()
 * too.
 */
#ifndef RNIC_VIEW_PATH_H
#define RNIC_VIEW_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The view and its surroundings have no longer paths. */
#define RNIC_VIEW_PATH_BYTES 512

/*
 * If the absolute `path` is one of the view's directories or lies below one, writes the place of
 * its copy below the directory `tree`. Repeated slashes and "." count for nothing; a path with ".."
 * is covered when it stays below the view's directory. False leaves `mapped` undefined.
 */
bool rnic_view_map(const char *tree, const char *path, char mapped[RNIC_VIEW_PATH_BYTES]);

/* Writes `directory`/`relative`; false when that is too long. */
bool rnic_view_join(const char *directory, const char *relative, char joined[RNIC_VIEW_PATH_BYTES]);

#endif
