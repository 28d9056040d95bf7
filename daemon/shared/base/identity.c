/* SPDX-License-Identifier: MIT */
#include "daemon/shared/base/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct identity identity_own(void)
{
	return (struct identity){.uid = geteuid(), .gid = getegid()};
}

gid_t identity_group_of(uid_t uid)
{
	const struct passwd *entry = getpwuid(uid);

	return entry != NULL ? entry->pw_gid : (gid_t)uid;
}

/* -1 as a number means "unchanged" to the kernel. */
static int identity_number(const char *text, uint32_t *number)
{
	unsigned long value;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -ENOENT;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno != 0 || *end != '\0' || value >= UINT32_MAX)
		return -EINVAL;
	*number = (uint32_t)value;
	return 0;
}

int identity_find_user(const char *text, uid_t *uid)
{
	const struct passwd *entry = getpwnam(text);

	if (entry == NULL)
		return identity_number(text, uid);
	*uid = entry->pw_uid;
	return 0;
}

int identity_find_group(const char *text, gid_t *gid)
{
	const struct group *entry = getgrnam(text);

	if (entry == NULL)
		return identity_number(text, gid);
	*gid = entry->gr_gid;
	return 0;
}

/* Returns whether all IDs are these, and the process cannot become root again. */
static bool identity_is(const struct identity *identity)
{
	const uid_t uid = identity->uid;
	const gid_t gid = identity->gid;
	uid_t real_uid, effective_uid, saved_uid;
	gid_t real_gid, effective_gid, saved_gid;

	if (getresuid(&real_uid, &effective_uid, &saved_uid) != 0 ||
	    getresgid(&real_gid, &effective_gid, &saved_gid) != 0)
		return false;
	return real_uid == uid && effective_uid == uid && saved_uid == uid && real_gid == gid &&
	       effective_gid == gid && saved_gid == gid && getgroups(0, NULL) == 0 &&
	       (uid == 0 || (setuid(0) != 0 && setgid(0) != 0));
}

int identity_become(const struct identity *identity)
{
	const uid_t uid = identity->uid;
	const gid_t gid = identity->gid;

	if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return -errno;
	return identity_is(identity) ? 0 : -EPERM;
}
