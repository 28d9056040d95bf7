/* SPDX-License-Identifier: MIT */
#include "lib/client/native/faults/program_rules.h"

#include "lib/wait/clock.h"
#include "proto/base/bits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define ERRNO_MAX    4095
#define DELAY_MAX_NS UINT64_C(60000000000)

/* The daemon changes a page within microseconds. While a page stays unfinished, old rules stay. */
#define READS_MAX 100

/* The call of each request, plus 1; 0: no rule refuses it. */
static const uint8_t calls_of[RNIC_CTL_OPERATION_COUNT] = {
	[RNIC_CTL_QUERY_PORT] = RNIC_VERB_QUERY_PORT + 1,
	[RNIC_CTL_QUERY_GIDS] = RNIC_VERB_QUERY_GID + 1,
	[RNIC_CTL_QUERY_PKEYS] = RNIC_VERB_QUERY_PKEY + 1,
	[RNIC_CTL_ALLOC_PD] = RNIC_VERB_ALLOC_PD + 1,
	[RNIC_CTL_DEALLOC_PD] = RNIC_VERB_DEALLOC_PD + 1,
	[RNIC_CTL_REGISTER_MR] = RNIC_VERB_REG_MR + 1,
	[RNIC_CTL_REREGISTER_MR] = RNIC_VERB_REREG_MR + 1,
	[RNIC_CTL_DEREGISTER_MR] = RNIC_VERB_DEREG_MR + 1,
	[RNIC_CTL_ALLOC_MW] = RNIC_VERB_ALLOC_MW + 1,
	[RNIC_CTL_DEALLOC_MW] = RNIC_VERB_DEALLOC_MW + 1,
	[RNIC_CTL_CREATE_CHANNEL] = RNIC_VERB_CREATE_COMP_CHANNEL + 1,
	[RNIC_CTL_DESTROY_CHANNEL] = RNIC_VERB_DESTROY_COMP_CHANNEL + 1,
	[RNIC_CTL_CREATE_CQ] = RNIC_VERB_CREATE_CQ + 1,
	[RNIC_CTL_RESIZE_CQ] = RNIC_VERB_RESIZE_CQ + 1,
	[RNIC_CTL_DESTROY_CQ] = RNIC_VERB_DESTROY_CQ + 1,
	[RNIC_CTL_CREATE_QP] = RNIC_VERB_CREATE_QP + 1,
	[RNIC_CTL_MODIFY_QP] = RNIC_VERB_MODIFY_QP + 1,
	[RNIC_CTL_QUERY_QP] = RNIC_VERB_QUERY_QP + 1,
	[RNIC_CTL_DESTROY_QP] = RNIC_VERB_DESTROY_QP + 1,
	[RNIC_CTL_CREATE_AH] = RNIC_VERB_CREATE_AH + 1,
	[RNIC_CTL_DESTROY_AH] = RNIC_VERB_DESTROY_AH + 1,
	[RNIC_CTL_CREATE_SRQ] = RNIC_VERB_CREATE_SRQ + 1,
	[RNIC_CTL_MODIFY_SRQ] = RNIC_VERB_MODIFY_SRQ + 1,
	[RNIC_CTL_RESIZE_SRQ] = RNIC_VERB_MODIFY_SRQ + 1,
	[RNIC_CTL_QUERY_SRQ] = RNIC_VERB_QUERY_SRQ + 1,
	[RNIC_CTL_DESTROY_SRQ] = RNIC_VERB_DESTROY_SRQ + 1,
	[RNIC_CTL_OPEN_XRCD] = RNIC_VERB_OPEN_XRCD + 1,
	[RNIC_CTL_CLOSE_XRCD] = RNIC_VERB_CLOSE_XRCD + 1,
	[RNIC_CTL_OPEN_QP] = RNIC_VERB_OPEN_QP + 1,
	[RNIC_CTL_ATTACH_MCAST] = RNIC_VERB_ATTACH_MCAST + 1,
	[RNIC_CTL_DETACH_MCAST] = RNIC_VERB_DETACH_MCAST + 1,
	[RNIC_CTL_IMPORT_PD] = RNIC_VERB_IMPORT_PD + 1,
	[RNIC_CTL_IMPORT_MR] = RNIC_VERB_IMPORT_MR + 1,
	[RNIC_CTL_CM_CREATE_ID] = RNIC_VERB_CM_CREATE_ID + 1,
	[RNIC_CTL_CM_BIND] = RNIC_VERB_CM_BIND_ADDR + 1,
	[RNIC_CTL_CM_RESOLVE_ADDRESS] = RNIC_VERB_CM_RESOLVE_ADDR + 1,
	[RNIC_CTL_CM_RESOLVE_ROUTE] = RNIC_VERB_CM_RESOLVE_ROUTE + 1,
	[RNIC_CTL_CM_LISTEN] = RNIC_VERB_CM_LISTEN + 1,
	[RNIC_CTL_CM_CONNECT] = RNIC_VERB_CM_CONNECT + 1,
	[RNIC_CTL_CM_ACCEPT] = RNIC_VERB_CM_ACCEPT + 1,
	[RNIC_CTL_CM_DISCONNECT] = RNIC_VERB_CM_DISCONNECT + 1,
	[RNIC_CTL_CM_JOIN_MCAST] = RNIC_VERB_CM_JOIN_MULTICAST + 1,
};

/* --- pages ----------------------------------------------------------------------------------- */

static void *verb_rules_map(int fd, size_t bytes, int rights)
{
	struct stat status;
	void *mapped;

	if (fstat(fd, &status) != 0 || status.st_size < (off_t)bytes)
		return NULL;
	mapped = mmap(NULL, bytes, rights, MAP_SHARED, fd, 0);
	return mapped != MAP_FAILED ? mapped : NULL;
}

struct verb_rules *verb_rules_create(const int fds[2], uint32_t pid,
				     const char program[RNIC_CTL_NAME_BYTES])
{
	struct verb_rules *rules = calloc(1, sizeof(*rules));

	if (rules == NULL)
		return NULL;
	rules->page = verb_rules_map(fds[0], sizeof(*rules->page), PROT_READ);
	rules->hits = verb_rules_map(fds[1], sizeof(*rules->hits), PROT_READ | PROT_WRITE);
	if (rules->page == NULL || rules->hits == NULL ||
	    rules->page->magic != RNIC_VERB_RULES_MAGIC) {
		verb_rules_destroy(rules);
		return NULL;
	}
	rnic_spinlock_init(&rules->lock);
	rules->pid = pid;
	memcpy(rules->program, program, sizeof(rules->program) - 1);
	return rules;
}

void verb_rules_destroy(struct verb_rules *rules)
{
	if (rules == NULL)
		return;
	if (rules->page != NULL)
		munmap((void *)rules->page, sizeof(*rules->page));
	if (rules->hits != NULL)
		munmap(rules->hits, sizeof(*rules->hits));
	free(rules);
}

/* --- rules ----------------------------------------------------------------------------------- */

/* Whether the library can carry the rule out: its page may hold anything. */
static bool verb_rule_is_right(const struct rnic_verb_rule *rule)
{
	static const uint32_t value_max[RNIC_VERB_ACTION_COUNT] = {
		[RNIC_VERB_FAIL] = ERRNO_MAX,
		[RNIC_VERB_STATUS] = RNIC_WC_STATUS_COUNT - 1,
		[RNIC_VERB_OCCUPY] = UINT16_MAX,
	};

	return rule->action > RNIC_VERB_NONE && rule->action < RNIC_VERB_ACTION_COUNT &&
	       rule->value <= value_max[rule->action] &&
	       (rule->value != 0 || value_max[rule->action] == 0) && rule->often.every != 0 &&
	       rule->often.pattern_steps <= 64 && rule->jitter_ns <= rule->delay_ns &&
	       rule->delay_ns <= DELAY_MAX_NS;
}

static bool verb_rule_concerns(const struct verb_rules *rules, const struct rnic_verb_rule *rule)
{
	return (rule->pid == 0 || rule->pid == rules->pid) &&
	       (rule->program[0] == '\0' ||
		strncmp(rule->program, rules->program, sizeof(rule->program)) == 0);
}

/* Copies the rules of the page, between two looks at the same even number. */
static bool verb_rules_copy(const struct verb_rules *rules, struct rnic_verb_rule *copies,
			    uint32_t *sequence)
{
	for (uint32_t reads = 0; reads < READS_MAX; reads++) {
		*sequence = atomic_load_explicit(&rules->page->sequence, memory_order_acquire);
		if ((*sequence & 1) != 0)
			continue;
		memcpy(copies, rules->page->rules, sizeof(rules->page->rules));
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&rules->page->sequence, memory_order_relaxed) == *sequence)
			return true;
	}
	return false;
}

/* Lets completions of the rule's queue pairs pass the tables. */
static void verb_rules_allow_works(struct verb_rules *rules, const struct rnic_verb_rule *rule)
{
	const uint32_t low = rule->qpn & 0xff;
	const uint32_t middle = rule->qpn >> 8 & 0xff;

	for (uint32_t i = 0; i < 256; i++) {
		if (rule->has_qpn == 0 || i == low)
			atomic_fetch_or_explicit(&rules->works_low[i], rule->calls,
						 memory_order_relaxed);
		if (rule->has_qpn == 0 || i == middle)
			atomic_fetch_or_explicit(&rules->works_middle[i], rule->calls,
						 memory_order_relaxed);
	}
}

/* Keeps the rule in its slot, with its counts if it was there. */
static void verb_rules_keep(struct verb_rules *rules, uint32_t slot,
			    const struct rnic_verb_rule *rule)
{
	struct known_rule *known = &rules->rules[slot];

	if (known->rule.id != rule->id)
		*known = (struct known_rule){.rule = *rule};
	rules->slots[rules->slot_count++] = (uint8_t)slot;
	atomic_fetch_or_explicit(&rules->calls[rule->action], rule->calls, memory_order_relaxed);
	if (rule->action != RNIC_VERB_FAIL)
		verb_rules_allow_works(rules, rule);
}

/* Takes the rules of the page, which has news. Under the lock. */
static void verb_rules_take(struct verb_rules *rules)
{
	struct rnic_verb_rule copies[RNIC_VERB_RULES_MAX];
	uint32_t sequence;

	if (!verb_rules_copy(rules, copies, &sequence))
		return;
	rules->slot_count = 0;
	for (uint32_t i = 0; i < 256; i++) {
		atomic_store_explicit(&rules->works_low[i], 0, memory_order_relaxed);
		atomic_store_explicit(&rules->works_middle[i], 0, memory_order_relaxed);
	}
	for (uint32_t i = 0; i < RNIC_VERB_ACTION_COUNT; i++)
		atomic_store_explicit(&rules->calls[i], 0, memory_order_relaxed);
	for (uint32_t i = 0; i < RNIC_VERB_RULES_MAX; i++) {
		if (copies[i].id != 0 && verb_rule_is_right(&copies[i]) &&
		    verb_rule_concerns(rules, &copies[i]))
			verb_rules_keep(rules, i, &copies[i]);
		else
			rules->rules[i].rule.id = 0;
	}
	atomic_store_explicit(&rules->sequence, sequence, memory_order_release);
}

static bool verb_rules_have_news(const struct verb_rules *rules)
{
	return atomic_load_explicit(&rules->sequence, memory_order_acquire) !=
	       atomic_load_explicit(&rules->page->sequence, memory_order_relaxed);
}

/* Whether some rule of the set applies to this bit. Most calls end here, without the lock. */
static bool verb_rules_concern(struct verb_rules *rules, const _Atomic uint64_t *set, uint32_t bit)
{
	if (verb_rules_have_news(rules)) {
		rnic_spinlock_lock(&rules->lock);
		if (verb_rules_have_news(rules))
			verb_rules_take(rules);
		rnic_spinlock_unlock(&rules->lock);
	}
	return (atomic_load_explicit(set, memory_order_relaxed) >> bit & 1) != 0;
}

/* --- hits ------------------------------------------------------------------------------------ */

/* Draws a number from 0 to `bound` - 1, as splitmix64 does. */
static uint64_t verb_rule_draw(const struct known_rule *known, uint64_t bound)
{
	return rnic_mix64(known->rule.seed + known->seen * UINT64_C(0x9e3779b97f4a7c15)) % bound;
}

/* Other programs of the user count in the same word. */
static void verb_rules_tell_hit(const struct verb_rules *rules, uint32_t slot, uint32_t id)
{
	_Atomic uint64_t *word = &rules->hits->words[slot];
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
	uint64_t wanted;

	do
		wanted = old >> 32 == id ? old + 1 : (uint64_t)id << 32 | 1;
	while (!atomic_compare_exchange_weak_explicit(word, &old, wanted, memory_order_relaxed,
						      memory_order_relaxed));
}

/* Counts a call or completion to which the rule in `slot` applies, and returns whether it acts. */
static bool verb_rules_hit(struct verb_rules *rules, uint32_t slot)
{
	struct known_rule *known = &rules->rules[slot];
	const struct rnic_rule_often *often = &known->rule.often;

	if (!rnic_rule_has_time(often, clock_now_ns() - known->rule.loaded_ns) ||
	    !rnic_rule_selects(often, &known->seen) ||
	    !rnic_rule_has_hits_left(often, known->hits) ||
	    verb_rule_draw(known, RNIC_RULE_ALWAYS_PPM) >= often->chance_ppm)
		return false;
	known->hits++;
	verb_rules_tell_hit(rules, slot, known->rule.id);
	return true;
}

static int verb_rules_judge(struct verb_rules *rules, enum rnic_verb_call call, uint32_t *id)
{
	int error = 0;

	if (!verb_rules_concern(rules, &rules->calls[RNIC_VERB_FAIL], call))
		return 0;
	rnic_spinlock_lock(&rules->lock);
	for (uint32_t i = 0; i < rules->slot_count; i++) {
		const uint32_t slot = rules->slots[i];
		const struct rnic_verb_rule *rule = &rules->rules[slot].rule;

		if (rule->action != RNIC_VERB_FAIL || (rule->calls >> call & 1) == 0 ||
		    !verb_rules_hit(rules, slot) || error != 0)
			continue;
		error = -(int)rule->value;
		*id = rule->id;
	}
	rnic_spinlock_unlock(&rules->lock);
	return error;
}

int verb_rules_refuse(struct verb_rules *rules, enum rnic_verb_call call)
{
	uint32_t id;

	return verb_rules_judge(rules, call, &id);
}

int verb_rules_refuse_operation(struct verb_rules *rules, enum rnic_ctl_operation operation,
				uint32_t *rule)
{
	const uint8_t call = calls_of[operation];

	return call != 0 ? verb_rules_judge(rules, (enum rnic_verb_call)(call - 1), rule) : 0;
}

/* How late a completion comes. */
static uint64_t verb_rule_delay_ns(const struct known_rule *known)
{
	const struct rnic_verb_rule *rule = &known->rule;

	return rule->delay_ns - rule->jitter_ns + verb_rule_draw(known, 2 * rule->jitter_ns + 1);
}

bool verb_rules_concern_work(struct verb_rules *rules, uint32_t qpn, uint32_t wc_opcode)
{
	const uint32_t bit = rnic_verb_completion_bit(wc_opcode);

	return verb_rules_concern(rules, &rules->works_low[qpn & 0xff], bit) &&
	       (atomic_load_explicit(&rules->works_middle[qpn >> 8 & 0xff], memory_order_relaxed) >>
			bit &
		1) != 0;
}

bool verb_rules_complete(struct verb_rules *rules, enum rnic_verb_action action, uint32_t qpn,
			 uint32_t wc_opcode, uint64_t *effect)
{
	const uint32_t bit = rnic_verb_completion_bit(wc_opcode);
	bool acts = false;

	if (!verb_rules_concern(rules, &rules->calls[action], bit) ||
	    !verb_rules_concern_work(rules, qpn, wc_opcode))
		return false;
	rnic_spinlock_lock(&rules->lock);
	for (uint32_t i = 0; i < rules->slot_count; i++) {
		const uint32_t slot = rules->slots[i];
		const struct rnic_verb_rule *rule = &rules->rules[slot].rule;

		if (rule->action != action || (rule->calls >> bit & 1) == 0 ||
		    (rule->has_qpn != 0 && rule->qpn != qpn) || !verb_rules_hit(rules, slot))
			continue;
		acts = true;
		*effect = action == RNIC_VERB_DELAY ? verb_rule_delay_ns(&rules->rules[slot])
						    : rule->value;
	}
	rnic_spinlock_unlock(&rules->lock);
	return acts;
}
