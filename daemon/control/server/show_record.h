/* SPDX-License-Identifier: MIT */
/* The rows of SHOW RECORD: what the flight recorders of device processes have, also of ended ones.
 */
#ifndef DAEMON_CONTROL_SERVER_SHOW_RECORD_H
#define DAEMON_CONTROL_SERVER_SHOW_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct client_set;
struct show_rows;

/*
 * Whether `viewer` may see what `owner` has. Keys and packet numbers are enough to forge a packet,
 * so only the owner, root and the daemon's user see them.
 */
bool show_is_permitted_to(uid_t viewer, uid_t owner);

/*
 * Adds rows from the cursor on, as far as `viewer` may see them. A reply costs a bounded time.
 * Returns the cursor of the next reply; 0: these were the last.
 */
uint32_t show_record(const struct client_set *set, uid_t viewer, struct show_rows *rows,
		     uint32_t cursor);

#endif
