/* SPDX-License-Identifier: MIT */
/* Where a fault is the guard's: the code of guarded_copy.h. */
#ifndef LIB_DROPIN_GUARD_CODE_RANGES_H
#define LIB_DROPIN_GUARD_CODE_RANGES_H

#include <stdint.h>

#define GUARD_CODE_RANGES 4

struct code_range {
	uintptr_t start;
	uintptr_t end;
	uintptr_t fixup;
};

extern const struct code_range rnic_code_ranges[GUARD_CODE_RANGES];

/*
 * Where a thread that faulted at `pc` continues, or 0: the fault is not the guard's. Inline, so
 * that a handler on the smallest alternate stack needs no frame for the answer.
 */
static inline uintptr_t rnic_code_fixup(uintptr_t pc)
{
	for (unsigned i = 0; i < GUARD_CODE_RANGES; i++)
		if (pc >= rnic_code_ranges[i].start && pc < rnic_code_ranges[i].end)
			return rnic_code_ranges[i].fixup;
	return 0;
}

#endif
