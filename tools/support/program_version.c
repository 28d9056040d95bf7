/* SPDX-License-Identifier: MIT */
/* What --version prints. rnic_program() adds this file to each program. */
#include <argp.h>

/* The C library looks this name up, so the symbol must be visible. */
__attribute__((visibility("default"))) const char *argp_program_version =
	RNIC_PROGRAM " " RNIC_VERSION;
