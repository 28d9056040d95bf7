/* SPDX-License-Identifier: MIT */
#include "daemon/device/host_process/own_descriptors.h"

#include "daemon/shared/link/process_link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The limit of descriptors where the kernel states none that could be counted to. */
#define OWN_DESCRIPTORS_MAX 65536

static int own_descriptors_option(int name)
{
	int value = -1;
	socklen_t bytes = sizeof(value);

	return getsockopt(PROCESS_LINK_FD, SOL_SOCKET, name, &value, &bytes) == 0 ? value : -1;
}

static int own_descriptors_check_link(void)
{
	struct stat status;
	int flags;

	if (fstat(PROCESS_LINK_FD, &status) != 0)
		return -errno;
	if (!S_ISSOCK(status.st_mode) || own_descriptors_option(SO_DOMAIN) != AF_UNIX ||
	    own_descriptors_option(SO_TYPE) != SOCK_SEQPACKET)
		return -ENOTSOCK;
	flags = fcntl(PROCESS_LINK_FD, F_GETFL);
	if (flags < 0 || fcntl(PROCESS_LINK_FD, F_SETFL, flags | O_NONBLOCK) != 0 ||
	    fcntl(PROCESS_LINK_FD, F_SETFD, FD_CLOEXEC) != 0)
		return -errno;
	return 0;
}

/* A later open() must not become standard error: a log line would go there. */
static int own_descriptors_fill_standard(void)
{
	for (int fd = 0; fd < PROCESS_LINK_FD; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return -EBADF;
	return 0;
}

static void own_descriptors_close_above(void)
{
	struct rlimit files = {.rlim_cur = OWN_DESCRIPTORS_MAX};

	if (syscall(SYS_close_range, PROCESS_LINK_FD + 1, UINT_MAX, 0) == 0)
		return;
	/* Linux before 5.9. */
	getrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur > OWN_DESCRIPTORS_MAX)
		files.rlim_cur = OWN_DESCRIPTORS_MAX;
	for (int fd = PROCESS_LINK_FD + 1; fd < (int)files.rlim_cur; fd++)
		close(fd);
}

int own_descriptors_check(void)
{
	int result = own_descriptors_check_link();

	if (result != 0)
		return result;
	own_descriptors_close_above();
	return own_descriptors_fill_standard();
}
