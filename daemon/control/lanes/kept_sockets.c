/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/kept_sockets.h"

#include "daemon/control/lanes/port_holder.h"
#include "proto/base/time_units.h"

#include <sys/stat.h>

/* The kernel's list may miss sockets while others close theirs. */
#define KEPT_LOOKS	   3
#define KEPT_LOOK_AGAIN_NS (200 * RNIC_NS_PER_MS)

static void kept_sockets_drop(struct kept_sockets *kept, struct kept_socket *entry)
{
	kept->count -= entry->lane != 0;
	*entry = (struct kept_socket){0};
}

static void kept_sockets_add(struct kept_sockets *kept, const struct kept_socket *added)
{
	struct kept_socket *entry = &kept->entries[kept->next++ % KEPT_SOCKETS_MAX];

	kept_sockets_drop(kept, entry);
	*entry = *added;
	kept->count++;
}

void kept_sockets_note(struct kept_sockets *kept, const struct lane_group *group, uint64_t until_ns)
{
	for (uint32_t i = 0; i < group->socket_count; i++) {
		struct kept_socket added = {
			.look_ns = until_ns,
			.lane = lane_group_holder(group, i),
			.looks = KEPT_LOOKS,
		};
		struct stat status;

		if (added.lane == 0 || fstat(group->fds[i], &status) != 0)
			continue;
		added.inode = status.st_ino;
		kept_sockets_add(kept, &added);
	}
}

void kept_sockets_forget(struct kept_sockets *kept, uint8_t lane)
{
	for (uint32_t i = 0; kept->count > 0 && i < KEPT_SOCKETS_MAX; i++)
		if (kept->entries[i].lane == lane)
			kept_sockets_drop(kept, &kept->entries[i]);
}

static bool kept_socket_is_due(const struct kept_socket *entry, uint64_t now_ns)
{
	return entry->lane != 0 && entry->look_ns <= now_ns;
}

/* What a look at the kernel's list has found. */
struct kept_look {
	const struct kept_sockets *kept;
	uint64_t now_ns;
	uint8_t lane; /* 0: no socket that is due */
};

static void kept_look_at(void *context, uint64_t inode)
{
	struct kept_look *look = context;

	for (uint32_t i = 0; look->lane == 0 && i < KEPT_SOCKETS_MAX; i++) {
		const struct kept_socket *entry = &look->kept->entries[i];

		if (entry->inode == inode && kept_socket_is_due(entry, look->now_ns))
			look->lane = entry->lane;
	}
}

uint8_t kept_sockets_find(struct kept_sockets *kept, uint64_t now_ns)
{
	struct kept_look look = {.kept = kept, .now_ns = now_ns};

	if (kept_sockets_next_deadline_ns(kept) > now_ns)
		return 0;
	port_holder_list_inodes(kept_look_at, &look);
	if (look.lane != 0) {
		kept_sockets_forget(kept, look.lane);
		return look.lane;
	}
	for (uint32_t i = 0; i < KEPT_SOCKETS_MAX; i++) {
		struct kept_socket *entry = &kept->entries[i];

		if (!kept_socket_is_due(entry, now_ns))
			continue;
		entry->look_ns = now_ns + KEPT_LOOK_AGAIN_NS;
		if (--entry->looks == 0)
			kept_sockets_drop(kept, entry);
	}
	return 0;
}

uint64_t kept_sockets_next_deadline_ns(const struct kept_sockets *kept)
{
	uint64_t earliest_ns = UINT64_MAX;

	for (uint32_t i = 0; kept->count > 0 && i < KEPT_SOCKETS_MAX; i++)
		if (kept->entries[i].lane != 0 && kept->entries[i].look_ns < earliest_ns)
			earliest_ns = kept->entries[i].look_ns;
	return earliest_ns;
}
