/* SPDX-License-Identifier: MIT */
/*
 * The user as whom a user id counts in the shares. A user with subordinate user ids (subuid(5)) can
 * be 65,536 users more, with a device process each. newuidmap(1) gives ids by this file alone, so
 * the file says to whom the ids belong: all ids of one owner count as one user together. That user
 * is the owner where the file has the owner's number, and else the first id of the owner's ranges:
 * to find the number of a name takes a name service, which can wait for a network.
 *
 * Device processes stay one for each id: the ids of one owner do not read each other's memory.
 */
#ifndef DAEMON_CONTROL_CLIENTS_SUBORDINATE_IDS_H
#define DAEMON_CONTROL_CLIENTS_SUBORDINATE_IDS_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define SUBORDINATE_IDS_PATH	   "/etc/subuid"
#define SUBORDINATE_IDS_RANGES_MAX 4096 /* further ones count as users of their own */
#define SUBORDINATE_IDS_LOOK_NS	   UINT64_C(100000000)

struct subordinate_range {
	uid_t first;
	uint32_t count;
	uid_t account;
	uint64_t owner; /* a hash of the owner's name */
};

struct subordinate_ids {
	const char *path;
	struct timespec changed; /* of the file that has been read */
	ino_t inode;
	off_t bytes;
	struct subordinate_range *ranges;
	uint32_t count;
	uint64_t look_ns; /* when to look at the file again */
};

/* Reads nothing yet. `path` outlives the object. */
void subordinate_ids_init(struct subordinate_ids *ids, const char *path);
void subordinate_ids_fini(struct subordinate_ids *ids);

/*
 * The user as whom `uid` counts, often `uid` itself. Reads the file when it has changed, and looks
 * for that once in SUBORDINATE_IDS_LOOK_NS; without a file, or without memory, each id is a user.
 */
uid_t subordinate_ids_account(struct subordinate_ids *ids, uid_t uid, uint64_t now_ns);

#endif
