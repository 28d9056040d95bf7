/* SPDX-License-Identifier: MIT */
/*
 * Brings pages of this process into being, and so proves that the process itself may use them. The
 * daemon could not prove that: through /proc/self/mem it can write even where the process cannot.
 */
#ifndef LIB_CLIENT_NATIVE_POPULATE_H
#define LIB_CLIENT_NATIVE_POPULATE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * -EINVAL: the range wraps. -EFAULT: part of it is not mapped, or not readable (`for_writing`: not
 * writable).
 */
int rnic_populate(const void *address, size_t length, bool for_writing);

#endif
