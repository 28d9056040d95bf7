/* SPDX-License-Identifier: MIT */
/*
 * Users whose connections cost the control plane too much time. A program may watch its end of a
 * socket by millions of epoll entries, and whoever sends there, takes a message out or closes the
 * other end pays for each of them. No honest program does so. Its connection ends, and for a while
 * its user gets no new one: each time twice as long.
 *
 * The table is fixed. With more such users than places, the one whose time ends first is forgotten.
 * Pure.
 */
#ifndef DAEMON_CLIENT_COSTLY_USERS_H
#define DAEMON_CLIENT_COSTLY_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	COSTLY_USERS_MAX = 64,
	COSTLY_USERS_FIRST_S = 10, /* the first time */
	COSTLY_USERS_LONGEST_S = 600,
	COSTLY_USERS_MEMORY_S = 600, /* behind the end of the time, the user counts as new */
};

struct costly_user {
	uid_t uid;
	uint32_t strikes; /* 0: the place is free */
	uint64_t until_ns;
};

/* Zeroed: there are none. */
struct costly_users {
	struct costly_user users[COSTLY_USERS_MAX];
};

/*
 * Notes that a connection of the user cost too much. Returns how long the user gets no connection,
 * in seconds.
 */
uint32_t costly_users_note(struct costly_users *all, uid_t uid, uint64_t now_ns);

/* Whether the user gets no connection now. */
bool costly_users_are_shut_out(const struct costly_users *all, uid_t uid, uint64_t now_ns);

#endif
