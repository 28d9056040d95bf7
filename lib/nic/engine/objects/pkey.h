/* SPDX-License-Identifier: MIT */
/*
 * Partition keys (IBTA 1.4, 10.9): 15 bits name a partition, and bit 15 tells full members from
 * limited members, which may not talk to each other. The engine owns the port's table. A QP sends
 * with the key at its pkey_index and takes packets whose key matches.
 */
#ifndef LIB_NIC_ENGINE_OBJECTS_PKEY_H
#define LIB_NIC_ENGINE_OBJECTS_PKEY_H

#include <stdbool.h>
#include <stdint.h>

#define PKEY_DEFAULT	    0xffff
#define PKEY_FULL_MEMBER    0x8000
#define PKEY_PARTITION_MASK 0x7fff

/* 0 and 0x8000 name no partition; IBTA 1.4, 10.9.1.2. */
static inline bool pkey_is_valid(uint16_t pkey)
{
	return (pkey & PKEY_PARTITION_MASK) != 0;
}

/* Whether the owner of `own` takes a packet that carries `theirs`; IBTA 1.4, 10.9.3. */
static inline bool pkey_matches(uint16_t own, uint16_t theirs)
{
	return pkey_is_valid(own) && ((own ^ theirs) & PKEY_PARTITION_MASK) == 0 &&
	       ((own | theirs) & PKEY_FULL_MEMBER) != 0;
}

#endif
