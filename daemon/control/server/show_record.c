/* SPDX-License-Identifier: MIT */
#include "daemon/control/server/show_record.h"

#include "daemon/control/clients/client.h"
#include "daemon/control/clients/client_set.h"
#include "daemon/control/supervisor/device_child.h"
#include "daemon/control/supervisor/device_set.h"
#include "daemon/shared/reports/show_rows.h"
#include "proto/base/lane.h"
#include "proto/base/time_units.h"
#include "proto/ctl/ctl_message.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/*
 * A cursor: the time of the first reply above the source above the ring above the half. Sources:
 * lanes, then ended processes, then the shares of the journal of connections. All replies of a
 * listing count ages from that time, which is in units of 2^STAMP_UNIT_SHIFT ticks: else a row of a
 * later reply would be older than it is, and come before the connection that it is of.
 */
#define HALF_ENTRIES	 (RNIC_RECORD_RING_ENTRIES / 2)
#define RING_SHIFT	 1
#define SOURCE_SHIFT	 8
#define STAMP_SHIFT	 17
#define STAMP_MASK	 (UINT32_MAX >> STAMP_SHIFT) /* a listing takes less than 17 s */
#define STAMP_UNIT_SHIFT 5
#define STEPS_MAX	 4096 /* half rings of a reply */
#define FIRST_SHELVED	 (RNIC_LANE_LAST + 1)
#define FIRST_JOURNAL	 (FIRST_SHELVED + RECORD_SHELF_MAX)

_Static_assert(CM_JOURNAL_ENTRIES <= HALF_ENTRIES, "a share of the journal fits where a half does");
_Static_assert(RNIC_RECORD_RINGS < 1 << (SOURCE_SHIFT - RING_SHIFT), "a cursor has any ring");
_Static_assert(FIRST_JOURNAL + CM_JOURNAL_USERS < 1 << (STAMP_SHIFT - SOURCE_SHIFT), "any source");

/* A recorder, whose device process may have written anything. */
struct record_source {
	uid_t uid;
	pid_t pid;
	uint32_t lane;
	const struct device_child *process; /* NULL: it has ended */
	const struct rnic_record_region *region;
	const struct shelved_record *shelved;	/* NULL: `process` lives */
	const struct cm_journal_share *journal; /* NULL: a process */
};

struct record_walk {
	const struct client_set *set;
	uid_t viewer;
	struct show_rows *rows;
	uint32_t tick; /* of the listing */
};

bool show_is_permitted_to(uid_t viewer, uid_t owner)
{
	return viewer == owner || viewer == 0 || viewer == geteuid();
}

/*
 * Names the client in the row, if the client was one of that process; else the row is that of the
 * process. Clients of other processes cannot be named, whatever the process wrote.
 */
static void name_client(const struct client_set *set, const struct record_source *source,
			uint32_t client_id, struct rnic_show_record *row)
{
	const struct client *client = client_find(set, client_id);
	const struct gone_client *gone = gone_clients_find(&set->gone, client_id);

	row->client_id = 0;
	row->pid = (uint32_t)source->pid;
	row->uid = source->uid;
	memset(row->program, 0, sizeof(row->program));
	if (client != NULL && source->process != NULL && client->device == source->process) {
		row->pid = (uint32_t)client->peer.pid;
		row->uid = client->peer.uid;
		memcpy(row->program, client->peer.program, sizeof(row->program));
	} else if (gone != NULL && gone->device_pid == source->pid) {
		row->pid = (uint32_t)gone->pid;
		row->uid = gone->uid;
		memcpy(row->program, gone->program, sizeof(row->program));
	} else {
		return;
	}
	row->client_id = client_id;
}

/* Adds the entry as a row, if the viewer may see it. */
/* The age of an entry. What came after this turn began is a moment ago, not 19 hours. */
static uint64_t age_us(const struct record_walk *walk, uint32_t tick)
{
	const uint32_t ticks = walk->tick - tick;

	return ticks > UINT32_MAX / 2
		       ? 0
		       : ((uint64_t)ticks << RNIC_RECORD_TICK_SHIFT) / RNIC_NS_PER_US;
}

static void add_row(const struct record_walk *walk, const struct rnic_show_record *origin,
		    const struct rnic_record_entry *entry)
{
	struct rnic_show_record *row;

	if (!show_is_permitted_to(walk->viewer, origin->uid))
		return;
	row = show_rows_add(walk->rows);
	if (row == NULL)
		return;
	*row = *origin;
	row->age_us = age_us(walk, entry->tick);
	row->event = entry->event;
	row->detail = entry->detail;
	row->extra = entry->extra;
	row->run = entry->run;
	row->psn = entry->psn;
	row->value = entry->value;
}

/* A ring that was copied out of the process's reach. */
struct copied_ring {
	struct rnic_record_ring ring;
	uint32_t number;
	uint32_t count; /* of its entries, before the copy */
};

/* Whether the queue pair can be one of the process, which may have written any number. */
static bool is_of_lane(const struct record_source *source, uint32_t qpn)
{
	return qpn >> RNIC_LANE_BITS == source->lane;
}

/* Whether the process can have met this in a ring of that number. */
static bool is_possible(const struct record_source *source, uint32_t number, uint32_t qpn,
			const struct rnic_record_entry *entry)
{
	if (number >= RNIC_RECORD_SHARED_RING)
		return entry->event > RNIC_RECORD_OWNER && entry->event < RNIC_RECORD_CONNECTED &&
		       is_of_lane(source, qpn);
	if (entry->event >= RNIC_RECORD_CONNECTED && entry->event <= RNIC_RECORD_QP_ENDED)
		return is_of_lane(source, entry->psn);
	return entry->event > RNIC_RECORD_QP_ENDED && entry->event < RNIC_RECORD_PROGRAM_ENDED;
}

/* The shared ring says whose its entries are. */
static void name_by_owner(const struct record_walk *walk, const struct record_source *source,
			  const struct rnic_record_entry *owner, struct rnic_show_record *named)
{
	named->qpn = owner->psn;
	named->peer_qpn = owner->value;
	name_client(walk->set, source, owner->tick, named);
}

static void add_half(const struct record_walk *walk, const struct record_source *source,
		     const struct rnic_show_record *origin, const struct copied_ring *copy,
		     uint32_t half)
{
	const uint32_t count = copy->count;
	const uint32_t kept = count < RNIC_RECORD_RING_ENTRIES ? count : RNIC_RECORD_RING_ENTRIES;
	const bool is_shared = copy->number == RNIC_RECORD_SHARED_RING;
	struct rnic_show_record named = *origin;

	for (uint32_t i = 0; i < kept; i++) {
		const struct rnic_record_entry *entry =
			&copy->ring.entries[(count - kept + i) % RNIC_RECORD_RING_ENTRIES];

		if (is_shared && entry->event == RNIC_RECORD_OWNER)
			name_by_owner(walk, source, entry, &named);
		else if (i / HALF_ENTRIES == half &&
			 is_possible(source, copy->number, named.qpn, entry))
			add_row(walk, &named, entry);
	}
}

/* What the record does not have: the entries before, and a ring of the queue pair's own. */
static uint32_t gaps_of(const struct copied_ring *copy)
{
	return (copy->number == RNIC_RECORD_SHARED_RING ? RNIC_RECORD_GAP_SHARED : 0) |
	       (copy->count > RNIC_RECORD_RING_ENTRIES ? RNIC_RECORD_GAP_OLDER : 0);
}

static void add_ring(const struct record_walk *walk, const struct record_source *source,
		     const struct rnic_record_ring *ring, uint32_t number, uint32_t half)
{
	struct copied_ring copy = {
		.number = number,
		.count = atomic_load_explicit(&ring->count, memory_order_acquire),
	};
	struct rnic_show_record origin = {.pid = (uint32_t)source->pid, .uid = source->uid};

	if (copy.count == 0)
		return;
	memcpy(&copy.ring, ring, sizeof(copy.ring));
	origin.gaps = gaps_of(&copy);
	if (number >= RNIC_RECORD_FIRST_RING) {
		origin.qpn = copy.ring.qpn;
		origin.peer_qpn = copy.ring.peer_qpn;
		name_client(walk->set, source, copy.ring.client_id, &origin);
	}
	add_half(walk, source, &origin, &copy, half);
}

static void add_end(const struct record_walk *walk, const struct shelved_record *shelved)
{
	const struct rnic_show_record origin = {.pid = (uint32_t)shelved->pid, .uid = shelved->uid};
	const struct rnic_record_entry entry = {
		.tick = rnic_record_tick(shelved->ended_ns),
		.event =
			shelved->is_program ? RNIC_RECORD_PROGRAM_ENDED : RNIC_RECORD_DEVICE_FAILED,
	};

	if (shelved->is_program || shelved->has_failed)
		add_row(walk, &origin, &entry);
}

static void add_message(const struct record_walk *walk, const struct cm_journal_entry *message)
{
	struct rnic_show_record *row;

	if (!show_is_permitted_to(walk->viewer, message->uid))
		return;
	row = show_rows_add(walk->rows);
	if (row == NULL)
		return;
	*row = (struct rnic_show_record){
		.client_id = message->client_id,
		.pid = (uint32_t)message->pid,
		.uid = message->uid,
		.qpn = message->qpn,
		.age_us = age_us(walk, rnic_record_tick(message->at_ns)),
		.peer_qpn = message->peer_qpn,
		.event = message->is_sent ? RNIC_RECORD_CM_SENT : RNIC_RECORD_CM_RECEIVED,
		.detail = message->kind,
		.extra = message->reason,
		.run = message->run,
		.psn = message->port,
		.value = message->is_late ? RNIC_RECORD_CM_LATE : 0,
	};
	memcpy(row->program, message->program, sizeof(row->program));
}

/* Adds the messages of a user, or of the device. Returns that there are no more. */
static bool add_share(const struct record_walk *walk, const struct cm_journal_share *share)
{
	const struct cm_journal_entry *message;

	for (uint32_t n = 0; (message = cm_journal_nth(share, n)) != NULL; n++)
		add_message(walk, message);
	return true;
}

/* The source numbered `number` or the next one, whose number is stored. False: there is none. */
static bool find_source(const struct client_set *set, uint32_t *number,
			struct record_source *source)
{
	const struct record_shelf *shelf = &set->devices->common.records;
	const struct device_child *process =
		*number < FIRST_SHELVED ? device_set_next(set->devices, *number) : NULL;

	*source = (struct record_source){0};
	if (process != NULL) {
		const struct rnic_stats_file *file = process->stats_page.address;

		*number = process->lane;
		source->uid = process->uid;
		source->pid = process->pid;
		source->lane = process->lane;
		source->process = process;
		source->region = file != NULL ? &file->record : NULL;
		return true;
	}
	if (*number < FIRST_SHELVED)
		*number = FIRST_SHELVED;
	if (*number - FIRST_SHELVED >= shelf->count && *number < FIRST_JOURNAL)
		*number = FIRST_JOURNAL;
	if (*number >= FIRST_JOURNAL + CM_JOURNAL_USERS)
		return false;
	if (*number >= FIRST_JOURNAL) {
		source->journal = &set->cm_journal.shares[*number - FIRST_JOURNAL];
		return true;
	}
	source->shelved = &shelf->records[*number - FIRST_SHELVED];
	source->uid = source->shelved->uid;
	source->pid = source->shelved->pid;
	source->lane = source->shelved->lane;
	return true;
}

/* Adds half a ring of a source. Returns whether the source has no such ring. */
static bool add_part(const struct record_walk *walk, const struct record_source *source,
		     uint32_t ring, uint32_t half)
{
	const struct shelved_record *shelved = source->shelved;

	if (source->journal != NULL)
		return add_share(walk, source->journal);
	if (shelved == NULL) {
		if (source->region == NULL || ring >= RNIC_RECORD_RINGS)
			return true;
		add_ring(walk, source, &source->region->rings[ring], ring, half);
		return false;
	}
	if (ring < shelved->ring_count) {
		add_ring(walk, source, &shelved->rings[ring], shelved->numbers[ring], half);
		return false;
	}
	if (ring == shelved->ring_count && half == 0)
		add_end(walk, shelved);
	return true;
}

/* The number of the unit of time in which the listing began. */
static uint32_t listing_unit(const struct client_set *set, uint32_t cursor)
{
	const uint32_t now = rnic_record_tick(set->now_ns) >> STAMP_UNIT_SHIFT;

	return cursor == 0 ? now : now - ((now - (cursor >> STAMP_SHIFT)) & STAMP_MASK);
}

uint32_t show_record(const struct client_set *set, uid_t viewer, struct show_rows *rows,
		     uint32_t cursor)
{
	const uint32_t unit = listing_unit(set, cursor);
	const struct record_walk walk = {set, viewer, rows, (unit + 1) << STAMP_UNIT_SHIFT};
	uint32_t number = (cursor & ((1u << STAMP_SHIFT) - 1)) >> SOURCE_SHIFT;
	uint32_t part = cursor & ((1u << SOURCE_SHIFT) - 1);
	uint32_t steps = STEPS_MAX;
	struct record_source source;

	rows->skip = 0;
	for (uint32_t wanted = number; find_source(set, &number, &source); wanted = ++number) {
		if (number != wanted)
			part = 0;
		for (;; part++) {
			if (rows->max - rows->count < HALF_ENTRIES || steps-- == 0)
				return unit << STAMP_SHIFT | number << SOURCE_SHIFT | part;
			if (add_part(&walk, &source, part >> RING_SHIFT, part & 1))
				break;
		}
		part = 0;
	}
	return 0;
}
