/* SPDX-License-Identifier: MIT */
/*
 * Writes the statistics page of a device process: the page by which the control plane shows and
 * checks what it cannot know itself: counters, GIDs in use, the numbers of sessions and objects,
 * and the facts that were applied.
 *
 * The counters cost a store each. The rest costs a walk over the queue pairs, and changes only with
 * requests, facts and the ends of clients: whoever serves those calls stats_writer_note_change().
 */
#ifndef DAEMON_DEVICE_LINK_STATS_WRITER_H
#define DAEMON_DEVICE_LINK_STATS_WRITER_H

#include "proto/ctl/process_message.h"

#include <stdbool.h>
#include <stdint.h>

/* While the loop is awake, these times lie between two refreshes: of counters, and of a change. */
#define STATS_WRITER_REFRESH_NS UINT64_C(10000000)
#define STATS_WRITER_CHANGE_NS	UINT64_C(1000000)

struct device;

struct stats_writer {
	struct rnic_stats_file *file;
	struct rnic_stats_page *stats; /* shared with the control plane, and never read */
	uint32_t counter_count;
	uint64_t refreshed_ns;
	bool has_change;
	bool shows_rules; /* at the last refresh rules were loaded */
};

/*
 * Maps the statistics page that the control plane made, whose descriptor stays the caller's.
 * Negative errno: -EINVAL when the file is too short; or of mmap(2).
 */
int stats_writer_open(struct stats_writer *writer, int fd);
void stats_writer_close(struct stats_writer *writer);

/* The owners of queue pairs in the file, which the caller writes until the writer is closed. */
static inline _Atomic uint32_t *stats_writer_qp_owners(const struct stats_writer *writer)
{
	return writer->file->qp_owners;
}

/* Notes that more than counters may have changed. */
static inline void stats_writer_note_change(struct stats_writer *writer)
{
	writer->has_change = true;
}

/* Writes the statistics page: the names of counters at the first call, and whatever has changed. */
void stats_writer_refresh(struct stats_writer *writer, const struct device *device,
			  uint64_t now_ns);

/*
 * Refreshes the statistics page when the last refresh is long enough ago. Each request is a change,
 * and a program may send one after another: they share a walk.
 */
void stats_writer_refresh_if_due(struct stats_writer *writer, const struct device *device,
				 uint64_t now_ns);

/*
 * When the statistics page is to be refreshed after activity at `active_ns`, the latest one;
 * UINT64_MAX: the statistics page shows that already.
 */
uint64_t stats_writer_due_ns(const struct stats_writer *writer, uint64_t active_ns);

#endif
