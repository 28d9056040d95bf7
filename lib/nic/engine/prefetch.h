/* SPDX-License-Identifier: MIT */
/*
 * Asks the processor for the memory that a packet will need. Where a device has very many queue
 * pairs, none of that is in the cache, and each packet would wait for several lines of memory, one
 * after the other. A batch of packets asks for the lines of all its packets ahead instead.
 *
 * Each step uses what the step before has brought, so a batch takes the steps of a packet some
 * packets apart. A step changes nothing, and may be left out.
 */
#ifndef LIB_NIC_ENGINE_PREFETCH_H
#define LIB_NIC_ENGINE_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

/* Returns whether the engine has more queue pairs than the cache holds. */
bool prefetch_is_worthwhile(const struct engine *engine);

/* A step for a packet to queue pair `qpn`, which need not exist. */
typedef void prefetch_step(const struct engine *engine, uint32_t qpn);

prefetch_step prefetch_number;	   /* the first one: where the engine looks up the number */
prefetch_step prefetch_qp;	   /* the second one */
prefetch_step prefetch_oldest_wqe; /* the third one: what an acknowledgement completes */

#endif
