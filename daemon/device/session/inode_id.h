/* SPDX-License-Identifier: MIT */
/*
 * An identity that distinguishes a file from all others while somebody has the file open. Clients
 * that show the same file say that they belong together.
 */
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
 * Stores the identity of the file behind a client's descriptor, as the kernel knows it without
 * asking the file's server: the client may be that server, and not answer. -EBADF: the descriptor
 * is an O_PATH descriptor. Any path name gives an O_PATH descriptor; only a descriptor of a file
 * that its opener may read or write proves a peer. Else a negative errno of statx().
 */
int inode_id_of(int fd, struct inode_id *number);

static inline bool inode_id_equal(const struct inode_id *one, const struct inode_id *other)
{
	return one->inode == other->inode && one->device_major == other->device_major &&
	       one->device_minor == other->device_minor;
}

#endif
