/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/barred_users.h"

#include "daemon/control/server/socket_acl.h"

#include <errno.h>
#include <stddef.h>

static bool barred_users_have_place(const struct barred_users *all, uid_t account)
{
	uint32_t of_account = 0;

	for (uint32_t i = 0; i < all->count; i++)
		of_account += all->users[i].account == account;
	return all->count < BARRED_USERS_MAX && of_account < BARRED_USERS_OF_ACCOUNT_MAX;
}

static bool barred_users_have(const struct barred_users *all, uid_t uid)
{
	for (uint32_t i = 0; i < all->count; i++)
		if (all->users[i].uid == uid)
			return true;
	return false;
}

int barred_users_add(struct barred_users *all, const char *path, uid_t uid, uid_t account,
		     uint64_t now_ns)
{
	const bool is_known = barred_users_have(all, uid);
	int result;

	if (!is_known && !barred_users_have_place(all, account))
		return -EUSERS;
	/* Somebody may have removed the entry of a user whom the table has. */
	result = socket_acl_bar(path, uid);
	/* The connection is older than the entry. An entry of somebody else gets no place. */
	if (result == -EALREADY)
		return 0;
	if (result != 0 || is_known)
		return result;
	if (all->count == 0)
		all->review_ns = now_ns + BARRED_USERS_REVIEW_NS;
	all->users[all->count++] = (struct barred_user){.uid = uid, .account = account};
	return 0;
}

void barred_users_review(struct barred_users *all, const char *path,
			 bool (*is_over)(const void *context, uid_t account), const void *context,
			 uint64_t now_ns)
{
	if (all->count == 0 || now_ns < all->review_ns)
		return;
	all->review_ns = now_ns + BARRED_USERS_REVIEW_NS;
	for (uint32_t i = all->count; i-- > 0;)
		/* A file that cannot change for the moment is asked again. */
		if (is_over(context, all->users[i].account) &&
		    socket_acl_admit(path, all->users[i].uid, all->count == 1) == 0)
			all->users[i] = all->users[--all->count];
}

void barred_users_admit(struct barred_users *all, const char *path)
{
	for (; all->count > 0; all->count--)
		socket_acl_admit(path, all->users[all->count - 1].uid, all->count == 1);
}

uint64_t barred_users_next_deadline_ns(const struct barred_users *all)
{
	return all->count > 0 ? all->review_ns : UINT64_MAX;
}

bool barred_users_note_line(struct barred_users *all, uid_t uid, uint64_t now_ns)
{
	struct barred_users_line *free_line = NULL;

	for (uint32_t i = 0; i < BARRED_USERS_MAX; i++) {
		struct barred_users_line *line = &all->lines[i];

		if (now_ns >= line->until_ns)
			free_line = line;
		else if (line->uid == uid)
			return false;
	}
	if (free_line == NULL)
		return false;
	*free_line = (struct barred_users_line){
		.uid = uid,
		.until_ns = now_ns + BARRED_USERS_LINE_NS,
	};
	return true;
}
