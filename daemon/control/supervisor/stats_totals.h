/* SPDX-License-Identifier: MIT */
/*
 * Reads the statistics pages of device processes (struct rnic_stats_page) and adds up their
 * counters. A statistics page is written by a process that is not trusted: each value is read once,
 * names are cut to plain characters, and numbers of entries are bounded.
 *
 * Invariant: the total of a counter never shrinks. The last values of a statistics page whose
 * process has ended stay in the totals, and a value that a process takes back is not followed. Nor
 * is one that is more than can have happened since the process began: a total that is full would
 * tell nothing of all other processes.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_STATS_TOTALS_H
#define DAEMON_CONTROL_SUPERVISOR_STATS_TOTALS_H

#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stdint.h>

#define STATS_TOTALS_MAX 320

/* Bytes count fastest, and no thread copies as many in a second. */
#define STATS_GROWTH_PER_SECOND UINT64_C(100000000000)

struct stats_total {
	uint32_t kind; /* enum rnic_stats_kind */
	char name[sizeof(((struct rnic_stats_counter *)NULL)->name)];
	uint64_t value;
};

/* All counters whose names the owner has added. What a statistics page counts by another name is
 * dropped. */
struct stats_totals {
	struct stats_total entries[STATS_TOTALS_MAX];
	uint32_t count;
};

/* What the control plane keeps of one statistics page. */
struct stats_reader {
	const struct rnic_stats_page *stats; /* NULL: none, or ended */
	uint32_t known_count;		     /* entries of the statistics page that have a total */
	uint64_t begun_ns;
	uint16_t totals[RNIC_STATS_COUNTERS_MAX]; /* by entry; STATS_TOTALS_MAX: none */
	uint64_t added[RNIC_STATS_COUNTERS_MAX];  /* by entry; part of the total */
};

/* The numbers of objects of one statistics page, or of several. */
struct stats_objects {
	uint64_t sessions, pds, mrs, mws, cqs, qps, srqs;
};

/* Adds a counter, unless it is there; beyond STATS_TOTALS_MAX it is dropped. */
void stats_totals_add(struct stats_totals *totals, uint32_t kind, const char *name);

/* Begins to read a statistics page, which stays mapped until stats_reader_end(). */
void stats_reader_begin(struct stats_reader *reader, const struct rnic_stats_page *stats,
			uint64_t now_ns);

/*
 * Adds to the totals what the statistics page has more than before. False: a counter is more than
 * can have happened, and was not added; the caller reads no more of the page.
 */
bool stats_reader_update(struct stats_reader *reader, struct stats_totals *totals, uint64_t now_ns);

/* Reads no more of the counters. */
void stats_reader_end(struct stats_reader *reader);

/* Adds the statistics page's numbers of objects to `objects`. */
void stats_reader_add_objects(const struct stats_reader *reader, struct stats_objects *objects);

/*
 * The mask of used GIDs; 0 without a statistics page. A caller that reads the sequence below first
 * gets a mask that is at least as new as the sequence.
 */
uint32_t stats_reader_gids_used(const struct stats_reader *reader);

/* The sequence of the latest FACTS that the process applied; 0 without a statistics page. */
uint64_t stats_reader_facts_sequence(const struct stats_reader *reader);

/*
 * The total numbered `index` among those of `kind`; NULL: there are no more. The pointer is valid
 * until the totals go.
 */
const struct stats_total *stats_totals_at(const struct stats_totals *totals, uint32_t kind,
					  uint32_t index);

/* The number of totals of `kind`. */
uint32_t stats_totals_count(const struct stats_totals *totals, uint32_t kind);

#endif
