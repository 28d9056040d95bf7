/* SPDX-License-Identifier: MIT */
/* What the tests of every copy between private memory and shared memory do. */
#ifndef TESTS_UNIT_LIB_NIC_MEM_COPY_CHECK_H
#define TESTS_UNIT_LIB_NIC_MEM_COPY_CHECK_H

#include <stddef.h>

typedef void copy_function(void *to, const void *from, size_t bytes);

/*
 * Copies every small length at every alignment of both sides. NULL, or a text that says at which
 * copy a byte is wrong, or another one has changed; the text is good until the next call.
 */
const char *copy_differs_from_memcpy(copy_function *write, copy_function *read);

/* Prints the time of memcpy(), and of the two copies in relation to memcpy(). */
void print_copy_speed(const char *write_name, copy_function *write, const char *read_name,
		      copy_function *read);

#endif
