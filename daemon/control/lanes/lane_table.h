/* SPDX-License-Identifier: MIT */
/*
 * Which lanes are free. A lane is the set of queue pair numbers with one top byte, and belongs to
 * one device process at a time (lane_group.h). Pure: the owner of the table opens and drains the
 * lane's sockets.
 *
 * A lane that was given back waits behind other free lanes: packets that were sent to its last
 * holder are gone from the network before the next holder comes. A user gets lanes that were the
 * user's before those of other users, since other programs of the last user may still have the
 * sockets. A lane is spoiled when its sockets serve nobody well any more. A spoiled lane goes to
 * its last user alone, so a user can spoil a few lanes only.
 *
 * Some good lanes are kept for root and the user of the daemon. Whoever has a lane already, which
 * is who counts as one user with others (subordinate_ids.h), gets a further one only while as many
 * would be left as this user has: half of all at most.
 */
#ifndef DAEMON_CONTROL_LANES_LANE_TABLE_H
#define DAEMON_CONTROL_LANES_LANE_TABLE_H

#include "lib/nic/port/port.h"
#include "proto/base/lane.h"

#include <stdbool.h>
#include <stdint.h>

#define LANE_TABLE_LANES (RNIC_LANE_LAST - RNIC_LANE_FIRST + 1)

/* A user who gave that many free lanes back gets one of them again. */
#define LANE_TABLE_OWN 4

/* Of the lanes, the owners keep one in so many, and one at least where there are several. */
#define LANE_TABLE_RESERVE_PARTS 16

struct lane_user {
	uint32_t account; /* as whom the user counts */
	bool is_owner;	  /* root, or the user of the daemon: may have all lanes */
};

struct lane_place {
	bool is_used;
	bool is_spoiled;
	bool had_user;
	bool is_owners;
	uint32_t account; /* of the present user or the last one */
};

struct lane_table {
	uint8_t free_lanes[LANE_TABLE_LANES];	    /* the lane that is free for longest first */
	struct lane_place places[LANE_TABLE_LANES]; /* by lane less RNIC_LANE_FIRST */
	uint32_t free_count;
	uint32_t lane_count;
};

/* All `lane_count` lanes, RNIC_LANE_FIRST and the next ones, are free; up to LANE_TABLE_LANES. */
void lane_table_init(struct lane_table *table, uint32_t lane_count);

/*
 * Stores the free lane that the user is to have; it stays free. -ENOSPC with a sentence in `text`
 * when none is left for this user.
 */
int lane_table_choose(const struct lane_table *table, const struct lane_user *user, uint8_t *lane,
		      char text[PORT_TEXT_BYTES]);

/* Gives a free lane to the user. */
void lane_table_take(struct lane_table *table, const struct lane_user *user, uint8_t lane);

/* How many of the free lanes are kept for owners at present. */
uint32_t lane_table_kept(const struct lane_table *table);

/* Takes a lane back, which must be in use. */
void lane_table_give_back(struct lane_table *table, uint8_t lane);

/* Notes for good that the lane, free or in use, is spoiled. */
void lane_table_spoil(struct lane_table *table, uint8_t lane);
bool lane_table_is_spoiled(const struct lane_table *table, uint8_t lane);

/* Whether the lane is in use; false for any number that is no lane of the table. */
bool lane_table_is_used(const struct lane_table *table, uint32_t lane);

#endif
