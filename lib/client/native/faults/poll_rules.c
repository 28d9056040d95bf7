/* SPDX-License-Identifier: MIT */
#include "lib/client/native/faults/poll_rules.h"

#include "lib/wait/clock.h"
#include "proto/ctl/direct_device.h"
#include "proto/shm/ring.h"

#include <errno.h>
#include <time.h>

/* After so long a poll that a rule holds back looks whether the rule has gone. */
#define HOLD_ON_NS 100000

static uint32_t poll_slot_of(const struct rnic_cq *cq, uint32_t index)
{
	return rnic_ring_slot(index,
			      atomic_load_explicit(&cq->region->slot_zero, memory_order_relaxed),
			      cq->slots);
}

static bool entry_is_hit(const struct rnic_cq *cq, const struct rnic_cqe *entry,
			 enum rnic_verb_action action, uint64_t *effect)
{
	return verb_rules_complete(cq->context->rules, action, entry->qpn, entry->opcode, effect);
}

/* Gives the places of entries back, all but those that a rule keeps occupied. */
static void give_places_back(struct rnic_cq *cq, const struct rnic_cqe *entry)
{
	const uint32_t given = atomic_load_explicit(&cq->control->consumer, memory_order_relaxed);
	uint64_t kept = 0;
	uint32_t wanted;

	entry_is_hit(cq, entry, RNIC_VERB_OCCUPY, &kept);
	wanted = cq->consumer - (uint32_t)kept;
	if ((int32_t)(wanted - given) > 0)
		atomic_store_explicit(&cq->control->consumer, wanted, memory_order_release);
}

/* Takes the entry at `index`, behind which the queue goes on at `consumer`. */
static bool take_at(struct rnic_cq *cq, uint32_t index, uint32_t consumer,
		    struct rnic_completion *completion, poll_translate *translate)
{
	const uint32_t slot = poll_slot_of(cq, index);
	const struct rnic_cqe entry = cq->entries[slot];
	uint64_t status;

	cq->consumer = consumer;
	give_places_back(cq, &entry);
	if (!translate(cq, &entry, cq->times_ns != NULL ? cq->times_ns[slot] : 0, completion))
		return false;
	if (entry.status == RNIC_WC_SUCCESS &&
	    entry_is_hit(cq, &entry, RNIC_VERB_STATUS, &status)) {
		completion->status = (uint8_t)status;
		completion->byte_count = 0;
	}
	return true;
}

/*
 * How long rules hold the first entry back from now on. Each entry is judged once, and free when
 * the rules are gone.
 */
static uint64_t held_for_ns(struct rnic_cq *cq)
{
	const uint64_t now_ns = clock_now_ns();
	uint64_t delay_ns = 0;

	if (!verb_rules_have(cq->context->rules, RNIC_VERB_KIND_COMPLETIONS))
		return 0;
	if (!cq->is_judged) {
		entry_is_hit(cq, &cq->entries[poll_slot_of(cq, cq->consumer)], RNIC_VERB_DELAY,
			     &delay_ns);
		cq->is_judged = true;
		cq->due_ns = now_ns + delay_ns;
	}
	return cq->due_ns > now_ns ? cq->due_ns - now_ns : 0;
}

/* Whether the second entry is to overtake the first one. */
static bool lets_overtake(struct rnic_cq *cq)
{
	const struct rnic_cqe *first = &cq->entries[poll_slot_of(cq, cq->consumer)];
	const struct rnic_cqe *second = &cq->entries[poll_slot_of(cq, cq->consumer + 1)];
	uint64_t effect;

	return first->qpn != second->qpn && entry_is_hit(cq, first, RNIC_VERB_REORDER, &effect);
}

uint32_t rnic_poll_unconcerned(const struct rnic_cq *cq, uint32_t max_count)
{
	struct verb_rules *rules = cq->context->rules;
	const int64_t pending =
		rnic_ring_pending(rnic_word_load(&cq->region->producer), cq->consumer, cq->slots);
	uint32_t count = 0;

	if (cq->is_overtaken || cq->is_judged)
		return 0;
	while (count < max_count && count < pending) {
		const struct rnic_cqe *entry = &cq->entries[poll_slot_of(cq, cq->consumer + count)];

		if (verb_rules_concern_work(rules, entry->qpn, entry->opcode))
			break;
		count++;
	}
	return count;
}

int rnic_poll_by_rules(struct rnic_cq *cq, uint32_t max_count, struct rnic_completion *completions,
		       poll_translate *translate, uint64_t *wait_ns)
{
	int64_t pending =
		rnic_ring_pending(rnic_word_load(&cq->region->producer), cq->consumer, cq->slots);
	uint32_t taken = 0;

	*wait_ns = 0;
	if (pending < 0)
		return -EIO;
	while (pending > 0 && taken < max_count) {
		const uint32_t first = cq->consumer;

		*wait_ns = held_for_ns(cq);
		if (*wait_ns != 0)
			break;
		if (pending > 1 && !cq->is_overtaken && lets_overtake(cq)) {
			cq->is_overtaken = true;
			taken += take_at(cq, first + 1, first, &completions[taken], translate);
			continue;
		}
		taken += take_at(cq, first, first + 1 + cq->is_overtaken, &completions[taken],
				 translate);
		pending -= 1 + cq->is_overtaken;
		cq->is_overtaken = false;
		cq->is_judged = false;
	}
	return (int)taken;
}

void rnic_poll_hold_on(struct rnic_cq *cq, uint64_t wait_ns)
{
	const struct timespec pause = {.tv_nsec =
					       (long)(wait_ns < HOLD_ON_NS ? wait_ns : HOLD_ON_NS)};

	nanosleep(&pause, NULL);
	if (cq->context->direct != NULL)
		cq->context->direct_calls->poll(cq->context->direct);
}
