/* SPDX-License-Identifier: MIT */
/*
 * The single-producer, single-consumer ring, both halves.
 *
 * A ring has 2^n slots. `producer` and `consumer` count entries ever written and ever taken, modulo
 * 2^32; slot = index & (slots - 1), and in a CQ rnic_ring_slot(). Each side keeps its own index
 * privately and publishes it:
 *
 *        producer                              consumer
 *
 *        entry[p] = ...                        p = load_acquire(producer)      (B)
 *        store_release(producer, p + 1)  (A)   ... = entry[c]
 *                                              store_release(consumer, c + 1)  (D)
 *                                              ---- before sleeping ----
 *        if (exchange(need_wakeup, 0))   (C)   exchange(need_wakeup, 1)        (E)
 *                write(eventfd)                if (load(producer) == c) sleep
 *
 * (A) with (B): a consumer that sees the index sees the entry. (D), which the producer loads with
 * acquire: the producer writes a slot again only after the consumer has read it. (C) with (E): of
 * two exchanges of one word, one comes first. If (E) comes first, the producer finds the flag. If
 * (C) comes first, (E) reads what (C) wrote, and the sleeper sees all that the producer did before
 * (C), above all (A). With plain loads and stores both could miss each other, and the sleeper would
 * sleep for ever. So both sides exchange the flag each time: a side that only loads the flag would
 * need a fence between (A) and the load, which costs as much, and which thread sanitizers do not
 * know. One sleep costs one wake-up, however many entries follow.
 *
 * A side loads the peer's index once per batch. The index is the peer's claim: rnic_ring_pending()
 * refuses an index that is further ahead than the ring is long.
 */
/*
 * Why these orderings suffice, also on arm64, which may reorder whatever nothing orders. x86 only
 * lets a load pass an older store, so tests on x86 say little about all but 4 to 6. "Release" is a
 * store (STLR) that comes after all accesses before it, "acquire" a load (LDAR) that comes before
 * all accesses after it.
 *
 * 1. Producer indices: (A) release, (B) acquire. The words are send_producer, recv_producer,
 *    doorbell_producer, doorbells_lost and the producer of a CQ. (A) publishes the entry and what
 *    belongs to it: SGEs and inline data in the spill area, a doorbell's word (relaxed), and the
 *    payload in client memory, which the daemon writes before it writes the CQE. The same pair
 *    covers a doorbell and the producer index that the client stored before it rang: the side that
 *    takes the doorbell sees that index.
 * 2. Consumer indices: (D) release, the producer's load acquire. The words are srq_consumer,
 *    doorbell_consumer and the consumer of a CQ. (D) publishes that loads are done: release keeps
 *    the copying of the entry before the store, acquire keeps the next writing of the slot behind
 *    the load. Otherwise a consumer could copy parts of an entry that came later.
 * 3. The queues of a QP have no consumer index; rnic_cqe.retired says what is free. The daemon
 *    copies the WQE and publishes the CQE (A). The poller loads the CQ's producer (B) and stores
 *    rnic_work_queue.retired with release, and the poster loads that with acquire. What happens
 *    before is transitive, so the poster writes the slot after the daemon has copied it.
 * 4. Wake flags: (C) and (E) are acquire and release. The words are need_wakeup and poll_waits. All
 *    their stores are exchanges, so those after (C) continue the release sequence that (C) heads:
 *    an (E) that follows (C), at whatever distance, acquires from (C), and then (A) comes before
 *    the load that follows (E). On arm64 an exchange whose result nobody uses may lose its acquire
 *    half (SWPAL to the zero register). Then its release half still stays before that load, because
 *    the load is sequentially consistent: LDAR passes no older STLR, while LDAPR, which compilers
 *    may use for acquire, would. So rnic_word_load() must not become an acquire load. FUTEX_WAIT
 *    compares poll_waits under the lock that FUTEX_WAKE takes after the daemon's exchange.
 * 5. `armed` of a CQ, like 4: the daemon publishes the CQE and then adds 0 or exchanges; the client
 *    exchanges and then looks. A client's compare-and-exchange that fails stores nothing, and need
 *    not: the arming that it saw is a client's earlier one, either still there for the daemon's
 *    next exchange, or taken for an event that is on its way.
 * 6. recv_doorbell_wanted and recv_producer: each side stores one word and then loads the other's.
 *    All four accesses are sequentially consistent, so in their one order a store comes first, and
 *    the other side's load sees it. Release and acquire would not do, on x86 neither. The relaxed
 *    stores of 0 come before the next 1 in the same thread, so no client reads them after that 1.
 * 7. slot_zero of a CQ (relaxed on both sides): the daemon stores the word after it loaded a
 *    consumer index that says "empty" (acquire), and before it publishes the next CQE (A). The
 *    client loads the word after it saw a CQE (B), and before it gives back the last CQE that it
 *    saw (D). So the client reads neither an older value than that of the CQE, nor a later one.
 * 8. The peeks of `rnicctl show`, and a writer's loads of its own words are relaxed:
 *    nothing that is read afterwards depends on them.
 *
 * What a message made or reset (objects, their words in a session region) comes before all that
 * follows the message: the socket's locks order it.
 *
 * tests/unit/proto/shm/test_ring.c and tests/unit/daemon/device/queues/test_shared_rings.c, which
 * has both halves, also run under a thread sanitizer. It judges by these orderings and not by the
 * processor's, so it sees 1 to 3 fail on x86 too. 4 to 7 rest on what is written here.
 */
#ifndef PROTO_SHM_RING_H
#define PROTO_SHM_RING_H

#include "proto/shm/region.h"

#include <stdbool.h>

/* The functions of words are for an index that may share its cache line with another of its writer.
 */
static inline void rnic_word_publish(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

static inline void rnic_index_publish(struct rnic_shared_index *index, uint32_t value)
{
	rnic_word_publish(&index->value, value);
}

/*
 * The same for a caller that then loads a word of the other side, which sets the word before it
 * loads this word. All four accesses are sequentially consistent, so that one side sees the other.
 */
static inline void rnic_word_publish_then_look(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_seq_cst);
}

/* Also the load after rnic_wake_announce(): read 4 above before you weaken the order. */
static inline uint32_t rnic_word_load(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_seq_cst);
}

static inline uint32_t rnic_index_load(const struct rnic_shared_index *index)
{
	return rnic_word_load(&index->value);
}

/*
 * Entries between a peer's producer index and our own consumer index, or -1 when the peer claims
 * more than the ring holds, which is a violation of the protocol.
 */
static inline int64_t rnic_ring_pending(uint32_t producer, uint32_t consumer, uint32_t slots)
{
	uint32_t pending = producer - consumer;

	return pending <= slots ? (int64_t)pending : -1;
}

/* The slot of entry `index` of a ring in which entry `slot_zero` has, or had, slot 0. */
static inline uint32_t rnic_ring_slot(uint32_t index, uint32_t slot_zero, uint32_t slots)
{
	return (index - slot_zero) & (slots - 1);
}

/* Announces that the caller will sleep. The caller loads the index again, and sleeps if empty. */
static inline void rnic_wake_announce(struct rnic_shared_index *need_wakeup)
{
	atomic_exchange_explicit(&need_wakeup->value, 1, memory_order_acq_rel);
}

/* After waking, or when the second load of the index showed work. */
static inline void rnic_wake_withdraw(struct rnic_shared_index *need_wakeup)
{
	atomic_exchange_explicit(&need_wakeup->value, 0, memory_order_acq_rel);
}

/* After publishing: true when the other side sleeps, and the caller must write its eventfd. */
static inline bool rnic_wake_take(struct rnic_shared_index *need_wakeup)
{
	return atomic_exchange_explicit(&need_wakeup->value, 0, memory_order_acq_rel) != 0;
}

#endif
