/* SPDX-License-Identifier: MIT */
/*
 * Rule 1: a guarded function is a leaf that pushes nothing. So at each of its instructions the
 * return address is where the caller left it, and the fixup needs the program counter alone.
 * Nothing has to be stored before a copy, and a copy costs no more than an unguarded one.
 */
#include "guard/code_ranges.h"

#include "guard/guarded_copy.h"

struct code_range {
	uintptr_t start;
	uintptr_t end;
	uintptr_t fixup;
};

#define RANGE(function)                                                                            \
	{                                                                                          \
		(uintptr_t)(function), (uintptr_t)function##_end, (uintptr_t)rnic_guarded_fault    \
	}

static const struct code_range ranges[] = {
	RANGE(rnic_guarded_write),
	RANGE(rnic_guarded_read),
	RANGE(rnic_guarded_fetch_add),
	RANGE(rnic_guarded_compare_swap),
};

uintptr_t rnic_code_fixup(uintptr_t pc)
{
	for (unsigned i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (pc >= ranges[i].start && pc < ranges[i].end)
			return ranges[i].fixup;
	return 0;
}
