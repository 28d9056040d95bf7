/* SPDX-License-Identifier: MIT */
/*
 * Memory whose pages never come: those of a file in a file system that a process of the same user
 * serves, in a user namespace of its own, and that answers no read.
 */
#ifndef TESTS_HOSTILE_USERS_SILENT_FILE_H
#define TESTS_HOSTILE_USERS_SILENT_FILE_H

#include <stddef.h>

/*
 * Starts the serving process, a child that ends with the caller, and maps `bytes` of its file over
 * the caller's pages at `memory`. -1 with errno of the first call that failed: users have no file
 * systems of their own here.
 */
int silent_file_map(void *memory, size_t bytes);

#endif
