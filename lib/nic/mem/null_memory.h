/* SPDX-License-Identifier: MIT */
/*
 * Memory that is not there: reads give zeros, and writes are lost. Every offset exists, so the
 * memory stands for all addresses at once.
 */
#ifndef NIC_MEM_NULL_MEMORY_H
#define NIC_MEM_NULL_MEMORY_H

#include "mem/client_memory.h"

void null_region_init(struct client_region *region);

#endif
