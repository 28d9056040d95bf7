/* SPDX-License-Identifier: MIT */
/*
 * Reads the cards of device processes (struct rnic_card) and adds up their counters. A card is
 * written by a process that is not trusted: each value is read once, names are cut to plain
 * characters, and numbers of entries are bounded.
 *
 * Invariant: the total of a counter never shrinks. The last values of a card whose process has
 * ended stay in the totals, and a value that a process takes back is not followed.
 */
#ifndef DAEMON_CONTROL_SUPERVISOR_STATS_TOTALS_H
#define DAEMON_CONTROL_SUPERVISOR_STATS_TOTALS_H

#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stdint.h>

#define CARD_TOTALS_MAX 320

struct card_total {
	uint32_t kind; /* enum rnic_card_kind */
	char name[sizeof(((struct rnic_card_counter *)NULL)->name)];
	uint64_t value;
};

/* All counters whose names the owner has added. What a card counts by another name is dropped. */
struct card_totals {
	struct card_total entries[CARD_TOTALS_MAX];
	uint32_t count;
};

/* What the control plane keeps of one card. */
struct card_reader {
	const struct rnic_card *card;		 /* NULL: none, or ended */
	uint32_t known_count;			 /* entries of the card that have a total */
	uint16_t totals[RNIC_CARD_COUNTERS_MAX]; /* by entry; CARD_TOTALS_MAX: none */
	uint64_t added[RNIC_CARD_COUNTERS_MAX];	 /* by entry; part of the total */
};

/* The numbers of objects of one card, or of several. */
struct card_objects {
	uint64_t sessions, pds, mrs, mws, cqs, qps, srqs;
};

/* Adds a counter, unless it is there; beyond CARD_TOTALS_MAX it is dropped. */
void card_totals_add(struct card_totals *totals, uint32_t kind, const char *name);

/* Begins to read a card, which stays mapped until card_reader_end(). */
void card_reader_begin(struct card_reader *reader, const struct rnic_card *card);

/* Adds to the totals what the card has more than before. */
void card_reader_update(struct card_reader *reader, struct card_totals *totals);

/* Adds the last values, and reads no more. */
void card_reader_end(struct card_reader *reader, struct card_totals *totals);

/* Adds the card's numbers of objects to `objects`. */
void card_reader_add_objects(const struct card_reader *reader, struct card_objects *objects);

/*
 * The mask of used GIDs; 0 without a card. A caller that reads the sequence below first gets a mask
 * that is at least as new as the sequence.
 */
uint32_t card_reader_gids_used(const struct card_reader *reader);

/* The sequence of the latest FACTS that the process applied; 0 without a card. */
uint64_t card_reader_facts_sequence(const struct card_reader *reader);

/*
 * The total numbered `index` among those of `kind`; NULL: there are no more. The pointer is valid
 * until the totals go.
 */
const struct card_total *card_totals_at(const struct card_totals *totals, uint32_t kind,
					uint32_t index);

/* The number of totals of `kind`. */
uint32_t card_totals_count(const struct card_totals *totals, uint32_t kind);

#endif
