/* SPDX-License-Identifier: MIT */
/* Whole files. */
#ifndef TOOLS_LAB_LAMBDA_FILE_BYTES_H
#define TOOLS_LAB_LAMBDA_FILE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns all bytes of a file, which the caller frees; not NULL for an empty file. -EFBIG: the file
 * has more than `max_bytes` bytes. Else the errno of the failed call.
 */
int file_bytes_read(const char *path, size_t max_bytes, uint8_t **bytes, size_t *count);

#endif
