/* SPDX-License-Identifier: MIT */
/*
 * A guarded function is a leaf that pushes nothing. So at each of its instructions the
 * return address is where the caller left it, and the fixup needs the program counter alone.
 * Nothing has to be stored before a copy, and a copy costs no more than an unguarded one.
 */
#include "lib/dropin/guard/code_ranges.h"

#include "lib/dropin/guard/guarded_copy.h"

#define RANGE(function)                                                                            \
	{                                                                                          \
		(uintptr_t)(function), (uintptr_t)function##_end, (uintptr_t)rnic_guarded_fault    \
	}

const struct code_range rnic_code_ranges[GUARD_CODE_RANGES] = {
	RANGE(rnic_guarded_write),
	RANGE(rnic_guarded_read),
	RANGE(rnic_guarded_fetch_add),
	RANGE(rnic_guarded_compare_swap),
};
