/* SPDX-License-Identifier: MIT */
/*
 * The lock of a queue: held for tens of nanoseconds, so waiting in the kernel would cost more than
 * it saves. A waiter yields soon, because the holder may have lost the processor that the waiter
 * burns.
 */
#ifndef LIB_CLIENT_NATIVE_SPINLOCK_H
#define LIB_CLIENT_NATIVE_SPINLOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define RNIC_SPINS_BEFORE_YIELD 64

struct rnic_spinlock {
	atomic_bool held;
};

static inline void rnic_spinlock_init(struct rnic_spinlock *lock)
{
	atomic_init(&lock->held, false);
}

static inline void rnic_spinlock_lock(struct rnic_spinlock *lock)
{
	unsigned spins = 0;

	while (atomic_exchange_explicit(&lock->held, true, memory_order_acquire)) {
		while (atomic_load_explicit(&lock->held, memory_order_relaxed))
			if (++spins % RNIC_SPINS_BEFORE_YIELD == 0)
				sched_yield();
	}
}

static inline void rnic_spinlock_unlock(struct rnic_spinlock *lock)
{
	atomic_store_explicit(&lock->held, false, memory_order_release);
}

#endif
