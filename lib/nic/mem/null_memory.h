/* SPDX-License-Identifier: MIT */
/*
 * Memory that is not there: what is read from it is zero, and what is written to it is gone. Every
 * offset exists, so it stands for all addresses at once.
 */
#ifndef NIC_MEM_NULL_MEMORY_H
#define NIC_MEM_NULL_MEMORY_H

#include "mem/client_memory.h"

void null_region_init(struct client_region *region);

#endif
