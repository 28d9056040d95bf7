/* SPDX-License-Identifier: MIT */
/*
 * As which user the control plane takes the process at the other end of a connection. The kernel
 * says the user; but root in a container is uid 0 as well, unless the container has a user
 * namespace. A process of uid 0 that lacks rights which the daemon had at its start is not the root
 * that may see and have everything, nor is one that has them in another user namespace only: it is
 * PEER_USER_CONTAINED, a user like any other. So a device
 * process of that number serves it, which has no rights on the host and no programs of the host's
 * root.
 */
#ifndef DAEMON_CONTROL_SERVER_PEER_USER_H
#define DAEMON_CONTROL_SERVER_PEER_USER_H

#include <stdint.h>
#include <sys/types.h>

/* The last number that a user can have. Nobody has an account with this number. */
#define PEER_USER_CONTAINED ((uid_t)UINT32_C(0xfffffffe))

/*
 * The rights that tell root from root in a container, of those that this process has: call
 * peer_user_rights() once, before the process gives them up. A process without any of them cannot
 * tell, and takes every uid 0 for root; one without CAP_SYS_PTRACE cannot tell namespaces apart.
 */
uint64_t peer_user_rights(void);

/*
 * Stores the PID of the process that connected to `fd`, and the user as which that process counts
 * for a daemon with these `rights`. Negative errno of getsockopt(2).
 */
int peer_user_of(int fd, uint64_t rights, pid_t *pid, uid_t *uid);

#define PEER_USER_MAP_PATH	"/proc/self/uid_map"
#define PEER_USER_UNMAPPED_PATH "/proc/sys/kernel/overflowuid"

/* Each user has an own number. */
#define PEER_USER_ALL_MAPPED ((uid_t)-1)

/*
 * The number that stands for many users at once: in a user namespace, for all that the namespace
 * has no number for. Reads the namespace's numbers and that number at these paths. Where they
 * cannot be read, the usual number (65534) is taken to stand for many. PEER_USER_ALL_MAPPED: there
 * is none.
 */
uid_t peer_user_unmapped(const char *map_path, const char *unmapped_path);

/*
 * Returns a PID descriptor of the process that connected to `fd`, as the kernel recorded it at that
 * time (Linux 6.5), else of the process that has the number `pid` now. -1: the process has ended,
 * or the kernel has no such descriptors.
 */
int peer_user_hold(int fd, pid_t pid);

#endif
