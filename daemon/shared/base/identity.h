/* SPDX-License-Identifier: MIT */
/*
 * The user and the group that a process of root becomes, for good: all IDs change, and nothing of
 * root is left to return to.
 */
#ifndef DAEMON_SHARED_BASE_IDENTITY_H
#define DAEMON_SHARED_BASE_IDENTITY_H

#include <sys/types.h>

struct identity {
	uid_t uid;
	gid_t gid;
};

/* The user and the group that the process has now. */
struct identity identity_own(void);

/* The group of the user's account; a user without an account has the group of the same number. */
gid_t identity_group_of(uid_t uid);

/*
 * Stores the number of a user or group that `text` names: the name of an account, or a number of
 * any user. -ENOENT: there is no such account; -EINVAL: no number that a user can have.
 */
int identity_find_user(const char *text, uid_t *uid);
int identity_find_group(const char *text, gid_t *gid);

/*
 * Becomes the user and the group, and leaves all other groups. A process that stays root changes
 * its group alone. Negative errno: the kernel refuses, or -EPERM when the process could become root
 * again. After a failure the process should end: some IDs may have changed.
 */
int identity_become(const struct identity *identity);

#endif
