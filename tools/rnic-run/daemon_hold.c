/* SPDX-License-Identifier: MIT */
#include "tools/rnic-run/daemon_hold.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* Programs count on the low numbers that they open themselves. */
#define HOLD_FD 100

void daemon_hold(const char *socket)
{
	struct flock hold = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	char path[PATH_MAX];
	int fd, high_fd;

	snprintf(path, sizeof(path), "%s.lock", socket);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	high_fd = fcntl(fd, F_DUPFD, HOLD_FD);
	if (high_fd >= 0) {
		close(fd);
		fd = high_fd;
	}
	if (fcntl(fd, F_OFD_SETLK, &hold) != 0)
		close(fd);
}
