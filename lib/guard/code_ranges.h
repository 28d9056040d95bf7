/* SPDX-License-Identifier: MIT */
/* Where a fault is the guard's: the code of guarded_copy.h. */
#ifndef RNIC_GUARD_CODE_RANGES_H
#define RNIC_GUARD_CODE_RANGES_H

#include <stdint.h>

/* Where a thread that faulted at `pc` continues, or 0: the fault is not the guard's. */
uintptr_t rnic_code_fixup(uintptr_t pc);

#endif
