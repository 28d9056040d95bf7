/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/subordinate_ids.h"

#include "daemon/shared/quota/user_quota.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_BYTES 512

void subordinate_ids_init(struct subordinate_ids *ids, const char *path)
{
	*ids = (struct subordinate_ids){.path = path};
}

static void subordinate_ids_forget(struct subordinate_ids *ids)
{
	free(ids->ranges);
	subordinate_ids_init(ids, ids->path);
}

void subordinate_ids_fini(struct subordinate_ids *ids)
{
	subordinate_ids_forget(ids);
}

/* FNV-1a. Root writes the names, so nobody makes two of them alike on purpose. */
static uint64_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name != '\0'; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return hash;
}

/* Reads a whole number up to `end`. False: that is none of 32 bits. */
static bool read_number(const char *text, char end, uint32_t *number)
{
	unsigned long long value;
	char *rest;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtoull(text, &rest, 10);
	if (errno != 0 || value > UINT32_MAX || *rest != end)
		return false;
	*number = (uint32_t)value;
	return true;
}

/*
 * The user as whom the owner's ids count: as those of the owner's first range. No id counts as root
 * or as the daemon's user, who may have all there is.
 */
static uid_t account_of(const struct subordinate_ids *ids, const char *owner,
			const struct subordinate_range *range)
{
	uint32_t number;

	if (read_number(owner, '\0', &number) && !user_quota_is_owner(number))
		return number;
	for (uint32_t i = 0; i < ids->count; i++)
		if (ids->ranges[i].owner == range->owner)
			return ids->ranges[i].account;
	return range->first;
}

/* A line "owner:first:count". False: it is none. */
static bool read_range(const struct subordinate_ids *ids, char *line,
		       struct subordinate_range *range)
{
	char *first = strchr(line, ':');
	char *count = first == NULL ? NULL : strchr(first + 1, ':');

	line[strcspn(line, "\n")] = '\0';
	if (count == NULL)
		return false;
	*first = '\0';
	range->owner = hash_of(line);
	if (!read_number(first + 1, ':', &range->first) ||
	    !read_number(count + 1, '\0', &range->count) || user_quota_is_owner(range->first))
		return false;
	range->account = account_of(ids, line, range);
	return true;
}

static void subordinate_ids_read(struct subordinate_ids *ids, FILE *file)
{
	char line[LINE_BYTES];

	ids->ranges = calloc(SUBORDINATE_IDS_RANGES_MAX, sizeof(*ids->ranges));
	if (ids->ranges == NULL)
		return;
	while (ids->count < SUBORDINATE_IDS_RANGES_MAX && fgets(line, sizeof(line), file) != NULL)
		ids->count += read_range(ids, line, &ids->ranges[ids->count]);
}

/* Reads the file again when it is another one, or has changed. */
static void subordinate_ids_refresh(struct subordinate_ids *ids)
{
	struct stat status;
	FILE *file;

	if (stat(ids->path, &status) == 0 && status.st_ino == ids->inode &&
	    status.st_size == ids->bytes && status.st_mtim.tv_sec == ids->changed.tv_sec &&
	    status.st_mtim.tv_nsec == ids->changed.tv_nsec)
		return;
	subordinate_ids_forget(ids);
	file = fopen(ids->path, "re");
	if (file == NULL)
		return;
	if (fstat(fileno(file), &status) == 0) {
		subordinate_ids_read(ids, file);
		ids->changed = status.st_mtim;
		ids->inode = status.st_ino;
		ids->bytes = status.st_size;
	}
	fclose(file);
}

uid_t subordinate_ids_account(struct subordinate_ids *ids, uid_t uid, uint64_t now_ns)
{
	if (user_quota_is_owner(uid))
		return uid;
	if (now_ns >= ids->look_ns) {
		subordinate_ids_refresh(ids);
		ids->look_ns = now_ns + SUBORDINATE_IDS_LOOK_NS;
	}
	for (uint32_t i = 0; i < ids->count; i++)
		if (uid >= ids->ranges[i].first &&
		    uid - ids->ranges[i].first < ids->ranges[i].count)
			return ids->ranges[i].account;
	return uid;
}
