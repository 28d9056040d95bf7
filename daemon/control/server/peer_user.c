/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/peer_user.h"

#include "daemon/shared/base/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.5; headers of older C libraries lack the constant. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Linux 6.11; <linux/pidfd.h> of older kernels lacks the constant. */
#ifndef PIDFD_GET_USER_NAMESPACE
#define PIDFD_GET_USER_NAMESPACE _IO(0xFF, 9)
#endif

#define PATH_BYTES 64

#define PEER_USER_UNMAPPED ((uid_t)65534) /* unless the system says otherwise */

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
	/* A kernel that knows the process, and refuses, says so: the process has ended. */
	return errno == ENOPROTOOPT ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* Finds the user namespace of a process: by the descriptor, where the kernel can (Linux 6.11). */
static int peer_user_namespace(int pid_fd, pid_t pid, struct stat *found)
{
	char path[PATH_BYTES];
	const int fd = ioctl(pid_fd, PIDFD_GET_USER_NAMESPACE, 0);
	int result;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	result = fd >= 0 ? fstat(fd, found) : stat(path, found);
	if (fd >= 0)
		close(fd);
	return result;
}

/*
 * Whether the process has its capabilities in this process's user namespace. Any process may make a
 * namespace of its own and have all capabilities there. The kernel tells a namespace of root's
 * processes by CAP_SYS_PTRACE alone, which is in force for this call.
 */
static bool peer_user_is_inside(int pid_fd, pid_t pid)
{
	struct stat own, other;
	bool is_inside;

	/* A kernel without user namespaces has no such file. */
	if (stat("/proc/self/ns/user", &own) != 0)
		return errno == ENOENT && access("/proc/self/ns", F_OK) == 0;
	capabilities_use(CAPABILITIES_BIT(CAP_SYS_PTRACE), true);
	is_inside = peer_user_namespace(pid_fd, pid, &other) == 0 && own.st_dev == other.st_dev &&
		    own.st_ino == other.st_ino;
	capabilities_use(CAPABILITIES_BIT(CAP_SYS_PTRACE), false);
	return is_inside;
}

/*
 * Whether the held process has the rights. A process may get capabilities by a new namespace, but
 * cannot come back: so the namespace is the second thing to read.
 */
static bool peer_user_held_has(int pid_fd, pid_t pid, uint64_t rights)
{
	uint64_t permitted;

	if (capabilities_of(pid, &permitted) != 0 || (permitted & rights) != rights)
		return false;
	return (rights & CAPABILITIES_BIT(CAP_SYS_PTRACE)) == 0 || peer_user_is_inside(pid_fd, pid);
}

/*
 * Whether the process that connected has the rights. The number may be another process's by now, so
 * the process must live after its rights were read.
 */
static bool peer_user_has(int fd, pid_t pid, uint64_t rights)
{
	struct pollfd end = {.fd = peer_user_hold(fd, pid), .events = POLLIN};
	bool has_rights;

	if (end.fd < 0)
		return false;
	has_rights = pid > 0 && peer_user_held_has(end.fd, pid, rights) && poll(&end, 1, 0) == 0;
	close(end.fd);
	return has_rights;
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

/* Reads up to `max` numbers at the beginning of a file. Returns how many there are. */
static unsigned peer_user_read_numbers(const char *path, unsigned long *numbers, unsigned max)
{
	char text[PATH_BYTES], *at = text, *end;
	FILE *file = fopen(path, "re");
	unsigned count = 0;

	if (file == NULL)
		return 0;
	if (fgets(text, sizeof(text), file) == NULL)
		text[0] = '\0';
	fclose(file);
	for (; count < max; at = end) {
		numbers[count] = strtoul(at, &end, 10);
		if (end == at)
			break;
		count++;
	}
	return count;
}

uid_t peer_user_unmapped(const char *map_path, const char *unmapped_path)
{
	unsigned long range[3]; /* from here, from there, and how many */
	unsigned long unmapped;

	/* All but the last number, which no user has. */
	if (peer_user_read_numbers(map_path, range, 3) == 3 && range[0] == 0 &&
	    range[2] == UINT32_MAX)
		return PEER_USER_ALL_MAPPED;
	if (peer_user_read_numbers(unmapped_path, &unmapped, 1) == 1)
		return (uid_t)unmapped;
	return PEER_USER_UNMAPPED;
}
