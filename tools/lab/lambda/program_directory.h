/* SPDX-License-Identifier: MIT */
/* The place of this program, and beside it the files that were built or installed with it. */
#ifndef TOOLS_LAB_LAMBDA_PROGRAM_DIRECTORY_H
#define TOOLS_LAB_LAMBDA_PROGRAM_DIRECTORY_H

#include <limits.h>

/* The difference to PATH_MAX leaves room for a name behind the path. */
enum { PROGRAM_DIRECTORY_BYTES = PATH_MAX - 64 };

/* The absolute path of this program's directory. Negative errno. */
int program_directory(char path[PROGRAM_DIRECTORY_BYTES]);

#endif
