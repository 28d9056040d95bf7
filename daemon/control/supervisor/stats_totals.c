/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/stats_totals.h"

#include "proto/base/time_units.h"

#include <string.h>

/* Copies a name once, up to its zero, as characters that a listing can show. */
static void stats_copy_name(char *to, const volatile char *from, size_t bytes)
{
	size_t length = 0;

	for (; length < bytes - 1; length++) {
		char character = from[length];

		if (character == '\0')
			break;
		to[length] = character >= ' ' && character <= '~' ? character : '?';
	}
	memset(to + length, 0, bytes - length);
}

/* Returns the number of the total with this kind and name; STATS_TOTALS_MAX: there is none. */
static uint16_t stats_totals_find(const struct stats_totals *totals, uint32_t kind,
				  const char *name)
{
	for (uint32_t i = 0; i < totals->count; i++)
		if (totals->entries[i].kind == kind && strcmp(totals->entries[i].name, name) == 0)
			return (uint16_t)i;
	return STATS_TOTALS_MAX;
}

void stats_totals_add(struct stats_totals *totals, uint32_t kind, const char *name)
{
	struct stats_total *added = &totals->entries[totals->count];

	if (totals->count == STATS_TOTALS_MAX ||
	    stats_totals_find(totals, kind, name) != STATS_TOTALS_MAX)
		return;
	added->kind = kind;
	stats_copy_name(added->name, name, sizeof(added->name));
	totals->count++;
}

static void stats_reader_learn(struct stats_reader *reader, const struct stats_totals *totals)
{
	uint32_t count = reader->stats->counter_count;

	if (count > RNIC_STATS_COUNTERS_MAX)
		count = RNIC_STATS_COUNTERS_MAX;
	for (; reader->known_count < count; reader->known_count++) {
		const struct rnic_stats_counter *counter =
			&reader->stats->counters[reader->known_count];
		const uint32_t kind = *(const volatile uint32_t *)&counter->kind;
		char name[sizeof(counter->name)];

		stats_copy_name(name, counter->name, sizeof(name));
		reader->totals[reader->known_count] = stats_totals_find(totals, kind, name);
	}
}

void stats_reader_begin(struct stats_reader *reader, const struct rnic_stats_page *stats,
			uint64_t now_ns)
{
	memset(reader, 0, sizeof(*reader));
	reader->stats = stats;
	reader->begun_ns = now_ns;
}

static bool stats_reader_is_ready(const struct stats_reader *reader)
{
	return reader->stats != NULL &&
	       *(const volatile uint32_t *)&reader->stats->magic == RNIC_STATS_MAGIC;
}

/* Returns what a counter can have reached since the process began. */
static uint64_t stats_reader_value_max(const struct stats_reader *reader, uint64_t now_ns)
{
	const uint64_t seconds = (now_ns - reader->begun_ns) / RNIC_NS_PER_SECOND + 1;

	return seconds > UINT64_MAX / STATS_GROWTH_PER_SECOND ? UINT64_MAX
							      : seconds * STATS_GROWTH_PER_SECOND;
}

bool stats_reader_update(struct stats_reader *reader, struct stats_totals *totals, uint64_t now_ns)
{
	uint64_t value_max;

	if (!stats_reader_is_ready(reader))
		return true;
	stats_reader_learn(reader, totals);
	value_max = stats_reader_value_max(reader, now_ns);
	for (uint32_t i = 0; i < reader->known_count; i++) {
		const uint64_t value = reader->stats->counters[i].value;
		struct stats_total *total = &totals->entries[reader->totals[i]];
		uint64_t more;

		if (reader->totals[i] == STATS_TOTALS_MAX || value <= reader->added[i])
			continue;
		if (value > value_max)
			return false;
		more = value - reader->added[i];
		reader->added[i] = value;
		total->value = total->value > UINT64_MAX - more ? UINT64_MAX : total->value + more;
	}
	return true;
}

void stats_reader_end(struct stats_reader *reader)
{
	reader->stats = NULL;
}

void stats_reader_add_objects(const struct stats_reader *reader, struct stats_objects *objects)
{
	const struct rnic_stats_page *stats = reader->stats;

	if (!stats_reader_is_ready(reader))
		return;
	objects->sessions += stats->session_count;
	objects->pds += stats->pd_count;
	objects->mrs += stats->mr_count;
	objects->mws += stats->mw_count;
	objects->cqs += stats->cq_count;
	objects->qps += stats->qp_count;
	objects->srqs += stats->srq_count;
}

uint32_t stats_reader_gids_used(const struct stats_reader *reader)
{
	return stats_reader_is_ready(reader) ? reader->stats->gids_used : 0;
}

uint64_t stats_reader_facts_sequence(const struct stats_reader *reader)
{
	return stats_reader_is_ready(reader) ? reader->stats->facts_sequence : 0;
}

const struct stats_total *stats_totals_at(const struct stats_totals *totals, uint32_t kind,
					  uint32_t index)
{
	for (uint32_t i = 0; i < totals->count; i++)
		if (totals->entries[i].kind == kind && index-- == 0)
			return &totals->entries[i];
	return NULL;
}

uint32_t stats_totals_count(const struct stats_totals *totals, uint32_t kind)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < totals->count; i++)
		count += totals->entries[i].kind == kind;
	return count;
}
