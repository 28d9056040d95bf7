/* SPDX-License-Identifier: MIT */
#include "daemon/device/session/inode_id.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

int inode_id_of(int fd, struct inode_id *number)
{
	const int flags = fcntl(fd, F_GETFL);
	struct statx file;

	if (flags < 0 || (flags & O_PATH) != 0)
		return -EBADF;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &file) != 0)
		return -errno;
	*number = (struct inode_id){file.stx_dev_major, file.stx_dev_minor, file.stx_ino};
	return 0;
}
