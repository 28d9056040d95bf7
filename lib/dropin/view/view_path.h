/* SPDX-License-Identifier: MIT */
/*
 * Decides which paths the view covers, and where their copies are. Pure functions over strings,
 * without allocation: they run inside any program's open(), in signal handlers and after vfork()
 * too.
 */
#ifndef LIB_DROPIN_VIEW_VIEW_PATH_H
#define LIB_DROPIN_VIEW_VIEW_PATH_H

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

/*
 * The same for a path that is covered only when the view has something: writes what into `probe`.
 * These are the PCI devices, which a view may not have at all, the device of a network interface,
 * and paths that lead through a link of the view and above it: from a device up to its parent.
 */
bool rnic_view_map_there(const char *tree, const char *path, char mapped[RNIC_VIEW_PATH_BYTES],
			 char probe[RNIC_VIEW_PATH_BYTES]);

/* Writes `directory`/`relative`; false when that is too long. */
bool rnic_view_join(const char *directory, const char *relative, char joined[RNIC_VIEW_PATH_BYTES]);

/*
 * Turns a path of a program into the path to use: its copy in the view, or itself. Relative paths
 * are relative to `directory_fd`, AT_FDCWD included. Returns `path`, which may be NULL, or `buffer`
 * with the path of the copy below $RNIC_VIEW, or $RNIC_SOCKET.view. Keeps errno. A path without the
 * view's mark, and so nearly every path, costs one search through it.
 */
const char *rnic_view_redirect(int directory_fd, const char *path,
			       char buffer[RNIC_VIEW_PATH_BYTES]);

/*
 * Says why tools that send management datagrams themselves (perfquery, smpquery, ibping) find no
 * device: what they print names a kernel module, which would not help.
 *
 * Writes one line to standard error, once in a process, when `path` is the file that libibumad
 * reads before it opens a port. ibstat, which opens none, does not read it. Writes nothing when
 * descriptor 2 is another file than at the start of the program. Keeps errno.
 */
void rnic_view_explain_umad(const char *path);

#endif
