/* SPDX-License-Identifier: MIT */
/* The rows of SHOW for the paths of a session: one for each destination of its reliable QPs. */
#ifndef DAEMON_DEVICE_DEVICE_SHOW_PATHS_H
#define DAEMON_DEVICE_DEVICE_SHOW_PATHS_H

struct session;
struct show_rows;

/* Adds the rows, by destination. When memory is short there are none. */
void device_show_paths(const struct session *session, struct show_rows *rows);

#endif
