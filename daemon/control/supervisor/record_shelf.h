/* SPDX-License-Identifier: MIT */
/*
 * The flight recorders of device processes that have ended, the latest ones. The shelf is shared by
 * user: a new record replaces the oldest one of the user who has most. The shelf owns the rings,
 * which are copies; nothing in them is to be trusted.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_RECORD_SHELF_H
#define DAEMON_CONTROL_SUPERVISOR_RECORD_SHELF_H

#include "proto/base/record.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORD_SHELF_MAX 16

struct shelved_record {
	uid_t uid;
	pid_t pid;
	uint32_t lane;
	bool is_program; /* a program that was its own device process */
	bool has_failed; /* a device process that ended before its programs */
	uint64_t ended_ns;
	uint32_t ring_count; /* of `rings`, which were not empty */
	struct rnic_record_ring *rings;
	uint8_t numbers[RNIC_RECORD_RINGS]; /* of the rings in the region */
};

/* Zeroed: empty. The oldest first; free places at the end. */
struct record_shelf {
	struct shelved_record records[RECORD_SHELF_MAX];
	uint32_t count;
};

/*
 * Puts a copy of `region` on the shelf, with what `record` says about the process; its rings are
 * ignored. Without memory the record is lost.
 */
void record_shelf_put(struct record_shelf *shelf, const struct shelved_record *record,
		      const struct rnic_record_region *region);

void record_shelf_clear(struct record_shelf *shelf);

#endif
