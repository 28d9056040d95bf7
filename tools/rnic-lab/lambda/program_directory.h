/* SPDX-License-Identifier: MIT */
/* Where this program is, and beside it what was built or installed with it. */
#ifndef TOOLS_RNIC_LAB_LAMBDA_PROGRAM_DIRECTORY_H
#define TOOLS_RNIC_LAB_LAMBDA_PROGRAM_DIRECTORY_H

#include <limits.h>

/* With so much less than PATH_MAX there is room for a name behind it. */
enum { PROGRAM_DIRECTORY_BYTES = PATH_MAX - 64 };

/* The absolute path of the directory that this program is in. Negative errno. */
int program_directory(char path[PROGRAM_DIRECTORY_BYTES]);

#endif
