/* SPDX-License-Identifier: MIT */
#include "daemon/control/supervisor/rule_table.h"

#include "lib/nic/port/conditions/fault_plan.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

_Static_assert(RNIC_RULES_MAX == FAULT_RULES_MAX, "each slot has its place");
_Static_assert(RNIC_RULE_TEXT_BYTES == FAULT_RULE_TEXT_BYTES, "each text fits");

static bool rule_is_of(const struct rule_entry *entry, const struct rule_owner *owner)
{
	return owner->is_of_all || (!entry->owner.is_of_all && entry->owner.uid == owner->uid);
}

/* Rules for calls and completions are for the library. */
static bool rule_is_for_device(const struct rule_entry *entry)
{
	return entry->verb.action == RNIC_VERB_NONE;
}

static bool rule_concerns(const struct rule_entry *entry, uid_t uid)
{
	return entry->id != 0 && (entry->owner.is_of_all || entry->owner.uid == uid);
}

static uint32_t rule_left(uint32_t max, uint32_t used)
{
	return used < max ? max - used : 0;
}

/* How many rules the owner may still load. */
static uint32_t rule_room(const struct rule_table *table, const struct rule_owner *owner)
{
	uint32_t free = 0, own = 0, users = 0;
	uint32_t room;

	for (uint32_t i = 0; i < RNIC_RULES_MAX; i++) {
		const struct rule_entry *entry = &table->entries[i];
		const bool is_users = entry->id != 0 && !entry->owner.is_of_all;

		free += entry->id == 0;
		users += is_users;
		own += is_users && entry->owner.account == owner->account;
	}
	if (owner->is_of_all)
		return free;
	room = rule_left(RULE_TABLE_USER_MAX, own);
	if (rule_left(RULE_TABLE_USERS_MAX, users) < room)
		room = rule_left(RULE_TABLE_USERS_MAX, users);
	return room < free ? room : free;
}

static void rule_store(struct rule_table *table, const struct rule_owner *owner,
		       const struct fault_rule *rule)
{
	uint32_t slot = 0;

	while (table->entries[slot].id != 0)
		slot++;
	table->entries[slot] = (struct rule_entry){
		.id = ++table->last_id,
		.owner = *owner,
		.seed = rule->seed,
		.is_for_packets = fault_rule_is_for_packets(rule),
		.needs_process = fault_rule_needs_process(rule),
	};
	memcpy(table->entries[slot].text, rule->text, RNIC_RULE_TEXT_BYTES);
	fault_rule_verb(rule, table->last_id, &table->entries[slot].verb);
}

int rule_table_needs(const char *spec, uint32_t line, struct rule_needs *needs, char *reason,
		     size_t reason_bytes)
{
	struct fault_rule rules[FAULT_RULES_MAX];
	uint32_t count;
	int result =
		fault_rules_parse(spec, line, rules, FAULT_RULES_MAX, &count, reason, reason_bytes);

	*needs = (struct rule_needs){0};
	for (uint32_t i = 0; result == 0 && i < count; i++) {
		needs->has_process |= fault_rule_needs_process(&rules[i]);
		if (rules[i].pid != 0)
			needs->pids[needs->pid_count++] = rules[i].pid;
	}
	return result;
}

int rule_table_add(struct rule_table *table, const struct rule_owner *owner, const char *spec,
		   uint32_t line, uint32_t *first, uint32_t *count, char *reason,
		   size_t reason_bytes)
{
	struct fault_rule rules[FAULT_RULES_MAX];
	int result =
		fault_rules_parse(spec, line, rules, FAULT_RULES_MAX, count, reason, reason_bytes);

	if (result != 0)
		return result;
	if (*count > rule_room(table, owner)) {
		if (owner->is_of_all)
			snprintf(reason, reason_bytes, "there may be %d rules: rnicctl fault list",
				 RNIC_RULES_MAX);
		else
			snprintf(reason, reason_bytes,
				 "there may be %d rules of a user, and %d of all users: rnicctl "
				 "fault list",
				 RULE_TABLE_USER_MAX, RULE_TABLE_USERS_MAX);
		return -EDQUOT;
	}
	*first = table->last_id + 1;
	for (uint32_t i = 0; i < *count; i++)
		rule_store(table, owner, &rules[i]);
	return 0;
}

const struct rule_entry *rule_table_find(const struct rule_table *table, uint32_t id)
{
	for (uint32_t i = 0; i < RNIC_RULES_MAX; i++)
		if (id != 0 && table->entries[i].id == id)
			return &table->entries[i];
	return NULL;
}

void rule_table_remove(struct rule_table *table, uint32_t id)
{
	for (uint32_t i = 0; i < RNIC_RULES_MAX; i++)
		if (table->entries[i].id == id)
			table->entries[i].id = 0;
}

uint32_t rule_table_clear(struct rule_table *table, const struct rule_owner *owner)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < RNIC_RULES_MAX; i++) {
		struct rule_entry *entry = &table->entries[i];

		if (entry->id == 0 || !rule_is_of(entry, owner))
			continue;
		entry->id = 0;
		count++;
	}
	return count;
}

bool rule_table_needs_process(const struct rule_table *table, uid_t uid)
{
	for (uint32_t i = 0; i < RNIC_RULES_MAX; i++)
		if (table->entries[i].needs_process && rule_concerns(&table->entries[i], uid))
			return true;
	return false;
}

bool rule_table_concerns(const struct rule_table *table, uid_t uid)
{
	for (uint32_t i = 0; i < RNIC_RULES_MAX; i++)
		if (rule_is_for_device(&table->entries[i]) &&
		    rule_concerns(&table->entries[i], uid))
			return true;
	return false;
}

void rule_table_fill(const struct rule_table *table, uid_t uid, struct rnic_process_rules *rules)
{
	memset(rules, 0, sizeof(*rules));
	for (uint32_t i = 0; i < RNIC_RULES_MAX; i++) {
		const struct rule_entry *entry = &table->entries[i];

		if (!rule_is_for_device(entry) || !rule_concerns(entry, uid))
			continue;
		rules->rules[i].id = entry->id;
		rules->rules[i].seed = entry->seed;
		memcpy(rules->rules[i].text, entry->text, RNIC_RULE_TEXT_BYTES);
	}
}

void rule_table_fill_verb(const struct rule_table *table, uint32_t slot, uid_t uid,
			  struct rnic_verb_rule *rule)
{
	const struct rule_entry *entry = &table->entries[slot];

	if (rule_is_for_device(entry) || !rule_concerns(entry, uid))
		*rule = (struct rnic_verb_rule){0};
	else
		*rule = entry->verb;
}

void rule_table_count_hits(struct rule_table *table, struct rule_reader *reader, uint32_t slot,
			   uint32_t id, uint64_t hits)
{
	struct rule_entry *entry = &table->entries[slot];
	const uint32_t actor = reader->lane + 1u;

	if (id == 0 || id != entry->id)
		return;
	if (reader->ids[slot] != id)
		reader->hits[slot] = 0;
	reader->ids[slot] = id;
	if (hits <= reader->hits[slot])
		return;
	entry->hits += hits - reader->hits[slot];
	entry->actor = entry->actor == 0 || entry->actor == actor ? actor : RNIC_FAULT_ACTORS;
	reader->hits[slot] = hits;
}

void rule_table_count(struct rule_table *table, struct rule_reader *reader,
		      const struct rnic_stats_page *stats)
{
	for (uint32_t i = 0; i < RNIC_RULES_MAX; i++) {
		const uint32_t id = atomic_load_explicit(&stats->rules[i].id, memory_order_acquire);
		const uint64_t hits =
			atomic_load_explicit(&stats->rules[i].hits, memory_order_acquire);

		if (atomic_load_explicit(&stats->rules[i].id, memory_order_relaxed) == id)
			rule_table_count_hits(table, reader, i, id, hits);
	}
}
