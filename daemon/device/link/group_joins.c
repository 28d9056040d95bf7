/* SPDX-License-Identifier: MIT */
#include "daemon/device/link/group_joins.h"

#include "proto/wire/gid.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void group_joins_init(struct group_joins *joins,
		      int (*send)(void *context, bool is_join, const struct rnic_gid *group),
		      void *context)
{
	memset(joins, 0, sizeof(*joins));
	joins->send = send;
	joins->context = context;
}

static void group_join_close(struct group_join *entry)
{
	if (entry->fd >= 0)
		close(entry->fd);
	entry->fd = -1;
}

static void group_join_free(struct group_joins *joins, struct group_join *entry)
{
	group_join_close(entry);
	entry->state = GROUP_JOIN_NONE;
	joins->used_count--;
}

void group_joins_fini(struct group_joins *joins)
{
	for (uint32_t i = 0; i < GROUP_JOINS_MAX; i++)
		if (joins->entries[i].state != GROUP_JOIN_NONE)
			group_join_free(joins, &joins->entries[i]);
}

static struct group_join *group_joins_find(struct group_joins *joins, const struct rnic_gid *group)
{
	for (uint32_t i = 0; i < GROUP_JOINS_MAX; i++) {
		struct group_join *entry = &joins->entries[i];

		if (entry->state != GROUP_JOIN_NONE && rnic_gid_equal(&entry->group, group))
			return entry;
	}
	return NULL;
}

/* A new entry; NULL: all are in use. */
static struct group_join *group_joins_add(struct group_joins *joins, const struct rnic_gid *group)
{
	for (uint32_t i = 0; i < GROUP_JOINS_MAX; i++) {
		struct group_join *entry = &joins->entries[i];

		if (entry->state != GROUP_JOIN_NONE)
			continue;
		*entry = (struct group_join){.group = *group, .fd = -1};
		joins->used_count++;
		return entry;
	}
	return NULL;
}

static void group_join_send(struct group_joins *joins, struct group_join *entry)
{
	if (!entry->is_sent)
		entry->is_sent = joins->send(joins->context, true, &entry->group) == 0;
}

/* Leaves the group now, or with a later tick. */
static void group_join_leave(struct group_joins *joins, struct group_join *entry)
{
	group_join_close(entry);
	entry->state = GROUP_JOIN_LEAVING;
	if (joins->send(joins->context, false, &entry->group) == 0)
		group_join_free(joins, entry);
}

static void group_join_ask(struct group_joins *joins, struct group_join *entry, uint64_t now_ns)
{
	entry->state = GROUP_JOIN_ASKED;
	entry->is_sent = false;
	entry->until_ns = now_ns + GROUP_JOINS_WAIT_NS;
	group_join_send(joins, entry);
}

int group_joins_fetch(struct group_joins *joins, const struct rnic_gid *group, uint64_t now_ns,
		      int *fd)
{
	struct group_join *entry = group_joins_find(joins, group);
	int status;

	if (entry == NULL)
		entry = group_joins_add(joins, group);
	if (entry == NULL)
		return -ENOSPC;
	switch (entry->state) {
	case GROUP_JOIN_NONE:
	case GROUP_JOIN_LEAVING:
		group_join_ask(joins, entry, now_ns);
		return -EINPROGRESS;
	case GROUP_JOIN_ASKED:
		if (now_ns < entry->until_ns)
			return -EINPROGRESS;
		group_join_free(joins, entry); /* an answer that comes late is left again */
		return -ETIMEDOUT;
	case GROUP_JOIN_IN_USE:
		return -EALREADY;
	case GROUP_JOIN_ARRIVED:
		break;
	}
	status = entry->status;
	*fd = entry->fd;
	entry->fd = -1;
	entry->is_renewed = false;
	if (status == 0)
		entry->state = GROUP_JOIN_IN_USE;
	else
		group_join_free(joins, entry);
	return status;
}

void group_joins_leave(struct group_joins *joins, const struct rnic_gid *group)
{
	struct group_join *entry = group_joins_find(joins, group);

	if (entry != NULL && entry->state == GROUP_JOIN_IN_USE)
		group_join_leave(joins, entry);
}

void group_joins_renew(struct group_joins *joins)
{
	for (uint32_t i = 0; i < GROUP_JOINS_MAX; i++) {
		struct group_join *entry = &joins->entries[i];

		if (entry->state != GROUP_JOIN_IN_USE)
			continue;
		entry->is_renewed = true;
		entry->is_sent = false;
		group_join_send(joins, entry);
	}
}

bool group_joins_answer(struct group_joins *joins, const struct rnic_gid *group, int status, int fd)
{
	struct group_join *entry = group_joins_find(joins, group);

	if (status == 0 && fd < 0)
		status = -EBADF;
	if (entry != NULL && entry->state == GROUP_JOIN_ASKED) {
		entry->state = GROUP_JOIN_ARRIVED;
		entry->status = status;
		entry->fd = status == 0 ? fd : -1;
		return false;
	}
	if (entry != NULL && entry->state == GROUP_JOIN_IN_USE && entry->is_renewed) {
		entry->is_renewed = false;
		if (status == 0)
			return true;
	}
	if (fd >= 0)
		close(fd);
	if (entry != NULL || status != 0)
		return false;
	/* Nobody waits for the group any more. */
	entry = group_joins_add(joins, group);
	if (entry != NULL)
		group_join_leave(joins, entry);
	return false;
}

static void group_join_tick(struct group_joins *joins, struct group_join *entry, uint64_t now_ns)
{
	const bool is_late = now_ns >= entry->until_ns;

	switch (entry->state) {
	case GROUP_JOIN_NONE:
		break;
	case GROUP_JOIN_IN_USE:
		if (entry->is_renewed)
			group_join_send(joins, entry);
		break;
	case GROUP_JOIN_LEAVING:
		group_join_leave(joins, entry);
		break;
	case GROUP_JOIN_ASKED:
		/* A client that still waits finds the end itself, a little later. */
		if (now_ns >= entry->until_ns + GROUP_JOINS_WAIT_NS)
			group_join_free(joins, entry);
		else
			group_join_send(joins, entry);
		break;
	case GROUP_JOIN_ARRIVED:
		if (is_late && entry->status == 0)
			group_join_leave(joins, entry);
		else if (is_late)
			group_join_free(joins, entry);
		break;
	}
}

void group_joins_tick(struct group_joins *joins, uint64_t now_ns)
{
	if (joins->used_count == 0)
		return;
	joins->ticked_ns = now_ns;
	for (uint32_t i = 0; i < GROUP_JOINS_MAX; i++)
		group_join_tick(joins, &joins->entries[i], now_ns);
}

static uint64_t group_join_deadline_ns(const struct group_joins *joins,
				       const struct group_join *entry)
{
	const uint64_t retry_ns = joins->ticked_ns + GROUP_JOINS_RETRY_NS;

	switch (entry->state) {
	case GROUP_JOIN_LEAVING:
		return retry_ns;
	case GROUP_JOIN_ASKED:
		return entry->is_sent ? entry->until_ns + GROUP_JOINS_WAIT_NS : retry_ns;
	case GROUP_JOIN_ARRIVED:
		return entry->until_ns;
	case GROUP_JOIN_IN_USE:
		return entry->is_renewed && !entry->is_sent ? retry_ns : UINT64_MAX;
	case GROUP_JOIN_NONE:
		break;
	}
	return UINT64_MAX;
}

uint64_t group_joins_next_deadline_ns(const struct group_joins *joins)
{
	uint64_t earliest_ns = UINT64_MAX;

	if (joins->used_count == 0)
		return UINT64_MAX;
	for (uint32_t i = 0; i < GROUP_JOINS_MAX; i++) {
		const uint64_t deadline_ns = group_join_deadline_ns(joins, &joins->entries[i]);

		if (deadline_ns < earliest_ns)
			earliest_ns = deadline_ns;
	}
	return earliest_ns;
}
