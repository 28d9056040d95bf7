/* SPDX-License-Identifier: MIT */
/* Turns a path of a program into the path to use: its copy in the view, or itself. */
#ifndef LIB_DROPIN_VIEW_VIEW_REDIRECT_H
#define LIB_DROPIN_VIEW_VIEW_REDIRECT_H

#include "lib/dropin/view/view_path.h"

/*
 * Relative paths are relative to `directory_fd`, AT_FDCWD included. Returns `path`, which may be
 * NULL, or `buffer` with the path of the copy below $RNIC_VIEW, or $RNIC_SOCKET.view. Keeps errno.
 * A path without the view's mark, and so nearly every path, costs one search through it.
 */
const char *rnic_view_redirect(int directory_fd, const char *path,
			       char buffer[RNIC_VIEW_PATH_BYTES]);

#endif
