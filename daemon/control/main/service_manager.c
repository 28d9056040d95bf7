/* SPDX-License-Identifier: MIT */
#include "daemon/control/main/service_manager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MANAGER_FIRST_FD 3 /* SD_LISTEN_FDS_START */
#define MANAGER_READY	 "READY=1"

static bool service_manager_read(const char *name, long *number)
{
	const char *text = getenv(name);
	char *end;

	if (text == NULL)
		return false;
	errno = 0;
	*number = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0')
		*number = -1;
	return true;
}

int service_manager_take_socket(int *fd)
{
	long process, count;
	const bool is_ours = service_manager_read("LISTEN_PID", &process) && process == getpid() &&
			     service_manager_read("LISTEN_FDS", &count);

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (is_ours && count != 1)
		return -EINVAL;
	if (is_ours && fcntl(MANAGER_FIRST_FD, F_SETFD, FD_CLOEXEC) != 0)
		return -errno;
	*fd = is_ours ? MANAGER_FIRST_FD : -1;
	return 0;
}

/* A name that begins with '@' is one of the abstract names, whose first byte is 0. */
static int service_manager_send(const char *name, const char *text)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const size_t length = strlen(name);
	int fd, result;

	if ((name[0] != '/' && name[0] != '@') || length >= sizeof(address.sun_path))
		return -EINVAL;
	memcpy(address.sun_path, name, length);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	result = sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0
			 ? -errno
			 : 0;
	close(fd);
	return result;
}

int service_manager_tell_ready(void)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int result;

	if (name == NULL)
		return 0;
	result = service_manager_send(name, MANAGER_READY);
	unsetenv("NOTIFY_SOCKET");
	return result;
}
