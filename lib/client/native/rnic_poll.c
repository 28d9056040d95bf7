/* SPDX-License-Identifier: MIT */
#include "lib/client/native/rnic_objects.h"
#include "lib/client/native/faults/poll_rules.h"
#include "lib/client/native/rnic_wait.h"
#include "lib/wait/clock.h"
#include "proto/ctl/direct_device.h"
#include "proto/shm/ring.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * A thread that polls empty queues does what awake.h says of pollers: yields, and sleeps on a futex
 * until the device wakes it. A sleep is short enough for callers that have other things to do
 * between two polls. At every multiple of the second number a queue looks whether the daemon still
 * lives, which costs a system call.
 */
#define FUTEX_WAIT_NS		     20000
#define EMPTY_POLLS_PER_HANGUP_CHECK 1024

/* In line in the usual poll, though polls by rules need it too. */
#define ALWAYS_HERE static inline __attribute__((always_inline))

/*
 * What the calling thread found in its last polls, of whatever queues: a thread that polls a busy
 * queue and an idle one in turn is busy.
 */
static _Thread_local struct {
	struct awake awake;
	const struct rnic_cq *announced_at; /* the queue whose poll announced a sleep; NULL: none */
	uint32_t polls_since_announcement;
} poller;

void rnic_poll_begin_anew(void)
{
	poller.awake.looks = 0;
	poller.announced_at = NULL;
}

/*
 * True in the poll that announces a sleep, and in those of the other queues after that. The poll
 * that comes back to the first queue has seen all queues of the thread empty since the
 * announcement, so no entry is overslept. A queue to which the thread does not come back loses the
 * part of the first.
 */
static bool is_round_open(const struct rnic_cq *cq)
{
	if (poller.announced_at == cq)
		return false;
	if (poller.announced_at == NULL ||
	    ++poller.polls_since_announcement >= awake_rules[AWAKE_POLLER].looks) {
		poller.announced_at = cq;
		poller.polls_since_announcement = 0;
		rnic_wake_announce(&cq->context->session->poll_waits);
	}
	return true;
}

/*
 * Other threads that sleep share the flag. Withdrawing it may cost them the rest of their sleep;
 * leaving it would cost the daemon a system call for nobody. The daemon takes the flag at an entry
 * of any queue of the context; then the futex does not wait.
 */
static void futex_wait(const struct rnic_cq *cq, uint64_t now_ns)
{
	const uint64_t wanted_ns = awake_sleep_ns(&poller.awake, FUTEX_WAIT_NS);
	const struct timespec longest = {.tv_nsec = (long)wanted_ns};
	struct rnic_shared_index *poll_waits = &cq->context->session->poll_waits;

	if (is_round_open(cq))
		return;
	if (syscall(SYS_futex, &poll_waits->value, FUTEX_WAIT, 1, &longest, NULL, 0) != 0 &&
	    errno == ETIMEDOUT)
		awake_note_sleep(&poller.awake, wanted_ns, clock_now_ns() - now_ns);
	rnic_wake_withdraw(poll_waits);
	poller.announced_at = NULL;
}

static void let_others_run(const struct rnic_cq *cq)
{
	const struct awake_rule *rule =
		&awake_rules[cq->context->direct != NULL ? AWAKE_POLLER_IN_DEVICE : AWAKE_POLLER];
	uint64_t now_ns;

	if (awake_turns_at_once(&poller.awake, rule))
		return;
	now_ns = clock_now_ns();
	switch (awake_next(&poller.awake, rule, now_ns)) {
	case AWAKE_TURN:
		break;
	case AWAKE_YIELD:
		yield_and_note(&poller.awake, now_ns);
		break;
	case AWAKE_SLEEP:
		futex_wait(cq, now_ns);
		break;
	}
}

/*
 * The queue pair that an entry speaks of, or NULL when it was destroyed. The number tells whether
 * the slot belongs to a new queue pair by now.
 */
static struct rnic_qp *poll_find_qp(const struct rnic_cq *cq, const struct rnic_cqe *entry)
{
	struct rnic_qp *qp;

	if (entry->qp_slot >= RNIC_SESSION_QPS_MAX)
		return NULL;
	qp = cq->context->qps[entry->qp_slot];
	return qp != NULL && qp->qpn == entry->qpn ? qp : NULL;
}

/*
 * Gives entries back; `retired` counts modulo 2^24. False: there is none to give. The completion is
 * then from before a RESET, which gave back all entries, and nobody waits for it any more.
 */
static bool try_retire(struct rnic_work_queue *queue, uint32_t retired)
{
	uint32_t known = atomic_load_explicit(&queue->retired, memory_order_relaxed);
	uint32_t given_back = (retired - known) & RNIC_CQE_24_BITS;

	if (given_back == 0 || given_back - 1 > queue->mask)
		return false;
	atomic_store_explicit(&queue->retired, known + given_back, memory_order_release);
	return true;
}

/* The XRC shared receive queue that an entry speaks of, or NULL when it was destroyed. */
static struct rnic_srq *poll_find_srq(const struct rnic_cq *cq, const struct rnic_cqe *entry)
{
	struct rnic_srq *srq;

	if (entry->qp_slot >= RNIC_SESSION_SRQS_MAX)
		return NULL;
	srq = cq->context->srqs[entry->qp_slot];
	return srq != NULL && srq->number == entry->source_qpn ? srq : NULL;
}

static bool is_current(struct rnic_qp *qp, const struct rnic_cqe *entry)
{
	if ((entry->flags & RNIC_COMPLETION_RECV) == 0)
		return try_retire(&qp->send, entry->retired);
	/* The daemon gave back an entry of an SRQ when it copied it. */
	if ((entry->flags & RNIC_COMPLETION_SRQ) == 0)
		return try_retire(&qp->recv, entry->retired);
	return true;
}

ALWAYS_HERE void translate(struct rnic_completion *completion, const struct rnic_cqe *entry,
			   uint64_t time_ns, struct rnic_qp *qp, struct rnic_srq *srq)
{
	const bool is_success = entry->status == RNIC_WC_SUCCESS;

	*completion = (struct rnic_completion){
		.wr_id = entry->wr_id,
		.timestamp_ns = time_ns,
		.qp = qp,
		.srq = srq,
		.byte_count = is_success ? entry->byte_count : 0,
		.qpn = entry->qpn,
		.immediate = entry->immediate,
		.source_qpn = srq == NULL ? entry->source_qpn : 0,
		.vendor_error = is_success ? 0 : entry->vendor_error,
		.source_gid_index = entry->source_gid_index,
		.status = entry->status,
		.opcode = entry->opcode,
		.wc_flags = entry->wc_flags,
		.service_level = entry->service_level,
	};
}

/* Finds the queue whose work the entry was, and whether the application still wants to know. */
ALWAYS_HERE bool try_find_owner(const struct rnic_cq *cq, const struct rnic_cqe *entry,
				struct rnic_qp **qp, struct rnic_srq **srq)
{
	*qp = NULL;
	*srq = NULL;
	if ((entry->flags & RNIC_COMPLETION_XRC) != 0) {
		*srq = poll_find_srq(cq, entry);
		return *srq != NULL;
	}
	*qp = poll_find_qp(cq, entry);
	return *qp != NULL && is_current(*qp, entry);
}

static bool poll_translate_entry(const struct rnic_cq *cq, const struct rnic_cqe *entry,
				 uint64_t time_ns, struct rnic_completion *completion)
{
	struct rnic_srq *srq;
	struct rnic_qp *qp;

	if (!try_find_owner(cq, entry, &qp, &srq))
		return false;
	translate(completion, entry, time_ns, qp, srq);
	return true;
}

/*
 * Under the queue's lock. Returns how many entries it took, or -EIO when the daemon's index makes
 * no sense.
 */
static int take_completions(struct rnic_cq *cq, uint32_t max_count,
			    struct rnic_completion *completions)
{
	int64_t pending =
		rnic_ring_pending(rnic_word_load(&cq->region->producer), cq->consumer, cq->slots);
	uint32_t slot_zero, taken = 0;
	struct rnic_srq *srq;
	struct rnic_qp *qp;

	if (pending < 0)
		return -EIO;
	if (pending == 0)
		return 0;
	slot_zero = atomic_load_explicit(&cq->region->slot_zero, memory_order_relaxed);
	while (pending-- > 0 && taken < max_count) {
		const uint32_t slot = rnic_ring_slot(cq->consumer++, slot_zero, cq->slots);
		const struct rnic_cqe entry = cq->entries[slot];
		const uint64_t time_ns = cq->times_ns != NULL ? cq->times_ns[slot] : 0;

		/*
		 * Before the entries of the work queue are given back: another thread may post in
		 * their place at once, and the daemon must find room for that completion.
		 */
		atomic_store_explicit(&cq->control->consumer, cq->consumer, memory_order_release);
		if (!try_find_owner(cq, &entry, &qp, &srq))
			continue;
		translate(&completions[taken++], &entry, time_ns, qp, srq);
	}
	return (int)taken;
}

/*
 * A rule that holds an entry back makes the poll wait. A poll that found nothing would let the
 * program wait for an event, which came before.
 */
__attribute__((noinline)) static int poll_by_rules(struct rnic_cq *cq, uint32_t max_count,
						   struct rnic_completion *completions)
{
	uint64_t wait_ns = 0;
	uint32_t usual;
	int taken;

	for (;;) {
		rnic_spinlock_lock(&cq->lock);
		usual = rnic_poll_unconcerned(cq, max_count);
		taken = usual != 0 ? take_completions(cq, usual, completions)
				   : rnic_poll_by_rules(cq, max_count, completions,
							poll_translate_entry, &wait_ns);
		rnic_spinlock_unlock(&cq->lock);
		if (taken != 0 || wait_ns == 0 || rnic_context_lost(cq->context) != 0)
			return taken;
		rnic_poll_hold_on(cq, wait_ns);
	}
}

/* Whether polls must ask rules, or finish what a rule that is gone has begun. */
static inline bool poll_has_rules(const struct rnic_cq *cq)
{
	return verb_rules_have(cq->context->rules, RNIC_VERB_KIND_COMPLETIONS) ||
	       cq->is_overtaken || cq->is_judged;
}

/* The device inside the program fills the queue in the caller's own turns. */
static int poll_own_device(struct rnic_cq *cq, uint32_t max_count,
			   struct rnic_completion *completions)
{
	int taken;

	cq->context->direct_calls->poll(cq->context->direct);
	if (poll_has_rules(cq))
		return poll_by_rules(cq, max_count, completions);
	rnic_spinlock_lock(&cq->lock);
	taken = take_completions(cq, max_count, completions);
	if (taken > 0)
		cq->empty_polls = 0;
	rnic_spinlock_unlock(&cq->lock);
	return taken;
}

/* --- awake for an entry ----------------------------------------------------------------------- */

struct entry_look {
	struct rnic_cq *const *cqs;
	uint32_t count;
};

/* 1: the queue has an entry, or its daemon's index makes no sense, as the next poll says. */
static int has_entry(struct rnic_cq *cq)
{
	const int lost = rnic_context_lost(cq->context);
	bool has;

	if (lost != 0)
		return lost;
	if (cq->context->direct != NULL)
		cq->context->direct_calls->poll(cq->context->direct);
	rnic_spinlock_lock(&cq->lock);
	has = rnic_word_load(&cq->region->producer) != cq->consumer;
	rnic_spinlock_unlock(&cq->lock);
	return has;
}

static int look_for_entry(void *context)
{
	const struct entry_look *look = context;
	int result = 0;

	for (uint32_t i = 0; i < look->count && result == 0; i++)
		result = has_entry(look->cqs[i]);
	return result;
}

int rnic_await_entry(struct rnic_cq *const *cqs, uint32_t cq_count)
{
	struct entry_look look = {.cqs = cqs, .count = cq_count};
	int result;

	if (cqs == NULL && cq_count > 0)
		return -EINVAL;
	for (uint32_t i = 0; i < cq_count; i++) {
		if (cqs[i] == NULL)
			return -EINVAL;
	}
	result = look_for_entry(&look);
	return result != 0 ? result : rnic_wait_awake_for(look_for_entry, &look);
}

/* --- polls ------------------------------------------------------------------------------------ */

/* No entry came. A queue that a thread polls again and again has a daemon that lives. */
static void on_empty_poll(struct rnic_cq *cq, uint32_t queue_empty_polls)
{
	awake_note_look(&poller.awake);
	if (queue_empty_polls % EMPTY_POLLS_PER_HANGUP_CHECK == 0)
		rnic_link_check(&cq->context->device);
	else
		let_others_run(cq);
}

int rnic_poll_cq(struct rnic_cq *cq, uint32_t max_count, struct rnic_completion *completions)
{
	if (cq == NULL || (completions == NULL && max_count > 0))
		return -EINVAL;
	uint32_t empty_polls;
	int taken = rnic_context_lost(cq->context);

	if (taken != 0)
		return taken;
	if (max_count > INT32_MAX)
		max_count = INT32_MAX;
	if (poll_has_rules(cq)) {
		taken = poll_by_rules(cq, max_count, completions);
		if (taken != 0)
			return taken;
	}
	rnic_spinlock_lock(&cq->lock);
	taken = take_completions(cq, max_count, completions);
	cq->empty_polls = taken == 0 ? cq->empty_polls + 1 : 0;
	empty_polls = cq->empty_polls;
	rnic_spinlock_unlock(&cq->lock);
	if (taken == 0 && cq->context->direct != NULL)
		taken = poll_own_device(cq, max_count, completions);

	if (taken > 0) {
		rnic_poll_begin_anew();
		return taken;
	}
	if (taken < 0)
		rnic_link_lose(&cq->context->device, taken);
	else
		on_empty_poll(cq, empty_polls);
	return rnic_context_lost(cq->context);
}
