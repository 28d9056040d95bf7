/* SPDX-License-Identifier: MIT */
/*
 * Brings pages of this process into being, and so proves that the process itself may use them. The
 * daemon could not prove that: through /proc/self/mem it can write even where the process cannot.
 */
#ifndef LIB_CLIENT_NATIVE_POPULATE_H
#define LIB_CLIENT_NATIVE_POPULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A range is populated up to so many bytes: a sparse range may be larger than all memory. */
#define RNIC_POPULATE_BYTES (UINT64_C(1) << 30)

/*
 * Brings the first `populate_bytes` of the range into being, a multiple of the page size, and one
 * page of each mapping behind them.
 *
 * -EINVAL: the range wraps. -EFAULT: part of it is not mapped, or not readable (`for_writing`: not
 * writable).
 */
int rnic_populate(const void *address, size_t length, bool for_writing, uint64_t populate_bytes);

#endif
