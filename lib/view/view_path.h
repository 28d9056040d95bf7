/* SPDX-License-Identifier: MIT */
/*
 * Which paths the view covers, and where their copies are. Pure functions over strings, without
 * allocation: they run inside any program's open(), in signal handlers and after vfork() too.
 */
#ifndef RNIC_VIEW_PATH_H
#define RNIC_VIEW_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Longer paths than that exist neither in the view nor near it. */
#define RNIC_VIEW_PATH_BYTES 512

/*
 * If the absolute `path` is one of the view's directories or lies below one, writes where its copy
 * is below the directory `tree`. Repeated slashes and "." count for nothing; with ".." a path is
 * covered when that stays below the view's directory. False leaves `mapped` undefined.
 */
bool rnic_view_map(const char *tree, const char *path, char mapped[RNIC_VIEW_PATH_BYTES]);

/* Writes `directory`/`relative`; false when that is too long. */
bool rnic_view_join(const char *directory, const char *relative, char joined[RNIC_VIEW_PATH_BYTES]);

#endif
