/* SPDX-License-Identifier: MIT */
/*
 * Writes the card of a device process: the page by which the control plane shows and checks what it
 * cannot know itself: counters, GIDs in use, the numbers of sessions and objects, and the facts
 * that were applied.
 *
 * The counters cost a store each. The rest costs a walk over the queue pairs, and changes only with
 * requests, facts and the ends of clients: whoever serves those calls card_writer_note_change().
 */
#ifndef DAEMON_DEVICE_LINK_STATS_WRITER_H
#define DAEMON_DEVICE_LINK_STATS_WRITER_H

#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stdint.h>

/* While the loop is awake, these times lie between two refreshes: of counters, and of a change. */
#define CARD_WRITER_REFRESH_NS UINT64_C(10000000)
#define CARD_WRITER_CHANGE_NS  UINT64_C(1000000)

struct device_half;

struct card_writer {
	struct rnic_card *card; /* shared with the control plane, and never read */
	uint32_t counter_count;
	uint64_t refreshed_ns;
	bool has_change;
};

/*
 * Maps the card that the control plane made, whose descriptor stays the caller's. Negative errno:
 * -EINVAL when the file is too short; or of mmap(2).
 */
int card_writer_open(struct card_writer *writer, int fd);
void card_writer_close(struct card_writer *writer);

/* Notes that more than counters may have changed. */
static inline void card_writer_note_change(struct card_writer *writer)
{
	writer->has_change = true;
}

/* Writes the card: the names of counters at the first call, and whatever has changed. */
void card_writer_refresh(struct card_writer *writer, const struct device_half *half,
			 uint64_t now_ns);

/*
 * Refreshes the card when the last refresh is long enough ago. Each request is a change, and a
 * program may send one after another: they share a walk.
 */
void card_writer_refresh_if_due(struct card_writer *writer, const struct device_half *half,
				uint64_t now_ns);

/*
 * When the card is to be refreshed after activity at `active_ns`, the latest one; UINT64_MAX: the
 * card shows that already.
 */
uint64_t card_writer_due_ns(const struct card_writer *writer, uint64_t active_ns);

#endif
