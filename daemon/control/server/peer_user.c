/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/peer_user.h"

#include "daemon/shared/base/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.5; headers of older C libraries lack the constant. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Whoever has these reaches every process and file of the host; a container's root has neither. */
#define PEER_USER_ROOT_RIGHTS (CAPABILITIES_BIT(CAP_SYS_ADMIN) | CAPABILITIES_BIT(CAP_SYS_PTRACE))

uint64_t peer_user_rights(void)
{
	uint64_t permitted;

	return capabilities_of(getpid(), &permitted) == 0 ? permitted & PEER_USER_ROOT_RIGHTS : 0;
}

int peer_user_hold(int fd, pid_t pid)
{
	int pid_fd = -1;
	socklen_t bytes = sizeof(pid_fd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pid_fd, &bytes) == 0)
		return pid_fd;
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/*
 * Whether the process that connected has the rights. The number may be another process's by now, so
 * the process must live after its rights were read.
 */
static bool peer_user_has(int fd, pid_t pid, uint64_t rights)
{
	struct pollfd end = {.fd = peer_user_hold(fd, pid), .events = POLLIN};
	uint64_t permitted = 0;
	bool has_ended;

	if (end.fd < 0 || pid <= 0 || capabilities_of(pid, &permitted) != 0)
		permitted = 0;
	has_ended = end.fd < 0 || poll(&end, 1, 0) != 0;
	if (end.fd >= 0)
		close(end.fd);
	return !has_ended && (permitted & rights) == rights;
}

int peer_user_of(int fd, uint64_t rights, pid_t *pid, uid_t *uid)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
		return -errno;
	*pid = peer.pid;
	*uid = peer.uid;
	if (peer.uid == 0 && rights != 0 && !peer_user_has(fd, peer.pid, rights))
		*uid = PEER_USER_CONTAINED;
	return 0;
}
