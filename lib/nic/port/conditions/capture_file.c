/* SPDX-License-Identifier: MIT */
#include "lib/nic/port/conditions/capture_file.h"

#include "lib/nic/port/port_text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static int file_fail(const char *path, int error, char text[PORT_TEXT_BYTES])
{
	return port_text_error(text, error, "cannot write a capture to %s: %s", path,
			       strerror(-error));
}

/* Whether the path names an open descriptor of this process, as in /dev/fd/3. */
static bool file_is_descriptor(const char *path)
{
	char copy[PATH_MAX];
	struct statfs status;

	return snprintf(copy, sizeof(copy), "%s", path) < (int)sizeof(copy) &&
	       statfs(dirname(copy), &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

/* Whether the file is for this user alone to offer: 0, or an error with a sentence. */
static int file_check(const char *path, const struct stat *status, char text[PORT_TEXT_BYTES])
{
	const bool is_of_device = S_ISCHR(status->st_mode) && status->st_uid == 0;

	if (S_ISLNK(status->st_mode))
		return port_text_error(text, -ELOOP,
				       "cannot write a capture to %.150s, which is a symbolic "
				       "link: name the file itself",
				       path);
	if (status->st_uid != geteuid() && !is_of_device)
		return port_text_error(text, -EPERM,
				       "cannot write a capture to %.150s, which belongs to user "
				       "%u: remove it, or name another file",
				       path, (unsigned)status->st_uid);
	if (S_ISREG(status->st_mode) && status->st_nlink != 1)
		return port_text_error(text, -EPERM,
				       "cannot write a capture to %.150s, which has a second "
				       "name: remove it, or name another file",
				       path);
	return 0;
}

/* Opens the file that `found` has checked, whatever is at its path by now. */
static int file_reopen(int found, const char *path, char text[PORT_TEXT_BYTES])
{
	char own[32];
	int fd;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", found);
	fd = open(own, O_WRONLY | O_TRUNC | O_CLOEXEC);
	return fd >= 0 ? fd : file_fail(path, -errno, text);
}

static int file_open_existing(const char *path, char text[PORT_TEXT_BYTES])
{
	struct stat status;
	int found = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int result;

	if (found < 0)
		return file_fail(path, -errno, text);
	result = fstat(found, &status) == 0 ? file_check(path, &status, text)
					    : file_fail(path, -errno, text);
	if (result == 0)
		result = file_reopen(found, path, text);
	close(found);
	return result;
}

static int file_open_descriptor(const char *path, char text[PORT_TEXT_BYTES])
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	return fd >= 0 ? fd : file_fail(path, -errno, text);
}

int capture_file_open(const char *path, int flags, char text[PORT_TEXT_BYTES])
{
	int fd;

	if (file_is_descriptor(path)) {
		fd = file_open_descriptor(path, text);
	} else {
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			fd = errno == EEXIST ? file_open_existing(path, text)
					     : file_fail(path, -errno, text);
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_NONBLOCK | flags);
	return fd;
}
