/* SPDX-License-Identifier: MIT */
/*
 * Copies and atomics between private memory and the memory of the application, which the
 * application may unmap, protect or truncate at any moment. A fault ends them with -EFAULT once
 * the handlers of this folder are in place; without the handlers a fault ends the process.
 *
 * They are leaf functions in assembly that push nothing: at a fault the handler puts the program
 * counter on rnic_guarded_fault(), which returns -EFAULT to the caller. code_ranges.c knows where
 * they are. A compiler would be free to spill registers, to call memcpy() and to instrument.
 *
 * lib/nic/mem/ordered_copy.h has the same order of stores in C, for a device process, whose
 * mappings are sealed memfds and cannot fault. These functions are for memory that can.
 */
#ifndef LIB_DROPIN_GUARD_GUARDED_COPY_H
#define LIB_DROPIN_GUARD_GUARDED_COPY_H

#include <stddef.h>
#include <stdint.h>

/*
 * The ranges do not overlap. The private side may have any alignment. Each aligned word of 2, 4 or
 * 8 bytes of the application is moved as a whole. A write goes upwards, and a processor that sees
 * the last byte sees all bytes. 0, or -EFAULT: some of the bytes may have been moved.
 */
int rnic_guarded_write(void *to, const void *private_from, size_t bytes);
int rnic_guarded_read(void *private_to, const void *from, size_t bytes);

/*
 * `word` is at a multiple of 8. Atomic with the processor's own instructions. 0, or -EFAULT: the
 * word is as it was, and `*original` too.
 */
int rnic_guarded_fetch_add(uint64_t *word, uint64_t add, uint64_t *original);
int rnic_guarded_compare_swap(uint64_t *word, uint64_t compare, uint64_t swap, uint64_t *original);

/* Where a fault continues. Returns -EFAULT to the caller of the function that faulted. */
int rnic_guarded_fault(void);

/* Where the code that may fault ends, behind the last instruction. */
extern const char rnic_guarded_write_end[];
extern const char rnic_guarded_read_end[];
extern const char rnic_guarded_fetch_add_end[];
extern const char rnic_guarded_compare_swap_end[];

#endif
