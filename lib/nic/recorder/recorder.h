/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder of a device: writes what happened into the rings of a region (record.h).
 * Takes no lock, reads no clock, allocates nothing; without a region nothing is recorded.
 *
 * The caller owns the region, which outlives the recorder. A queue pair holds at most one ring. The
 * ring keeps its entries when the queue pair ends, until another queue pair needs the ring: those
 * that ended first lose theirs first.
 */
#ifndef LIB_NIC_RECORDER_RECORDER_H
#define LIB_NIC_RECORDER_RECORDER_H

#include "proto/base/record.h"

#include <stdbool.h>
#include <stdint.h>

struct recorder {
	struct rnic_record_region *region;     /* NULL: none */
	struct rnic_record_entry shared_owner; /* the last OWNER of the shared ring */
	uint32_t shared_named;		       /* the shared ring's `count` before that */
	uint8_t free_first;		       /* the ring that is taken next; 0: none is free */
	uint8_t free_last;
	uint8_t free_next[RNIC_RECORD_RINGS]; /* behind each free ring; 0: the last one */
};

/* Whose entries a ring has. Zeroed at first. */
struct record_hold {
	uint8_t ring; /* 0: none was needed yet; RNIC_RECORD_SHARED_RING: until one is free */
	uint32_t qpn;
	uint32_t peer_qpn;
	uint32_t client_id;
};

/* `region` is zeroed, or NULL. */
void recorder_init(struct recorder *recorder, struct rnic_record_region *region);

/*
 * Writes an entry for the queue pair, which takes a ring for its first entry. While no ring is free
 * the entry goes to the shared ring. An entry equal to the last one but for its time only adds to
 * the run of that.
 */
void recorder_note_qp(struct recorder *recorder, struct record_hold *hold,
		      const struct rnic_record_entry *entry);

/* The queue pair ends: its ring may be taken by another one, and keeps its entries until then. */
void recorder_release(struct recorder *recorder, struct record_hold *hold);

/* Writes an entry about the life of a queue pair or region, by `number`: QPN or key. */
void recorder_note_life(struct recorder *recorder, uint32_t number,
			const struct rnic_record_entry *entry);

/* Writes an entry about the port. */
void recorder_note_port(struct recorder *recorder, const struct rnic_record_entry *entry);

#endif
