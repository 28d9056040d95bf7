/* SPDX-License-Identifier: MIT */
/*
 * Users whose connections cost the control plane too much time. A program may watch its end of a
 * socket by millions of epoll entries, and whoever sends there, takes a message out or closes the
 * other end pays for each of them. No honest program does so. The programs of such a user end, and
 * for a while the user gets no connection: each time twice as long.
 *
 * A virtual machine that stands still for a moment looks alike. So the first long calls are
 * forgiven: they follow each other closely only where somebody makes them long. A user who was shut
 * out before is forgiven nothing.
 *
 * The caller names a user as subordinate_ids.h does: all ids of one owner are one user.
 *
 * The table is fixed. With more such users than places, the one whose time ends first is forgotten.
 * Pure.
 */
#ifndef DAEMON_CONTROL_CLIENTS_THROTTLED_USERS_H
#define DAEMON_CONTROL_CLIENTS_THROTTLED_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	THROTTLED_USERS_MAX = 64,
	THROTTLED_USERS_FORGIVEN =
		2, /* long calls of a new user, within THROTTLED_USERS_FORGIVEN_S */
	THROTTLED_USERS_FORGIVEN_S = 10,
	THROTTLED_USERS_FIRST_S = 10, /* the first time */
	THROTTLED_USERS_LONGEST_S = 600,
	THROTTLED_USERS_MEMORY_S = 600, /* behind the end of the time, the user counts as new */
};

struct throttled_user {
	uid_t uid;
	uint32_t calls;	   /* long ones, of a user who was not shut out yet */
	uint32_t times;	   /* that the user was shut out; with `calls` 0 as well: a free place */
	uint32_t attempts; /* connections turned away since the user got the place */
	uint64_t until_ns; /* the end of the time; before the first time: of what is forgiven */
};

/* Zeroed: there are none. */
struct throttled_users {
	struct throttled_user users[THROTTLED_USERS_MAX];
};

/*
 * Notes that a call on a socket of the user took too long. Returns how long the user gets no
 * connection, in seconds; 0: the call is forgiven.
 */
uint32_t throttled_users_note(struct throttled_users *all, uid_t uid, uint64_t now_ns);

/*
 * Counts a connection that was turned away, if the user gets no connection now. Returns the count;
 * 0: the user may connect.
 */
uint32_t throttled_users_count_attempt(struct throttled_users *all, uid_t uid, uint64_t now_ns);

/* Whether the user gets no connection now. */
bool throttled_users_are_shut_out(const struct throttled_users *all, uid_t uid, uint64_t now_ns);

#endif
