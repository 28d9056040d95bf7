/* SPDX-License-Identifier: MIT */
/*
 * Users whom the kernel refuses at the control socket for a while (socket_acl.h), because they go
 * on connecting though they are turned away. To turn a connection away costs time at the control
 * plane's priority, however little each takes.
 *
 * The table is fixed, and the ids of one account (subordinate_ids.h) have few of its places: who is
 * not in it is turned away one by one.
 */
#ifndef DAEMON_CONTROL_SERVER_BARRED_USERS_H
#define DAEMON_CONTROL_SERVER_BARRED_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	BARRED_USERS_MAX = 64,
	BARRED_USERS_OF_ACCOUNT_MAX = 8,
};

#define BARRED_USERS_REVIEW_NS UINT64_C(50000000)
#define BARRED_USERS_LINE_NS   UINT64_C(10000000000)

struct barred_user {
	uid_t uid;
	uid_t account;
};

/* A line of the log about a user, and until when there is no other one. */
struct barred_users_line {
	uid_t uid;
	uint64_t until_ns;
};

/* Zeroed: there are none. */
struct barred_users {
	struct barred_user users[BARRED_USERS_MAX];
	uint32_t count;
	uint64_t review_ns; /* while there are any, when to ask who may connect again */
	struct barred_users_line lines[BARRED_USERS_MAX];
};

/*
 * Bars the user at the socket of `path`, also one whose entry somebody has removed meanwhile. 0:
 * the list refuses the user. -EUSERS: there is no place. Other negative errno of socket_acl_bar().
 * Without success nothing has changed.
 */
int barred_users_add(struct barred_users *all, const char *path, uid_t uid, uid_t account,
		     uint64_t now_ns);

/* Lets those connect again of whose accounts `is_over` says so, at their time. */
void barred_users_review(struct barred_users *all, const char *path,
			 bool (*is_over)(const void *context, uid_t account), const void *context,
			 uint64_t now_ns);

/* Lets all of them connect again, so far as the file can change: the daemon ends. */
void barred_users_admit(struct barred_users *all, const char *path);

/*
 * Whether the log may have a line about this user, which counts as written then: one in
 * BARRED_USERS_LINE_NS, and BARRED_USERS_MAX about all users together. A user may be barred and
 * admitted by turns.
 */
bool barred_users_note_line(struct barred_users *all, uid_t uid, uint64_t now_ns);

/* When barred_users_review() has something to do; UINT64_MAX: nobody is barred. */
uint64_t barred_users_next_deadline_ns(const struct barred_users *all);

#endif
