/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/socket_acl.h"

#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define SOCKET_ACL_NAME	       "system.posix_acl_access"
#define SOCKET_ACL_ENTRIES_MAX 512
#define SOCKET_ACL_ANYBODY     ((uid_t)ACL_UNDEFINED_ID)

/* A list as the kernel has it: little-endian, in the order of the tags. */
struct socket_acl {
	struct posix_acl_xattr_header header;
	struct posix_acl_xattr_entry entries[SOCKET_ACL_ENTRIES_MAX];
	uint32_t count;
};

static unsigned entry_tag(const struct posix_acl_xattr_entry *entry)
{
	return le16toh(entry->e_tag);
}

static unsigned entry_rights(const struct posix_acl_xattr_entry *entry)
{
	return le16toh(entry->e_perm);
}

/* Adds an entry at `index`. The list has room for that. */
static void socket_acl_insert(struct socket_acl *acl, uint32_t index, unsigned tag, unsigned rights,
			      uid_t uid)
{
	struct posix_acl_xattr_entry *entry = &acl->entries[index];

	memmove(entry + 1, entry, (acl->count - index) * sizeof(*entry));
	*entry = (struct posix_acl_xattr_entry){
		.e_tag = htole16((uint16_t)tag),
		.e_perm = htole16((uint16_t)rights),
		.e_id = htole32(uid),
	};
	acl->count++;
}

static void socket_acl_remove(struct socket_acl *acl, uint32_t index)
{
	struct posix_acl_xattr_entry *entry = &acl->entries[index];

	acl->count--;
	memmove(entry, entry + 1, (acl->count - index) * sizeof(*entry));
}

/* The first entry with the tag; of a user, that of `uid`. NULL: there is none. */
static struct posix_acl_xattr_entry *socket_acl_find(struct socket_acl *acl, unsigned tag,
						     uid_t uid)
{
	for (uint32_t i = 0; i < acl->count; i++)
		if (entry_tag(&acl->entries[i]) == tag &&
		    (tag != ACL_USER || le32toh(acl->entries[i].e_id) == uid))
			return &acl->entries[i];
	return NULL;
}

/* The list that says the same as the mode of a file without a list. */
static void socket_acl_of_mode(struct socket_acl *acl, mode_t mode)
{
	acl->count = 0;
	socket_acl_insert(acl, 0, ACL_USER_OBJ, (mode >> 6) & 7, SOCKET_ACL_ANYBODY);
	socket_acl_insert(acl, 1, ACL_GROUP_OBJ, (mode >> 3) & 7, SOCKET_ACL_ANYBODY);
	socket_acl_insert(acl, 2, ACL_OTHER, mode & 7, SOCKET_ACL_ANYBODY);
}

static int socket_acl_read(struct socket_acl *acl, const char *path)
{
	struct stat status;
	ssize_t bytes;

	if (lstat(path, &status) != 0)
		return -errno;
	if (!S_ISSOCK(status.st_mode))
		return -ENOTSOCK;
	bytes = lgetxattr(path, SOCKET_ACL_NAME, acl, sizeof(acl->header) + sizeof(acl->entries));
	acl->header.a_version = htole32(POSIX_ACL_XATTR_VERSION);
	if (bytes < 0 && errno != ENODATA)
		return -errno;
	if (bytes < 0)
		socket_acl_of_mode(acl, status.st_mode);
	else
		acl->count =
			(uint32_t)(((size_t)bytes - sizeof(acl->header)) / sizeof(acl->entries[0]));
	return 0;
}

static int socket_acl_write(const struct socket_acl *acl, const char *path)
{
	const size_t bytes = sizeof(acl->header) + acl->count * sizeof(acl->entries[0]);

	return lsetxattr(path, SOCKET_ACL_NAME, acl, bytes, 0) == 0 ? 0 : -errno;
}

/* A list that names somebody has a mask, which bounds what the group and the named ones may. */
static void socket_acl_add_mask(struct socket_acl *acl)
{
	if (socket_acl_find(acl, ACL_MASK, 0) == NULL)
		socket_acl_insert(acl, acl->count - 1, ACL_MASK,
				  entry_rights(socket_acl_find(acl, ACL_GROUP_OBJ, 0)),
				  SOCKET_ACL_ANYBODY);
}

/* A list that names nobody any more is a mode. chmod(2) has meanwhile changed the mask alone. */
static void socket_acl_drop_mask(struct socket_acl *acl)
{
	struct posix_acl_xattr_entry *mask = socket_acl_find(acl, ACL_MASK, 0);

	for (uint32_t i = 0; i < acl->count; i++)
		if (entry_tag(&acl->entries[i]) == ACL_USER ||
		    entry_tag(&acl->entries[i]) == ACL_GROUP)
			return;
	if (mask == NULL)
		return;
	socket_acl_find(acl, ACL_GROUP_OBJ, 0)->e_perm = mask->e_perm;
	socket_acl_remove(acl, (uint32_t)(mask - acl->entries));
}

/* Refuses a user whom the list names already. */
static int entry_bar(struct posix_acl_xattr_entry *entry)
{
	if ((entry_rights(entry) & ACL_WRITE) == 0)
		return 0;
	if (entry_rights(entry) != (ACL_READ | ACL_WRITE))
		return -EEXIST;
	entry->e_perm = htole16(ACL_READ | ACL_EXECUTE);
	return 0;
}

int socket_acl_bar(const char *path, uid_t uid)
{
	struct socket_acl acl;
	struct posix_acl_xattr_entry *entry;
	int result = socket_acl_read(&acl, path);

	if (result != 0)
		return result;
	entry = socket_acl_find(&acl, ACL_USER, uid);
	if (entry != NULL)
		result = entry_bar(entry);
	else if (acl.count > SOCKET_ACL_ENTRIES_MAX - 2)
		result = -ERANGE;
	else {
		/* Behind the owner, who comes first. */
		socket_acl_insert(&acl, 1, ACL_USER, ACL_EXECUTE, uid);
		socket_acl_add_mask(&acl);
	}
	return result == 0 ? socket_acl_write(&acl, path) : result;
}

static bool entry_is_barred(const struct posix_acl_xattr_entry *entry)
{
	return entry_tag(entry) == ACL_USER &&
	       (entry_rights(entry) & (ACL_WRITE | ACL_EXECUTE)) == ACL_EXECUTE;
}

/* Returns whether the list has changed. */
static bool socket_acl_admit_some(struct socket_acl *acl, bool is_for_all, uid_t uid)
{
	bool has_changed = false;

	for (uint32_t i = acl->count; i-- > 0;) {
		struct posix_acl_xattr_entry *entry = &acl->entries[i];

		if (!entry_is_barred(entry) || (!is_for_all && le32toh(entry->e_id) != uid))
			continue;
		has_changed = true;
		if ((entry_rights(entry) & ACL_READ) != 0)
			entry->e_perm = htole16(ACL_READ | ACL_WRITE);
		else
			socket_acl_remove(acl, i);
	}
	if (has_changed)
		socket_acl_drop_mask(acl);
	return has_changed;
}

static int socket_acl_admit_users(const char *path, bool is_for_all, uid_t uid)
{
	struct socket_acl acl;
	int result = socket_acl_read(&acl, path);

	if (result != 0 || !socket_acl_admit_some(&acl, is_for_all, uid))
		return result;
	return socket_acl_write(&acl, path);
}

int socket_acl_admit(const char *path, uid_t uid)
{
	return socket_acl_admit_users(path, false, uid);
}

int socket_acl_admit_all(const char *path)
{
	return socket_acl_admit_users(path, true, 0);
}
