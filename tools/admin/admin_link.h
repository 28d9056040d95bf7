/* SPDX-License-Identifier: MIT */
/*
 * A connection to a daemon for looking only: HELLO as administrator, then SHOW. The link owns its
 * socket. Every call is bounded in time: a daemon that does not answer within ADMIN_LINK_TIMEOUT_S
 * is an error, never a hang.
 */
#ifndef TOOLS_ADMIN_LINK_H
#define TOOLS_ADMIN_LINK_H

#include "ctl/ctl_message.h"

#include <stddef.h>

enum { ADMIN_LINK_TIMEOUT_S = 10 };

struct admin_link {
	int fd;
	uint32_t request_id;
	struct rnic_device_attributes device;
	char reason[RNIC_CTL_TEXT_BYTES]; /* the reason of the last failure, a sentence */
};

/*
 * Connects to the daemon at `socket_path` and greets it as `program`. Returns 0; -ENOENT or
 * -ECONNREFUSED when no daemon answers there; -EACCES without the right to the path; the daemon's
 * own refusal; -EPROTO when the answer is not rnicd's. After an error the link is closed and only
 * `reason` is valid.
 */
int admin_link_open(struct admin_link *link, const char *socket_path, const char *program);
void admin_link_close(struct admin_link *link);

/*
 * Asks for all rows of `kind` (enum rnic_show_kind). On success *rows is one allocation of *count
 * rows of row_bytes each, which the caller frees. Returns 0, -ENOMEM, -EPROTO when the daemon's
 * rows have another size, or the daemon's error; `reason` then tells the cause.
 */
int admin_link_show(struct admin_link *link, uint32_t kind, size_t row_bytes, void **rows,
		    size_t *count);

#endif
