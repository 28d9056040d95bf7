/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/stats_totals.h"

#include <string.h>

/* Copies a name once, up to its zero, as characters that a listing can show. */
static void card_copy_name(char *to, const volatile char *from, size_t bytes)
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

/* Returns the number of the total with this kind and name; CARD_TOTALS_MAX: there is none. */
static uint16_t card_totals_find(const struct card_totals *totals, uint32_t kind, const char *name)
{
	for (uint32_t i = 0; i < totals->count; i++)
		if (totals->entries[i].kind == kind && strcmp(totals->entries[i].name, name) == 0)
			return (uint16_t)i;
	return CARD_TOTALS_MAX;
}

void card_totals_add(struct card_totals *totals, uint32_t kind, const char *name)
{
	struct card_total *added = &totals->entries[totals->count];

	if (totals->count == CARD_TOTALS_MAX ||
	    card_totals_find(totals, kind, name) != CARD_TOTALS_MAX)
		return;
	added->kind = kind;
	card_copy_name(added->name, name, sizeof(added->name));
	totals->count++;
}

static void card_reader_learn(struct card_reader *reader, const struct card_totals *totals)
{
	uint32_t count = reader->card->counter_count;

	if (count > RNIC_CARD_COUNTERS_MAX)
		count = RNIC_CARD_COUNTERS_MAX;
	for (; reader->known_count < count; reader->known_count++) {
		const struct rnic_card_counter *counter =
			&reader->card->counters[reader->known_count];
		const uint32_t kind = *(const volatile uint32_t *)&counter->kind;
		char name[sizeof(counter->name)];

		card_copy_name(name, counter->name, sizeof(name));
		reader->totals[reader->known_count] = card_totals_find(totals, kind, name);
	}
}

void card_reader_begin(struct card_reader *reader, const struct rnic_card *card)
{
	memset(reader, 0, sizeof(*reader));
	reader->card = card;
}

static bool card_reader_is_ready(const struct card_reader *reader)
{
	return reader->card != NULL &&
	       *(const volatile uint32_t *)&reader->card->magic == RNIC_CARD_MAGIC;
}

void card_reader_update(struct card_reader *reader, struct card_totals *totals)
{
	if (!card_reader_is_ready(reader))
		return;
	card_reader_learn(reader, totals);
	for (uint32_t i = 0; i < reader->known_count; i++) {
		const uint64_t value = reader->card->counters[i].value;
		struct card_total *total = &totals->entries[reader->totals[i]];
		uint64_t more;

		if (reader->totals[i] == CARD_TOTALS_MAX || value <= reader->added[i])
			continue;
		more = value - reader->added[i];
		reader->added[i] = value;
		total->value = total->value > UINT64_MAX - more ? UINT64_MAX : total->value + more;
	}
}

void card_reader_end(struct card_reader *reader, struct card_totals *totals)
{
	card_reader_update(reader, totals);
	reader->card = NULL;
}

void card_reader_add_objects(const struct card_reader *reader, struct card_objects *objects)
{
	const struct rnic_card *card = reader->card;

	if (!card_reader_is_ready(reader))
		return;
	objects->sessions += card->session_count;
	objects->pds += card->pd_count;
	objects->mrs += card->mr_count;
	objects->mws += card->mw_count;
	objects->cqs += card->cq_count;
	objects->qps += card->qp_count;
	objects->srqs += card->srq_count;
}

uint32_t card_reader_gids_used(const struct card_reader *reader)
{
	return card_reader_is_ready(reader) ? reader->card->gids_used : 0;
}

uint64_t card_reader_facts_sequence(const struct card_reader *reader)
{
	return card_reader_is_ready(reader) ? reader->card->facts_sequence : 0;
}

const struct card_total *card_totals_at(const struct card_totals *totals, uint32_t kind,
					uint32_t index)
{
	for (uint32_t i = 0; i < totals->count; i++)
		if (totals->entries[i].kind == kind && index-- == 0)
			return &totals->entries[i];
	return NULL;
}

uint32_t card_totals_count(const struct card_totals *totals, uint32_t kind)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < totals->count; i++)
		count += totals->entries[i].kind == kind;
	return count;
}
