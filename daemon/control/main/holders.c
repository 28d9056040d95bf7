/* SPDX-License-Identifier: MIT */
#include "daemon/control/main/holders.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

bool holders_exist(const char *socket_path)
{
	struct flock wanted = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[PATH_MAX];
	bool is_held;
	int fd;

	snprintf(path, sizeof(path), "%s.lock", socket_path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	is_held = fcntl(fd, F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
	close(fd);
	return is_held;
}
