/* SPDX-License-Identifier: MIT */
/* Commands that rnic-run started: each holds a lock beside the socket, with a device or without. */
#ifndef DAEMON_CONTROL_MAIN_HOLDERS_H
#define DAEMON_CONTROL_MAIN_HOLDERS_H

#include <stdbool.h>

/* Whether a command still runs. Without the file beside the socket there is none. */
bool holders_exist(const char *socket_path);

#endif
