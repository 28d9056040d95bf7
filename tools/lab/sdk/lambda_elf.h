/* SPDX-License-Identifier: MIT */
/* Extracts a lambda's code from the linker's output. */
#ifndef TOOLS_LAB_SDK_LAMBDA_ELF_H
#define TOOLS_LAB_SDK_LAMBDA_ELF_H

#include "tools/lab/lambda/lambda_file.h"

enum { LAMBDA_COMPLAINT_BYTES = 256 };

/*
 * Finds the code of an ELF file of 64 bits that was linked with lambda.ld; the file's code points
 * into `bytes`, its name is not set. -EINVAL, with a sentence: the code does not stand alone: it
 * has relocations, undefined symbols, writable data, or no entry.
 */
int lambda_elf_extract(const uint8_t *bytes, size_t count, struct lambda_file *file,
		       char complaint[LAMBDA_COMPLAINT_BYTES]);

#endif
