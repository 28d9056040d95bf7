/* SPDX-License-Identifier: MIT */
/*
 * Copies to and from memory that other processors poll meanwhile, in place of memcpy(3), which
 * promises neither order nor whole words: it may store the last byte first.
 *
 * Both copies go upwards and move each aligned word of 2, 4 or 8 bytes as a whole, so that another
 * processor sees such a word old or new. The last bytes of a write are stored with release
 * semantics: a processor that sees the last byte sees all bytes of this copy, and all that the
 * thread stored before.
 *
 * The ranges must not overlap. The private side may have any alignment.
 */
#ifndef LIB_NIC_MEM_ORDERED_COPY_H
#define LIB_NIC_MEM_ORDERED_COPY_H

#include <stddef.h>

/* Copies from private memory to shared memory. */
void ordered_write(void *shared, const void *from, size_t bytes);

/* Copies from shared memory to private memory. */
void ordered_read(void *to, const void *shared, size_t bytes);

#endif
