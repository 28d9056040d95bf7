/* SPDX-License-Identifier: MIT */
/*
 * What the daemon showed last, and how fast its counts grew since the time before. The state owns
 * the rows; they are valid until the next reading.
 */
#ifndef TOOLS_RNICCTL_TOP_TOP_STATE_H
#define TOOLS_RNICCTL_TOP_TOP_STATE_H

#include "lib/client/admin/admin_link.h"

#include <stdbool.h>

/* Growth a second of the counts of a queue pair, or of all queue pairs of a client. */
enum top_rate {
	TOP_RATE_SENT_MBIT,
	TOP_RATE_RECEIVED_MBIT,
	TOP_RATE_PACKETS, /* both directions */
	TOP_RATE_COMPLETIONS,
	TOP_RATE_RESENT,
	TOP_RATE_COUNT,
};

struct top_row {
	const void *cells;   /* of the row's kind */
	const char *program; /* of the row's client; "" when none is known */
	double rates[TOP_RATE_COUNT];
};

struct top_rows {
	void *rows; /* NULL with count 0 */
	size_t count;
};

struct top_state {
	struct rnic_show_device device;
	struct top_rows counters, clients, qps;
	struct top_rows others; /* of the kind that was asked for, if none of these */
	struct top_rows counters_before, qps_before;
	struct top_row *lines; /* of the kind that was asked for */
	size_t line_count;
	uint64_t read_ns;
	double seconds; /* between the two readings; 0: there is one alone, and no rates */
};

/*
 * Reads the daemon's rows of `kind` (enum rnic_show_kind) into the lines. `now_ns` is the time.
 * Errors as of admin_link_show(): the lines are then gone, and the next reading has no rates.
 */
int top_state_read(struct top_state *state, struct admin_link *link, uint32_t kind,
		   uint64_t now_ns);

/* Reads what the lines of another kind need, and makes them; the rates stay. Errors as above. */
int top_state_choose(struct top_state *state, struct admin_link *link, uint32_t kind);

/* The growth a second of the device's counter of that name. */
double top_state_counter_rate(const struct top_state *state, const char *name);

void top_state_fini(struct top_state *state);

#endif
