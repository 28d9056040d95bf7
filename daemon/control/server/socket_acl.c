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
#define SOCKET_ACL_ENTRIES_MIN 3 /* of the owner, the group and the others */
#define SOCKET_ACL_ENTRIES_MAX 512
#define SOCKET_ACL_ANYBODY     ((uid_t)ACL_UNDEFINED_ID)

/* A list as the kernel has it: little-endian, in the order of the tags. */
struct socket_acl {
	struct posix_acl_xattr_header header;
	struct posix_acl_xattr_entry entries[SOCKET_ACL_ENTRIES_MAX];
	uint32_t count;
	uid_t owner; /* of the file */
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
	acl->header.a_version = htole32(POSIX_ACL_XATTR_VERSION);
	acl->count = 0;
	socket_acl_insert(acl, 0, ACL_USER_OBJ, (mode >> 6) & 7, SOCKET_ACL_ANYBODY);
	socket_acl_insert(acl, 1, ACL_GROUP_OBJ, (mode >> 3) & 7, SOCKET_ACL_ANYBODY);
	socket_acl_insert(acl, 2, ACL_OTHER, mode & 7, SOCKET_ACL_ANYBODY);
}

/*
 * Whether the first `bytes` bytes, which a file system has answered, are a list with the entries
 * that the functions here rely on. Counts the entries.
 */
static bool socket_acl_is_sound(struct socket_acl *acl, size_t bytes)
{
	const size_t header_bytes = sizeof(acl->header), entry_bytes = sizeof(acl->entries[0]);

	if (bytes < header_bytes + SOCKET_ACL_ENTRIES_MIN * entry_bytes ||
	    (bytes - header_bytes) % entry_bytes != 0 ||
	    le32toh(acl->header.a_version) != POSIX_ACL_XATTR_VERSION)
		return false;
	acl->count = (uint32_t)((bytes - header_bytes) / entry_bytes);
	return entry_tag(&acl->entries[0]) == ACL_USER_OBJ &&
	       entry_tag(&acl->entries[acl->count - 1]) == ACL_OTHER &&
	       socket_acl_find(acl, ACL_GROUP_OBJ, 0) != NULL;
}

static int socket_acl_read(struct socket_acl *acl, const char *path)
{
	struct stat status;
	ssize_t bytes;

	if (lstat(path, &status) != 0)
		return -errno;
	if (!S_ISSOCK(status.st_mode))
		return -ENOTSOCK;
	acl->owner = status.st_uid;
	bytes = lgetxattr(path, SOCKET_ACL_NAME, acl, sizeof(acl->header) + sizeof(acl->entries));
	if (bytes >= 0)
		return socket_acl_is_sound(acl, (size_t)bytes) ? 0 : -EIO;
	if (errno != ENODATA)
		return -errno;
	socket_acl_of_mode(acl, status.st_mode);
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

/*
 * A list that names nobody any more is a mode. chmod(2) has meanwhile changed the mask alone: what
 * the mask takes from the group is gone. A mask with more than the group has is not ours, or no
 * more: it stays, else the group would get more than the list gave.
 */
static void socket_acl_drop_mask(struct socket_acl *acl)
{
	struct posix_acl_xattr_entry *group = socket_acl_find(acl, ACL_GROUP_OBJ, 0);
	struct posix_acl_xattr_entry *mask = socket_acl_find(acl, ACL_MASK, 0);

	for (uint32_t i = 0; i < acl->count; i++)
		if (entry_tag(&acl->entries[i]) == ACL_USER ||
		    entry_tag(&acl->entries[i]) == ACL_GROUP)
			return;
	if (mask == NULL || (entry_rights(mask) & ~entry_rights(group)) != 0)
		return;
	group->e_perm = mask->e_perm;
	socket_acl_remove(acl, (uint32_t)(mask - acl->entries));
}

/*
 * The sign that entries of ours are in the list: one for the owner of the file, whom the kernel
 * asks no list about. NULL: there is none.
 */
static struct posix_acl_xattr_entry *socket_acl_find_sign(struct socket_acl *acl)
{
	struct posix_acl_xattr_entry *entry = socket_acl_find(acl, ACL_USER, acl->owner);

	return entry != NULL && entry_rights(entry) == ACL_EXECUTE ? entry : NULL;
}

/* Refuses a user whom the list names already. */
static int entry_bar(struct posix_acl_xattr_entry *entry)
{
	if ((entry_rights(entry) & ACL_WRITE) == 0)
		return -EALREADY;
	if (entry_rights(entry) != (ACL_READ | ACL_WRITE))
		return -EEXIST;
	entry->e_perm = htole16(ACL_READ | ACL_EXECUTE);
	return 0;
}

static bool entry_is_barred(const struct posix_acl_xattr_entry *entry)
{
	return entry_tag(entry) == ACL_USER &&
	       (entry_rights(entry) & (ACL_WRITE | ACL_EXECUTE)) == ACL_EXECUTE;
}

/*
 * With the sign, entries with "x" are ours. Others that have it, of a folder's default list, lose
 * it, which changes no right.
 */
static int socket_acl_add_sign(struct socket_acl *acl)
{
	if (socket_acl_find_sign(acl) != NULL)
		return 0;
	if (socket_acl_find(acl, ACL_USER, acl->owner) != NULL)
		return -EOPNOTSUPP;
	for (uint32_t i = 0; i < acl->count; i++)
		if (entry_is_barred(&acl->entries[i]))
			acl->entries[i].e_perm &= ~htole16(ACL_EXECUTE);
	/* Users come behind the owner's own entry, which is the first. */
	socket_acl_insert(acl, 1, ACL_USER, ACL_EXECUTE, acl->owner);
	return 0;
}

/* The list has room for three entries. */
static int socket_acl_add(struct socket_acl *acl, uid_t uid)
{
	int result = socket_acl_add_sign(acl);
	struct posix_acl_xattr_entry *entry = socket_acl_find(acl, ACL_USER, uid);

	if (result != 0)
		return result;
	if (entry != NULL)
		return entry_bar(entry);
	socket_acl_insert(acl, 1, ACL_USER, ACL_EXECUTE, uid);
	socket_acl_add_mask(acl);
	return 0;
}

int socket_acl_bar(const char *path, uid_t uid)
{
	struct socket_acl acl;
	int result = socket_acl_read(&acl, path);

	if (result == 0 && acl.count > SOCKET_ACL_ENTRIES_MAX - 3)
		result = -ERANGE;
	else if (result == 0 && uid == acl.owner)
		result = -EEXIST;
	else if (result == 0)
		result = socket_acl_add(&acl, uid);
	return result == 0 ? socket_acl_write(&acl, path) : result;
}

/* Takes back what socket_acl_add() did with this entry. Returns whether the list has changed. */
static bool socket_acl_take_back(struct socket_acl *acl, struct posix_acl_xattr_entry *entry)
{
	if (entry == NULL || !entry_is_barred(entry))
		return false;
	if ((entry_rights(entry) & ACL_READ) != 0)
		entry->e_perm = htole16(ACL_READ | ACL_WRITE);
	else
		socket_acl_remove(acl, (uint32_t)(entry - acl->entries));
	return true;
}

int socket_acl_admit(const char *path, uid_t uid, bool is_last)
{
	struct socket_acl acl;
	bool has_changed;
	int result = socket_acl_read(&acl, path);

	if (result != 0)
		return result;
	has_changed = socket_acl_take_back(&acl, socket_acl_find(&acl, ACL_USER, uid));
	if (is_last && socket_acl_take_back(&acl, socket_acl_find_sign(&acl)))
		has_changed = true;
	if (!has_changed)
		return 0;
	socket_acl_drop_mask(&acl);
	return socket_acl_write(&acl, path);
}

int socket_acl_admit_all(const char *path)
{
	struct socket_acl acl;
	int result = socket_acl_read(&acl, path);

	if (result != 0 || socket_acl_find_sign(&acl) == NULL)
		return result;
	for (uint32_t i = acl.count; i-- > 0;)
		socket_acl_take_back(&acl, &acl.entries[i]);
	socket_acl_drop_mask(&acl);
	return socket_acl_write(&acl, path);
}
