/* SPDX-License-Identifier: MIT */
#include "daemon/control/lanes/lane_groups.h"

#include "lib/nic/port/port_text.h"
#include "proto/wire/gid.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/*
 * The descriptors of a lane: sockets at all addresses, and in the groups that rest, which are no
 * more than have changed places.
 */
static uint32_t descriptors_each(const struct lane_groups *groups)
{
	const uint32_t slots = groups->config.gid_slots;

	return slots + (slots < LANE_GROUPS_RESTING_MAX ? slots : LANE_GROUPS_RESTING_MAX) +
	       LANE_GROUPS_HOLDER_DESCRIPTORS;
}

/* Decides how many sockets each group has, and notes what limits them. */
static void choose_socket_count(struct lane_groups *groups)
{
	groups->sockets_each = lane_group_sockets_permitted(descriptors_each(groups));
	if (groups->sockets_each < LANE_GROUP_SOCKETS_MAX)
		groups->scarcity = "few descriptors (ulimit -Hn)";
	if (!lane_group_can_steer()) {
		groups->sockets_each = 1;
		groups->scarcity = "the kernel refuses the steering program";
	}
}

void lane_groups_init(struct lane_groups *groups, const struct lane_groups_config *config,
		      uint64_t now_ns, char text[PORT_TEXT_BYTES])
{
	assert(config->gid_slots >= 1 && config->gid_slots <= RNIC_GIDS_MAX);
	memset(groups, 0, sizeof(*groups));
	groups->config = *config;
	text[0] = '\0';
	choose_socket_count(groups);
	lane_table_init(&groups->table,
			lane_groups_are_steered(groups) ? groups->sockets_each - 1 : 1);
	if (!lane_groups_are_steered(groups))
		port_text_error(text, 0,
				"there is one device process, that of the daemon's user: %s",
				groups->scarcity);
	else if (groups->scarcity != NULL)
		port_text_error(text, 0, "users at a time that are served: %u, because of %s",
				lane_groups_count(groups), groups->scarcity);
	segmentation_open(&groups->segmentation, config->segmentation, now_ns);
	port_guards_init(&groups->guards, config->owner);
	if (config->serves_all)
		port_guards_hold_all(&groups->guards, lane_groups_count(groups));
}

bool lane_groups_are_steered(const struct lane_groups *groups)
{
	return groups->sockets_each > 1;
}

uint32_t lane_groups_count(const struct lane_groups *groups)
{
	return groups->table.lane_count;
}

uint32_t lane_groups_descriptors_max(const struct lane_groups *groups)
{
	return descriptors_each(groups) * groups->sockets_each;
}

void lane_groups_text(const struct lane_groups *groups, char text[LANE_GROUPS_TEXT_BYTES])
{
	if (lane_groups_are_steered(groups))
		snprintf(text, LANE_GROUPS_TEXT_BYTES, "%u", lane_groups_count(groups));
	else
		snprintf(text, LANE_GROUPS_TEXT_BYTES, "one, %s", groups->scarcity);
}

const struct rnic_gid *lane_groups_gid(const struct lane_groups *groups, uint32_t index)
{
	assert(lane_groups_has(groups, index));
	return &groups->groups[index].options.gid;
}

bool lane_groups_has(const struct lane_groups *groups, uint32_t index)
{
	return index < RNIC_GIDS_MAX && groups->groups[index].socket_count > 0;
}

static void close_group(struct lane_groups *groups, struct lane_group *group)
{
	groups->drained += group->drained;
	group->drained = 0;
	lane_group_close(group);
}

void lane_groups_close(struct lane_groups *groups)
{
	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++)
		close_group(groups, &groups->groups[i]);
	for (uint32_t i = 0; i < LANE_GROUPS_RESTING_MAX; i++)
		close_group(groups, &groups->resting[i].group);
	segmentation_close(&groups->segmentation);
	port_guards_close(&groups->guards);
}

static void close_resting(struct lane_groups *groups, struct resting_group *place)
{
	if (place->group.socket_count == 0)
		return;
	kept_sockets_note(&groups->kept, &place->group, place->until_ns);
	close_group(groups, &place->group);
}

/* Moves the group to a place of the resting ones, instead of the one that has rested longest. */
static void rest(struct lane_groups *groups, struct lane_group *group, uint64_t now_ns)
{
	struct resting_group *place = &groups->resting[0];

	for (uint32_t i = 0; i < LANE_GROUPS_RESTING_MAX; i++) {
		struct resting_group *candidate = &groups->resting[i];

		if (candidate->group.socket_count == 0) {
			place = candidate;
			break;
		}
		if (candidate->until_ns < place->until_ns)
			place = candidate;
	}
	close_resting(groups, place);
	place->group = *group;
	place->until_ns = now_ns + LANE_GROUPS_REST_NS;
	*group = (struct lane_group){0};
}

/* Moves the resting group of `gid`, if any, to `group`. */
static bool wake(struct lane_groups *groups, struct lane_group *group, const struct rnic_gid *gid)
{
	for (uint32_t i = 0; i < LANE_GROUPS_RESTING_MAX; i++) {
		struct lane_group *resting = &groups->resting[i].group;

		if (resting->socket_count == 0 || !rnic_gid_equal(&resting->options.gid, gid))
			continue;
		*group = *resting;
		*resting = (struct lane_group){0};
		lane_group_set_gro(group, groups->segmentation.is_on);
		return true;
	}
	return false;
}

int lane_groups_set_gid(struct lane_groups *groups, uint32_t index, const struct rnic_gid *gid,
			uint64_t now_ns, char text[PORT_TEXT_BYTES])
{
	struct lane_group *group = &groups->groups[index];
	struct lane_group_options options = {
		.netdev_index = groups->config.netdev_index,
		.udp_port = groups->config.udp_port,
		.socket_count = groups->sockets_each,
		.is_gro_on = groups->segmentation.is_on,
		.guards = &groups->guards,
	};

	assert(index < RNIC_GIDS_MAX);
	assert(lane_groups_has(groups, index) == (gid == NULL));
	text[0] = '\0';
	if (gid == NULL) {
		rest(groups, group, now_ns);
		return 0;
	}
	if (wake(groups, group, gid))
		return 0;
	options.gid = *gid;
	return lane_group_open(group, &options, text);
}

void lane_groups_set_netdev(struct lane_groups *groups, uint32_t netdev_index)
{
	groups->config.netdev_index = netdev_index;
	for (uint32_t i = 0; i < LANE_GROUPS_RESTING_MAX; i++) {
		struct resting_group *place = &groups->resting[i];

		place->group.options.netdev_index = netdev_index;
		if (rnic_gid_is_link_local(&place->group.options.gid))
			close_resting(groups, place);
	}
}

/* Whether all sockets of the lane are fit for another user; notes when they are not. */
static bool check_lane(struct lane_groups *groups, uint8_t lane)
{
	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++)
		if (lane_groups_has(groups, i) && !lane_group_is_intact(&groups->groups[i], lane))
			lane_table_spoil(&groups->table, lane);
	for (uint32_t i = 0; i < LANE_GROUPS_RESTING_MAX; i++)
		if (groups->resting[i].group.socket_count > 0 &&
		    !lane_group_is_intact(&groups->resting[i].group, lane))
			lane_table_spoil(&groups->table, lane);
	return !lane_table_is_spoiled(&groups->table, lane);
}

int lane_groups_take(struct lane_groups *groups, const struct lane_user *user, uint8_t *lane,
		     char text[PORT_TEXT_BYTES])
{
	bool is_known_spoiled;
	int result;

	do {
		result = lane_table_choose(&groups->table, user, lane, text);
		if (result != 0)
			return result;
		is_known_spoiled = lane_table_is_spoiled(&groups->table, *lane);
	} while (!check_lane(groups, *lane) && !is_known_spoiled);
	lane_table_take(&groups->table, user, *lane);
	return 0;
}

int lane_groups_take_sockets(struct lane_groups *groups, uint32_t index, uint8_t lane,
			     struct udp_lane_sockets *out, char text[PORT_TEXT_BYTES])
{
	assert(lane_groups_has(groups, index));
	assert(lane == 0 || lane_table_is_used(&groups->table, lane));
	return lane_group_take(&groups->groups[index], lane, out, text);
}

int lane_groups_take_sender(struct lane_groups *groups, uint32_t index,
			    struct udp_lane_sockets *out, char text[PORT_TEXT_BYTES])
{
	assert(lane_groups_has(groups, index));
	return lane_group_take_sender(&groups->groups[index], out, text);
}

bool lane_groups_give_back(struct lane_groups *groups, uint8_t lane)
{
	const bool is_intact = check_lane(groups, lane);

	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++)
		if (lane_groups_has(groups, i))
			lane_group_give_back(&groups->groups[i], lane);
	for (uint32_t i = 0; i < LANE_GROUPS_RESTING_MAX; i++)
		if (groups->resting[i].group.socket_count > 0)
			lane_group_give_back(&groups->resting[i].group, lane);
	kept_sockets_forget(&groups->kept, lane);
	lane_table_give_back(&groups->table, lane);
	return is_intact;
}

uint8_t lane_groups_follow(struct lane_groups *groups, uint64_t now_ns)
{
	const bool was_on = groups->segmentation.is_on;

	if (segmentation_is_on(&groups->segmentation, now_ns) != was_on)
		for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++)
			lane_group_set_gro(&groups->groups[i], !was_on);
	for (uint32_t i = 0; i < LANE_GROUPS_RESTING_MAX; i++)
		if (groups->resting[i].until_ns <= now_ns)
			close_resting(groups, &groups->resting[i]);
	return kept_sockets_find(&groups->kept, now_ns);
}

uint64_t lane_groups_next_deadline_ns(const struct lane_groups *groups)
{
	uint64_t earliest_ns = kept_sockets_next_deadline_ns(&groups->kept);

	for (uint32_t i = 0; i < LANE_GROUPS_RESTING_MAX; i++)
		if (groups->resting[i].group.socket_count > 0 &&
		    groups->resting[i].until_ns < earliest_ns)
			earliest_ns = groups->resting[i].until_ns;
	return earliest_ns;
}

uint64_t lane_groups_drained(const struct lane_groups *groups)
{
	uint64_t drained = groups->drained;

	for (uint32_t i = 0; i < RNIC_GIDS_MAX; i++)
		drained += groups->groups[i].drained;
	for (uint32_t i = 0; i < LANE_GROUPS_RESTING_MAX; i++)
		drained += groups->resting[i].group.drained;
	return drained;
}
