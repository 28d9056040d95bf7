/* SPDX-License-Identifier: MIT */
/* What tells a file from all others, as long as somebody has it open: by showing the same one,
 * clients say that they belong together. */
#ifndef DAEMON_DEVICE_SESSION_INODE_ID_H
#define DAEMON_DEVICE_SESSION_INODE_ID_H

#include <stdbool.h>
#include <stdint.h>

struct inode_id {
	uint32_t device_major;
	uint32_t device_minor;
	uint64_t inode;
};

/*
 * The number of the file behind a client's descriptor, as far as the kernel knows by itself: who
 * serves the file may be the client, and not answer. -EBADF: the descriptor is of O_PATH, to which
 * any name leads; only one of a file that its opener may read or write tells that it is a peer. Or
 * an errno of statx().
 */
int inode_id_of(int fd, struct inode_id *number);

static inline bool inode_id_equal(const struct inode_id *one, const struct inode_id *other)
{
	return one->inode == other->inode && one->device_major == other->device_major &&
	       one->device_minor == other->device_minor;
}

#endif
