/* SPDX-License-Identifier: MIT */
/*
 * Memory that is not there: reads give zeros, and writes are lost. Every offset exists, so the
 * memory stands for all addresses at once.
 */
#ifndef LIB_NIC_MEM_NULL_MEMORY_H
#define LIB_NIC_MEM_NULL_MEMORY_H

#include "lib/nic/mem/client_memory.h"

void null_region_init(struct client_region *region);

#endif
