/* SPDX-License-Identifier: MIT */
/*
 * Users whom the kernel refuses at the file of a listening socket: connect() fails with EACCES, at
 * their own cost, and the server hears nothing of it. The file's access control list (acl(5)) names
 * them.
 *
 * An administrator may have made a list, too, and what it allows to others stays. An entry of ours
 * has the permission to execute, which means nothing for a socket, and lacks the permission to
 * write. So a daemon finds again what an earlier one left behind. Where the administrator's list
 * names the user with "rw-", the entry becomes "r-x" for the time; other entries become "--x".
 *
 * Nobody else may replace the file at the path (socket_directory.h).
 */
#ifndef DAEMON_CONTROL_SERVER_SOCKET_ACL_H
#define DAEMON_CONTROL_SERVER_SOCKET_ACL_H

#include <sys/types.h>

/*
 * Refuses the user, who is neither root nor the owner of the file: they ask no list. -EEXIST: the
 * administrator's list names the user in another way. -EOPNOTSUPP, -EPERM, -EROFS, -ENOSPC, -ERANGE
 * and others: there is no such list here, or it cannot change. Nothing has changed then.
 */
int socket_acl_bar(const char *path, uid_t uid);

/* Lets the user connect again. 0, also when the user was not refused; or a negative errno. */
int socket_acl_admit(const char *path, uid_t uid);

/* The same for all users whom socket_acl_bar() has refused. */
int socket_acl_admit_all(const char *path);

#endif
