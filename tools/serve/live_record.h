/* SPDX-License-Identifier: MIT */
/* The flight recorders of a daemon that runs, as a file of rnicctl record save. */
#ifndef TOOLS_SERVE_LIVE_RECORD_H
#define TOOLS_SERVE_LIVE_RECORD_H

/*
 * Asks the daemon at `socket`, for some seconds at most. Returns a descriptor of the file, which
 * the caller closes, or a negative errno: of admin_link.h, of memfd_create(), or of writing.
 */
int live_record_open(const char *socket);

#endif
