/* SPDX-License-Identifier: MIT */
/*
 * A connection to a daemon for rnicctl: HELLO as administrator, then SHOW and CONDITION. The link
 * owns its socket. Every call is bounded in time: a daemon that does not answer a request within
 * the link's limit, mostly ADMIN_LINK_TIMEOUT_S, is an error, never a hang. Signals end no call; a
 * call that they interrupt takes at most twice as long.
 */
#ifndef LIB_CLIENT_ADMIN_ADMIN_LINK_H
#define LIB_CLIENT_ADMIN_ADMIN_LINK_H

#include "lib/client/admin/admin_page.h"
#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { ADMIN_LINK_TIMEOUT_S = 10 };

struct admin_link {
	int fd;
	uint32_t request_id;
	uint32_t limit_ms;     /* for each answer */
	uid_t owner;	       /* the user of the daemon, as the kernel has it */
	bool refuses_programs; /* of this user, all of them */
	struct rnic_device_attributes device;
	char reason[RNIC_CTL_TEXT_BYTES]; /* the reason of the last failure, a sentence */
};

/*
 * Connects to the daemon at `socket_path` and greets it as `program`. Returns 0; -ENOENT or
 * -ECONNREFUSED when no daemon answers there; -EACCES without the right to the path, while the
 * daemon keeps this user out (rnicd(8)), or when the path is a default place and a stranger serves
 * there (socket_trust.h); the daemon's own refusal; -EPROTO when the answer is not rnicd's. After
 * an error the link is closed and only `reason` is valid.
 */
int admin_link_open(struct admin_link *link, const char *socket_path, const char *program);

/* The same with a limit of its own, for programs that somebody watches. */
int admin_link_open_within(struct admin_link *link, const char *socket_path, const char *program,
			   uint32_t limit_ms);

/*
 * Whether the daemon serves programs of this user: greets it as a program does, and hangs up. 0;
 * else as admin_link_open().
 */
int admin_link_try_use(struct admin_link *link, const char *socket_path, const char *program);
void admin_link_close(struct admin_link *link);

/* Whether this error of admin_link_open() says that there is no daemon: no fault to complain of. */
bool admin_link_is_absence(int error);

/*
 * Greets as `program`. Returns whether a daemon answers at the path, or fails in a way that the
 * user should hear of.
 */
bool admin_link_has_daemon(const char *socket_path, const char *program);

/*
 * Asks for the rows of `kind` (enum rnic_show_kind), from page->cursor on. A page may be empty and
 * not the last. Errors as of admin_link_show(); the page is then undefined.
 */
int admin_link_show_page(struct admin_link *link, uint32_t kind, struct admin_page *page);

/*
 * Asks for all rows of `kind`. On success *rows is one allocation of *count rows of row_bytes each,
 * as admin_page_row() has them, which the caller frees. Returns 0, -ENOMEM, -EPROTO when the answer
 * is not rnicd's, or the daemon's error; `reason` then tells the cause.
 */
int admin_link_show(struct admin_link *link, uint32_t kind, size_t row_bytes, void **rows,
		    size_t *count);

/*
 * Makes a condition happen. On success `text` has the daemon's sentence, or is empty. Errors as of
 * admin_link_show(), and the daemon's refusal.
 */
int admin_link_condition(struct admin_link *link, const struct rnic_ctl_condition *condition,
			 char text[RNIC_CTL_TEXT_BYTES]);

#endif
