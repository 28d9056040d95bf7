/* SPDX-License-Identifier: MIT */
/*
 * The single-producer, single-consumer ring, both halves.
 *
 * A ring has 2^n slots. `producer` and `consumer` count entries ever written and ever taken, modulo
 * 2^32; slot = index & (slots - 1). Each side keeps its own index privately and publishes it:
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
#ifndef RNIC_PROTO_SHM_RING_H
#define RNIC_PROTO_SHM_RING_H

#include "shm/region.h"

#include <stdbool.h>

static inline void rnic_index_publish(struct rnic_shared_index *index, uint32_t value)
{
	atomic_store_explicit(&index->value, value, memory_order_release);
}

/*
 * The same for a caller that then loads a word of the other side, which sets the word before it
 * loads this index. All four accesses are sequentially consistent, so that one side sees the other.
 */
static inline void rnic_index_publish_then_look(struct rnic_shared_index *index, uint32_t value)
{
	atomic_store_explicit(&index->value, value, memory_order_seq_cst);
}

static inline uint32_t rnic_index_load(const struct rnic_shared_index *index)
{
	return atomic_load_explicit(&index->value, memory_order_seq_cst);
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

/* Announces that the caller will sleep. The caller looks at the ring again, and sleeps if empty. */
static inline void rnic_wake_announce(struct rnic_shared_index *need_wakeup)
{
	atomic_exchange_explicit(&need_wakeup->value, 1, memory_order_acq_rel);
}

/* After waking, or when the second look found work. */
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
