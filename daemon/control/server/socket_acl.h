/* SPDX-License-Identifier: MIT */
/*
 * Users whom the kernel refuses at the file of a listening socket: connect() fails with EACCES, at
 * their own cost, and the server hears nothing of it. The file's access control list (acl(5)) names
 * them.
 *
 * An administrator may have made a list, too, and what it allows to others stays. An entry of ours
 * has the permission to execute, which means nothing for a socket, and lacks the permission to
 * write. Where the administrator's list names the user with "rw-", the entry becomes "r-x" for the
 * time; who was not named becomes "--x". As long as there are such entries the owner of the file
 * has "--x", too, which the kernel never asks about. By this sign a daemon knows that an earlier
 * one was killed and left entries: those with "x" are then taken for ours. A folder's default list
 * makes such entries without the sign; they lose the "x" when the sign comes. A list that names the
 * owner has no place for the sign, so that it takes no entry of ours.
 *
 * Nobody else may replace the file at the path (socket_directory.h).
 */
#ifndef DAEMON_CONTROL_SERVER_SOCKET_ACL_H
#define DAEMON_CONTROL_SERVER_SOCKET_ACL_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Refuses the user, who is not root: root asks no list. -EALREADY: the list refuses the user
 * already, by an entry of ours or of somebody else. -EEXIST: the user owns the file, or the
 * administrator's list lets the user in in another way. -EOPNOTSUPP, -EPERM, -EROFS, -ENOENT,
 * -ENOSPC, -ERANGE, -EIO and others are of the file: there is no such list here, or it names the
 * owner, or it cannot change. Nothing has changed then.
 */
int socket_acl_bar(const char *path, uid_t uid);

/*
 * Lets the user connect again. `is_last`: no other user is refused by us. 0, also when the user was
 * not refused; or a negative errno.
 */
int socket_acl_admit(const char *path, uid_t uid, bool is_last);

/* Lets all users connect again whom a daemon that was killed has refused. Returns the same. */
int socket_acl_admit_all(const char *path);

#endif
